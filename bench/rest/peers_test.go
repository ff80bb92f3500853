package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/rest/data"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
	fiber "github.com/gofiber/fiber/v3/client"
	"github.com/google/go-github/v92/github"
	"github.com/valyala/fasthttp"
	"resty.dev/v3"
)

// caller is a client under comparison. A call sends in, unless it is nil, and decodes the response into out.
type caller func(in, out any) error

const apiURL = "http://api.test/"

// canned is a transport with a constant response, so that only the client is measured.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(c)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(c)),
	}, nil
}

func method(in any) string {
	if in == nil {
		return "GET"
	}
	return "POST"
}

func callRest(b *testing.B, options ...rest.Option) caller {
	c, err := rest.New(apiURL, options...)
	if err != nil {
		b.Fatal(err)
	}
	return func(in, out any) error {
		r, err := c.NewRequest(context.Background(), method(in), "issues", in)
		if err != nil {
			return err
		}
		_, err = c.Do(r, out)
		return err
	}
}

func callGitHub(b *testing.B, rt http.RoundTripper) caller {
	base := apiURL
	c, err := github.NewClient(github.WithTransport(rt), github.WithURLs(&base, &base))
	if err != nil {
		b.Fatal(err)
	}
	return func(in, out any) error {
		r, err := c.NewRequest(context.Background(), method(in), "issues", in)
		if err != nil {
			return err
		}
		_, err = c.Do(r, out)
		return err
	}
}

func callResty(rt http.RoundTripper) caller {
	c := resty.New().SetTransport(rt).SetBaseURL(apiURL)
	return func(in, out any) error {
		r := c.R().SetResult(out)
		if in != nil {
			r.SetBody(in).SetHeader("Content-Type", "application/json")
		}
		_, err := r.Execute(method(in), "issues")
		return err
	}
}

func callFiber(dial func() (net.Conn, error)) caller {
	c := fiber.NewWithClient(&fasthttp.Client{Dial: func(string) (net.Conn, error) { return dial() }})
	c.SetBaseURL(apiURL)
	return func(in, out any) error {
		r := c.R()
		if in != nil {
			r.SetJSON(in)
		}
		resp, err := r.Custom("issues", method(in))
		if err != nil {
			return err
		}
		defer resp.Close()
		if out == nil {
			return nil
		}
		return resp.JSON(out)
	}
}

// BenchmarkCall is a whole call without a network. It shows what the client costs.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 500 << 10} {
		list := data.IssuesOf(size)
		text := data.JSON(size)
		for _, c := range []struct {
			name string
			call caller
		}{
			{"go-github", callGitHub(b, canned(text))},
			{"resty", callResty(canned(text))},
			{"gallop", callRest(b, rest.WithTransport(canned(text)))},
		} {
			b.Run(fmt.Sprintf("do=decode/size=%d/client=%s", size, c.name), func(b *testing.B) { benchCall(b, c.call, nil, len(list)) })
		}
		small := canned("[]")
		for _, c := range []struct {
			name string
			call caller
		}{
			{"go-github", callGitHub(b, small)},
			{"resty", callResty(small)},
			{"gallop", callRest(b, rest.WithTransport(small))},
		} {
			b.Run(fmt.Sprintf("do=encode/size=%d/client=%s", size, c.name), func(b *testing.B) { benchCall(b, c.call, list, 0) })
		}
	}
}

// BenchmarkNetwork is a whole call over a network in memory. Each client uses its default transport.
func BenchmarkNetwork(b *testing.B) {
	for _, size := range []int{1 << 10, 500 << 10} {
		text := data.JSON(size)
		ln := memnet.NewListener()
		s := &gallop.Server{Engine: gallop.EngineGoroutine, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.Response.SetBodyRaw(text)
		}}
		go func() { _ = s.Serve(ln) }()
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
		own := &gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
		want := len(data.IssuesOf(size))
		for _, c := range []struct {
			name string
			call caller
		}{
			{"go-github", callGitHub(b, tr)},
			{"resty", callResty(tr)},
			{"fiber", callFiber(ln.Dial)},
			{"gallop", callRest(b, rest.WithClient(own))},
		} {
			b.Run(fmt.Sprintf("size=%d/client=%s", size, c.name), func(b *testing.B) { benchCall(b, c.call, nil, want) })
		}
		_ = s.Shutdown()
	}
}

func benchCall(b *testing.B, call caller, in any, want int) {
	b.ReportAllocs()
	for b.Loop() {
		var list []data.Issue
		if err := call(in, &list); err != nil || len(list) != want {
			b.Fatal(err, len(list))
		}
	}
}

// BenchmarkValue shows the cost of the decoded value itself, which is the minimum for the other benchmarks.
func BenchmarkValue(b *testing.B) {
	text := data.JSON(500 << 10)
	b.ReportAllocs()
	for b.Loop() {
		var list []data.Issue
		if err := json.Unmarshal(text, &list); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHeaders iterates over the headers of a request: two names, one of them with two values.
func BenchmarkHeaders(b *testing.B) {
	b.Run("client=fiber", func(b *testing.B) {
		r := fiber.AcquireRequest()
		r.AddHeader("foo", "bar").AddHeader("foo", "fiber").AddHeader("bar", "foo")
		b.ReportAllocs()
		for b.Loop() {
			for name, values := range r.Headers() {
				_, _ = name, values
			}
		}
	})
	b.Run("client=gallop", func(b *testing.B) {
		c, err := rest.New(apiURL)
		if err != nil {
			b.Fatal(err)
		}
		r := c.Request().AddHeader("foo", "bar").AddHeader("foo", "fiber").AddHeader("bar", "foo")
		b.ReportAllocs()
		for b.Loop() {
			for name, values := range r.Headers() {
				_, _ = name, values
			}
		}
	})
}

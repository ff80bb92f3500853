package rest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

type gopher struct {
	Login string `json:"login"`
}

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		base string
		want error
	}{
		{"https://api.test", nil},
		{"https://api.test/v1", nil},
		{"https://api.test/v1/", nil},
		{"HTTPS://API.test:443/", nil},
		{"https://[::1]:8443/", nil},
		{"ftp://api.test/", rest.ErrURL},
		{"/v1/", rest.ErrURL},
		{"https:api.test", rest.ErrURL},
		{"https://user:secret@api.test/", rest.ErrURL},
		{"https://api.test/?a=b", rest.ErrURL},
		{"https://api.test/a/../b/", rest.ErrPathForbidden},
	} {
		if _, err := rest.New(tc.base); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.base, err, tc.want)
		}
	}
}

// The address of a link has the name of the interface behind it, in which capitals count (RFC 6874).
func TestZones(t *testing.T) {
	redirects := text(302, "", "Location: b")
	for _, base := range []string{"http://[FE80::1%25Eth0]/v1/", "http://[fe80::1%25Eth0]:8080/v1/"} {
		eachScript(t, []gallop.RequestHandler{redirects, text(200, "[1]", "Link: <?page=2>; rel=next"), text(200, "[2]")}, func(t *testing.T, a *api, _ rest.Option) {
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				if !strings.HasPrefix(address, "[fe80::1%Eth0]:80") {
					t.Error(address)
				}
				return a.dial(ctx, network, address)
			}
			g, tr := &gallop.Client{DialContext: dial}, &http.Transport{DialContext: dial}
			t.Cleanup(g.CloseIdleConnections)
			t.Cleanup(tr.CloseIdleConnections)
			for _, over := range []rest.Option{rest.WithClient(g), rest.WithTransport(tr)} {
				a.calls.Store(0)
				c, err := rest.New(base, over, rest.WithAuth(rest.Bearer("x"), strings.TrimSuffix(base, "/v1/")))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := collected(rest.PagesByLink[int](t.Context(), c, "a")); err != nil || len(got) != 2 {
					t.Errorf("%s: %v, %v", base, got, err)
				}
			}
		})
	}
}

func TestOptionsRefuse(t *testing.T) {
	for name, option := range map[string]rest.Option{
		"a client that redirects": rest.WithClient(&gallop.Client{MaxRedirects: 1}), "no client": rest.WithClient(nil), "no transport": rest.WithTransport(nil),
		"header name": rest.WithHeader("a b", ""), "header value": rest.WithHeader("a", "b\r\nc: d"), "framing": rest.WithHeader("content-length", "1"),
		"agent": rest.WithUserAgent("a\n"), "time": rest.WithTimeout(-1), "codec": rest.WithCodec(nil), "size": rest.WithMaxBody(0),
		"auth": rest.WithAuth(nil), "auth's origin": rest.WithAuth(rest.Bearer("x"), "here"),
	} {
		if _, err := rest.New("https://api.test/", option); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNewRequestPaths(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for _, tc := range []struct {
			path string
			want string // the target as it arrives, or
			err  error
		}{
			{"foo", "/v1/foo", nil},
			{"/foo", "/v1/foo", nil},
			{"", "/v1/", nil},
			{"foo/", "/v1/foo/", nil},
			{"foo?a=b&c", "/v1/foo?a=b&c", nil},
			{"foo#part", "/v1/foo", nil},
			{"foo bar/ü", "/v1/foo%20bar/%C3%BC", nil},
			{"a%2Fb", "/v1/a%2Fb", nil},
			{"a/./b//c", "/v1/a/./b//c", nil},
			{"a;b=c/d,e:f@g", "/v1/a;b=c/d,e:f@g", nil},
			{"contents/file..txt", "/v1/contents/file..txt", nil},
			{"file%2e%2etxt", "/v1/file%2e%2etxt", nil},
			{"a?q=a..b", "/v1/a?q=a..b", nil},
			{"a?q=ü&r=%C3%BC", "/v1/a?q=%C3%BC&r=%C3%BC", nil},
			{`a?q={"b":[<c>]}|`, "/v1/a?q={%22b%22:[%3Cc%3E]}|", nil},
			{"a?q=../b", "/v1/a?q=../b", nil},
			{"a#../section", "/v1/a", nil},
			{"http://api.test/v2/x", "/v2/x", nil},
			{"http://api.test", "/", nil},
			{"repos/../admin", "", rest.ErrPathForbidden},
			{"../admin", "", rest.ErrPathForbidden},
			{"..", "", rest.ErrPathForbidden},
			{"x/%2e%2e/y", "", rest.ErrPathForbidden},
			{"x/.%2E/y", "", rest.ErrPathForbidden},
			{`x\..\y`, "", rest.ErrPathForbidden},
			{"x/%2e%2e%2fy", "", rest.ErrPathForbidden},
			{"x/..%5cy", "", rest.ErrPathForbidden},
			{"x/..;/y", "", rest.ErrPathForbidden},
			{"x/%2e.;a=b", "", rest.ErrPathForbidden},
			{"x/..%3b/y", "", rest.ErrPathForbidden},
			{"x/...;/a..;b", "/v1/x/...;/a..;b", nil},
			{"https://user:pass@h/repos/../a", "", rest.ErrPathForbidden},
			{"repos/../admin#f", "", rest.ErrPathForbidden},
			{"https://user:pass@h/a", "", rest.ErrURL},
			{"//elsewhere.test/a", "", rest.ErrURL},
			{"ftp://elsewhere.test/a", "", rest.ErrURL},
			{"a?b c", "", rest.ErrURL},
			{"a?b\r\nc", "", rest.ErrURL},
		} {
			r, err := c.NewRequest(t.Context(), "GET", tc.path, nil)
			if !errors.Is(err, tc.err) {
				t.Errorf("%q: %v, want %v", tc.path, err, tc.err)
			}
			if err != nil {
				continue
			}
			if line, _, _ := strings.Cut(said(t, c, r), "\n"); line != "GET "+tc.want {
				t.Errorf("%q: arrives as %q, want %q", tc.path, line, tc.want)
			}
		}
		_, err := c.NewRequest(t.Context(), "GET", ":", nil)
		if e := as[*url.Error](t, err); e.Op != "parse" {
			t.Errorf("got %+v", e)
		}
		if _, err = c.NewRequest(t.Context(), "BOGUS\nMETHOD", "a", nil); !errors.Is(err, rest.ErrMethod) {
			t.Error(err)
		}
		var none context.Context
		if _, err = c.NewRequest(none, "GET", "a", nil); err == nil {
			t.Error("a nil context is accepted")
		}
	})
}

func TestPathParameters(t *testing.T) {
	a := serve(t, echo)
	c := a.client()
	for _, tc := range []struct {
		name, path string
		values     []string
		want       string
		err        error
	}{
		{"one", "u/{id}", []string{"id", "7"}, "/v1/u/7", nil},
		{"whose name another begins with", "u/{id}/{id2}", []string{"id", "a", "id2", "b"}, "/v1/u/a/b", nil},
		{"twice", "{id}/{id}", []string{"id", "a"}, "/v1/a/a", nil},
		{"as a port", "http://api.test:8080/{8080}", []string{"8080", "x"}, "/x", nil},
		{"with a slash", "u/{id}", []string{"id", "a/b"}, "/v1/u/a%2Fb", nil},
		{"with a question", "u/{id}", []string{"id", "a?b#c"}, "/v1/u/a%3Fb%23c", nil},
		{"with percent", "u/{id}", []string{"id", "%2e%2e"}, "/v1/u/%252e%252e", nil},
		{"with a brace", "u/{id}", []string{"id", "{id}"}, "/v1/u/%7Bid%7D", nil},
		{"several segments", "c/{path...}", []string{"path", "a/b c/d"}, "/v1/c/a/b%20c/d", nil},
		{"a URL", "{path...}", []string{"path", "http://evil.test/x"}, "/v1/http://evil.test/x", nil},
		{"a URL, in one segment", "{id}", []string{"id", "http://evil.test"}, "/v1/http:%2F%2Fevil.test", nil},
		{"what begins as a URL", "{id}://evil.test/", []string{"id", "http"}, "/v1/http://evil.test/", nil},
		{"a host", "/{path...}", []string{"path", "/evil.test/x"}, "/v1//evil.test/x", nil},
		{"before a verb", "{id}:cancel", []string{"id", "7"}, "/v1/7:cancel", nil},
		{"with a colon", "{id}", []string{"id", "1:2"}, "/v1/1:2", nil},
		{"a path to be escaped", "{id}/ä%zz", []string{"id", "7"}, "", url.EscapeError("%zz")},
		{"with a query", "u/{id}?a={id}", []string{"id", "7"}, "/v1/u/7?a={id}", nil},
		{"climbs", "u/{id}", []string{"id", ".."}, "", rest.ErrPathForbidden},
		{"is here", "u/{id}", []string{"id", "."}, "", rest.ErrPathForbidden},
		{"climbs within", "c/{path...}", []string{"path", "a/../b"}, "", rest.ErrPathForbidden},
		{"climbs in pieces", "u/.{id}", []string{"id", "./x"}, "/v1/u/..%2Fx", rest.ErrPathForbidden},
		{"is empty", "u/{id}", []string{"id", ""}, "", rest.ErrPath},
		{"is missing", "u/{id}", nil, "", rest.ErrPath},
		{"is not in the path", "u", []string{"id", "7"}, "", rest.ErrPath},
		{"is not in the path, where another is twice", "{id}/{id}", []string{"id", "7", "other", "8"}, "", rest.ErrPath},
		{"twice, once as several segments", "{id}/{id...}/{other}", []string{"id", "a/b", "other", "8"}, "/v1/a%2Fb/a/b/8", nil},
		{"is open", "u/{id", []string{"id", "7"}, "", rest.ErrPath},
		{"climbs before", "../{id}", []string{"id", "7"}, "", rest.ErrPathForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := c.Request()
			for i := 0; i < len(tc.values); i += 2 {
				r.SetPathValue(tc.values[i], tc.values[i+1])
			}
			var b strings.Builder
			_, err := r.Get(tc.path, &b)
			if !errors.Is(err, tc.err) {
				t.Fatalf("got %v, want %v", err, tc.err)
			}
			if line, _, _ := strings.Cut(b.String(), "\n"); err == nil && line != "GET "+tc.want {
				t.Errorf("arrives as %q, want %q", line, tc.want)
			}
		})
	}
}

func TestRequestBodies(t *testing.T) {
	open := opened(t, "from a file")
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for _, tc := range []struct {
			name            string
			body            any
			want, mediaType string
		}{
			{"a struct", &gopher{"l"}, "{\"login\":\"l\"}", "application/json"},
			{"without escapes for HTML", gopher{"<&>"}, "{\"login\":\"<&>\"}", "application/json"},
			{"a text is a value", "a", "\"a\"", "application/json"},
			{"bytes", []byte("raw"), "raw", "application/octet-stream"},
			{"a form", url.Values{"b": {"2"}, "a": {"1", "&"}}, "a=1&a=%26&b=2", "application/x-www-form-urlencoded"},
			{"a buffer", bytes.NewBufferString("buffered"), "buffered", "application/octet-stream"},
			{"a reader", io.MultiReader(strings.NewReader("re"), strings.NewReader("ad")), "read", "application/octet-stream"},
			{"a file", open, "from a file", "application/octet-stream"},
			{"large", strings.NewReader(strings.Repeat("x", 300<<10)), strings.Repeat("x", 300<<10), "application/octet-stream"},
		} {
			r := newRequest(t, c, "POST", "/foo", tc.body)
			for range 2 {
				got := said(t, c, r)
				if !strings.HasSuffix(got, "\n\n"+tc.want) || !strings.Contains(got, "Content-Type: "+tc.mediaType+"\n") {
					t.Errorf("%s: %.300q", tc.name, got)
				}
				if tc.name == "a reader" || tc.name == "a buffer" {
					break // can be sent once
				}
			}
		}
		if at, err := open.Seek(0, io.SeekCurrent); at != 0 || err != nil {
			t.Error("the file was read where it is", at, err)
		}
		if got := said(t, c, newRequest(t, c, "GET", "a", nil)); strings.Contains(got, "Content-") {
			t.Errorf("without a body: %q", got)
		}
		_, err := c.NewRequest(t.Context(), "POST", "a", struct{ F func() }{})
		as[*rest.EncodeError](t, err)
	})
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) { // a file in which nobody can go back
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		if _, err := to.WriteString("piped"); err != nil {
			t.Fatal(err)
		}
		to.Close()
		c := a.client(over)
		if got := said(t, c, newRequest(t, c, "POST", "a", from)); !strings.HasSuffix(got, "\n\npiped") {
			t.Errorf("a pipe: %q", got)
		}
	})
	open.Close()
	c, _ := rest.New("http://api.test/")
	_, err := c.NewRequest(t.Context(), "POST", "a", open)
	if as[*rest.EncodeError](t, err); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// A body that is known to have no bytes has the length 0, over whatever it is sent: servers refuse chunks for it.
func TestEmptyBodies(t *testing.T) {
	file := opened(t, "")
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for name, r := range map[string]*rest.Request{
			"a file": c.Request().SetBody(file), "no text": c.Request().SetBody(strings.NewReader("")), "none of a text": c.Request().SetBodyReader(strings.NewReader("text"), 0), "no bytes": c.Request().SetBody([]byte{}),
			"an empty buffer": c.Request().SetBody(new(bytes.Buffer)), "none of a stream": c.Request().SetBodyReader(onceReader{strings.NewReader("text")}, 0),
		} {
			got := said(t, c, r.SetContext(t.Context()).SetTarget("PUT", "a"))
			if !strings.Contains(got, "Content-Length: 0\n") || strings.Contains(got, "Transfer-Encoding") || !strings.HasSuffix(got, "\n\n") {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

// lateReader answers at once, and reads bodies when it is asked to.
type lateReader struct{ bodies []io.ReadCloser }

func (l *lateReader) RoundTrip(r *http.Request) (*http.Response, error) {
	l.bodies = append(l.bodies, r.Body)
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func TestBodiesMayBeReadLate(t *testing.T) {
	late := &lateReader{}
	c, err := rest.New("http://api.test/", rest.WithTransport(late))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := c.Request().SetBody(i).Post("a", nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, body := range late.bodies {
		if got, err := io.ReadAll(body); string(got) != fmt.Sprint(i) || err != nil {
			t.Errorf("%q, %v, want %d", got, err, i)
		}
		for range 2 {
			body.Close()
		}
		if _, err := body.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Error("a body that is closed can be read:", err)
		}
	}
}

func TestSentHeaders(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithHeader("X-Api-Version", "3"), rest.WithHeader("Accept", "text/plain"))
		got := said(t, c, newRequest(t, c, "GET", "a", nil))
		for _, want := range []string{"User-Agent: gallop-rest\n", "X-Api-Version: 3\n", "Accept: text/plain\n"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is not there once: %q", want, got)
			}
		}
		// what the request has replaces what the client has, and a body leaves Accept alone
		r := newRequest(t, c, "POST", "a", gopher{}, rest.SetHeader("accept", "image/png"), rest.SetHeader("x-api-version", "4"),
			rest.SetHeader("Content-Type", "application/merge-patch+json"))
		got = strings.ToLower(said(t, c, r))
		for _, want := range []string{"accept: image/png\n", "x-api-version: 4\n", "content-type: application/merge-patch+json\n"} {
			if name, _, _ := strings.Cut(want, ":"); !strings.Contains(got, "\n"+want) || strings.Count(got, "\n"+name+":") != 1 {
				t.Errorf("%q is not there, or not alone: %q", want, got)
			}
		}
		// nothing of it goes to another origin
		got = said(t, c, newRequest(t, c, "GET", "http://elsewhere.test/a", nil))
		if strings.Contains(got, "X-Api-Version") {
			t.Errorf("sent elsewhere: %q", got)
		}
		quiet := a.client(over, rest.WithUserAgent(""))
		if got = said(t, quiet, newRequest(t, quiet, "GET", "a", nil)); strings.Contains(got, "User-Agent") {
			t.Errorf("User-Agent is there: %q", got)
		}
	})
}

func TestBuilder(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		var b strings.Builder
		_, err := c.Request().SetContext(t.Context()).SetHeader("X-A", "1").AddHeader("X-A", "2").SetPathValue("id", "7").
			SetQuery("q", "a b").AddQuery("q", "ä").SetQuery("n", "1").SetQuery("n", "2").
			SetCookie("c", "1").SetCookie("d", "2").SetCookie("c", "3").
			SetForm("f", "&").AddForm("f", "=").Post("u/{id}?z=0", &b)
		if err != nil {
			t.Fatal(err)
		}
		got := b.String()
		for _, want := range []string{
			"POST /v1/u/7?z=0&q=a+b&q=%C3%A4&n=2\n", "X-A: 1\nX-A: 2\n", "Cookie: c=3; d=2\n", "\n\nf=%26&f=%3D",
			"Content-Type: application/x-www-form-urlencoded\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		got = said(t, c, c.Request().AddHeader("Cookie", "a=1").AddHeader("Cookie", "b=2").SetCookie("c", "3").SetTarget("GET", "a"))
		if !strings.Contains(got, "Cookie: a=1; b=2; c=3\n") {
			t.Errorf("not all cookies are in %q", got)
		}
		var none context.Context
		for name, r := range map[string]*rest.Request{
			"name": c.Request().SetHeader("a b", ""), "value": c.Request().AddHeader("a", "\n"), "length": c.Request().SetHeader("Content-Length", "3"),
			"cookie": c.Request().SetCookie("a", "b; c"), "context": c.Request().SetContext(none),
		} {
			if _, err := r.Get("a", nil); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if _, err := a.client(over).Do(c.Request(), nil); err == nil {
			t.Error("a request of another client is sent")
		}
	})
}

func TestGeneric(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		if ctx.IsDelete() {
			ctx.SetStatusCode(204)
			return
		}
		answer(ctx, 200, `{"login":"`+string(ctx.Method())+" "+string(ctx.QueryArgs().Peek("q"))+strings.ReplaceAll(strings.TrimSpace(string(ctx.PostBody())), `"`, `'`)+`"}`)
	})
	c, ctx := a.client(), context.Background()
	want := func(got gopher, err error, login string) {
		t.Helper()
		if err != nil || got.Login != login {
			t.Errorf("got %v, %v, want %q", got, err, login)
		}
	}
	got, err := rest.Get[gopher](ctx, c, "{a}", rest.SetPathValue("a", "b"), rest.SetQuery("q", "1"))
	want(got, err, "GET 1")
	got, err = rest.Post[gopher](ctx, c, "a", gopher{"x"})
	want(got, err, "POST {'login':'x'}")
	got, err = rest.Put[gopher](ctx, c, "a", 7)
	want(got, err, "PUT 7")
	got, err = rest.Patch[gopher](ctx, c, "a", []int{1})
	want(got, err, "PATCH [1]")
	if err := rest.Delete(ctx, c, "a"); err != nil {
		t.Error(err)
	}
	if err := rest.Delete(ctx, c, ".."); !errors.Is(err, rest.ErrPathForbidden) {
		t.Error(err)
	}
}

// Without WithClient, IPv6 is dialed, and heads of 250 KiB are received.
func TestDefaultClientOverIPv6(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	s := &gallop.Server{Handler: text(200, "[1]", "X: "+strings.Repeat("x", 250<<10))}
	go s.Serve(ln)
	t.Cleanup(func() { s.Shutdown() })
	c, err := rest.New("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	if got, err := rest.Get[[]int](t.Context(), c, "a"); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// Calls beyond MaxConnsPerHost wait for a connection.
func TestCallsWaitForConnections(t *testing.T) {
	const calls, most = 20, 2
	synctest.Test(t, func(t *testing.T) {
		a := serve(t, func(ctx *gallop.RequestCtx) {
			time.Sleep(time.Second)
			answer(ctx, 200, "1")
		})
		g := rest.DefaultClient()
		g.DialContext, g.MaxConnsPerHost = a.dial, most
		t.Cleanup(g.CloseIdleConnections)
		c, err := rest.New("http://api.test/", rest.WithClient(g))
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, calls)
		begun := time.Now()
		for range calls {
			go func() {
				_, err := rest.Get[int](t.Context(), c, "a")
				errs <- err
			}()
		}
		for range calls {
			if err := <-errs; err != nil { // ErrNoFreeConns, if calls do not wait
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != calls/most*time.Second || a.dials.Load() != most {
			t.Errorf("%d calls took %v over %d connections", calls, took, a.dials.Load())
		}
	})
}

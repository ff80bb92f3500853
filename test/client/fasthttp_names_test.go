package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	// The one line that changes. The code below is written like programs for fasthttp.
	fasthttp "github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// fasthttpTalk has s serve the bytes of a client on one connection and returns the responses, without Date.
func fasthttpTalk(t *testing.T, s *fasthttp.Server, requests string) string {
	t.Helper()
	s.NoDefaultDate = true
	client, server := memnet.Pipe()
	if _, err := io.WriteString(client, requests); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := s.ServeConn(server); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
	answers, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	return string(answers)
}

// bodyOf returns what follows the head of the last answer.
func bodyOf(answers string) string {
	return answers[strings.LastIndex(answers, "\r\n\r\n")+4:]
}

func askPath(t *testing.T, handler fasthttp.RequestHandler, path string) string {
	t.Helper()
	return fasthttpTalk(t, &fasthttp.Server{Handler: handler}, "GET "+path+" HTTP/1.1\r\nHost: example.com\r\n\r\n")
}

type boundHandler struct{ greeting string }

func (h *boundHandler) HandleFastHTTP(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "%s, %q", h.greeting, ctx.Path())
}

func TestFromFasthttpHandlers(t *testing.T) {
	plain := func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "URI %q", ctx.RequestURI())
	}
	mux := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/plain":
			plain(ctx)
		case "/bound":
			(&boundHandler{"bound"}).HandleFastHTTP(ctx)
		default:
			ctx.Error("no such path", fasthttp.StatusNotFound)
		}
	}
	rewritten := func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("foo/bar")
		ctx.SetStatusCode(fasthttp.StatusOK)
		fmt.Fprintf(ctx, "first part\n")
		ctx.Response.Header.Set("Foo-Bar", "baz")
		fmt.Fprintf(ctx, "second part\n")
		ctx.SetBody([]byte("something else"))
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
	for _, tt := range []struct {
		name    string
		handler fasthttp.RequestHandler
		path    string
		status  string
		body    string
	}{
		{"function", plain, "/a?b=c", "200 OK", `URI "/a?b=c"`},
		{"bound method", (&boundHandler{"hello"}).HandleFastHTTP, "/x", "200 OK", `hello, "/x"`},
		{"switch, first", mux, "/plain", "200 OK", `URI "/plain"`},
		{"switch, second", mux, "/bound", "200 OK", `bound, "/bound"`},
		{"switch, default", mux, "/other", "404 Not Found", "no such path"},
		{"any order", rewritten, "/", "404 Not Found", "something else"},
		{"compressed", fasthttp.CompressHandler(plain), "/", "200 OK", `URI "/"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := askPath(t, tt.handler, tt.path)
			if !strings.HasPrefix(got, "HTTP/1.1 "+tt.status+"\r\n") || bodyOf(got) != tt.body {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := askPath(t, rewritten, "/"); !strings.Contains(got, "\r\nFoo-Bar: baz\r\n") || !strings.Contains(got, "\r\nContent-Type: foo/bar\r\n") {
		t.Errorf("got %q", got)
	}
}

func TestFromFasthttpServe(t *testing.T) {
	handler := func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "path %q", ctx.Path()) }
	ln := memnet.NewListener()
	ended := make(chan error, 1)
	s := &fasthttp.Server{Handler: handler, Name: "a server's name", ReadTimeout: time.Second, Concurrency: 10}
	go func() { ended <- s.Serve(ln) }()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := servertest.Ask(t, c, "GET /a HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	if !strings.Contains(got, "\r\nServer: a server's name\r\n") || bodyOf(got) != `path "/a"` {
		t.Errorf("got %q", got)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFromFasthttpStreams(t *testing.T) {
	writer := func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "message %d;", i)
				if err := w.Flush(); err != nil {
					return
				}
			}
		})
	}
	if got, want := askPath(t, writer, "/"), "a\r\nmessage 0;\r\na\r\nmessage 1;\r\na\r\nmessage 2;\r\n0\r\n\r\n"; !strings.HasSuffix(got, "\r\n\r\n"+want) {
		t.Errorf("got %q", got)
	}
	reader := func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(strings.NewReader("0123456789"), 4) }
	if got := bodyOf(askPath(t, reader, "/")); got != "0123" {
		t.Errorf("got %q", got)
	}
	request := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		fmt.Fprintf(ctx, "%d %v", n, err)
	}}
	if got := bodyOf(fasthttpTalk(t, request, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nstream")); got != "6 <nil>" {
		t.Errorf("got %q", got)
	}
}

// Two things are better than in the original: Done also closes when the time is up or the client goes away, and what a
// slow handler touches is its own.
func TestFromFasthttpTimeouts(t *testing.T) {
	wait := func(ctx *fasthttp.RequestCtx) {
		select {
		case <-ctx.Done():
			log.New(io.Discard, "", 0).Println("cancelled")
		case <-time.After(10 * time.Second):
			ctx.WriteString("finished")
		}
	}
	work := func(ctx *fasthttp.RequestCtx) {
		done := make(chan struct{})
		go func() {
			time.Sleep(time.Duration(1500+rand.IntN(500)) * time.Millisecond)
			fmt.Fprintf(ctx, "touched late")
			close(done)
		}()
		select {
		case <-done:
			fmt.Fprintf(ctx, "in time")
		case <-time.After(time.Second):
			ctx.TimeoutError("too late")
		}
	}
	for _, tt := range []struct {
		name    string
		handler fasthttp.RequestHandler
		status  string
		body    string
	}{
		{"TimeoutHandler, too slow", fasthttp.TimeoutHandler(wait, 2*time.Second, "timeout"), "408 Request Timeout", "timeout"},
		{"TimeoutHandler, fast enough", fasthttp.TimeoutHandler(wait, 20*time.Second, "timeout"), "200 OK", "finished"},
		{"TimeoutWithCodeHandler", fasthttp.TimeoutWithCodeHandler(wait, time.Second, "busy", fasthttp.StatusServiceUnavailable), "503 Service Unavailable", "busy"},
		{"TimeoutError", work, "408 Request Timeout", "too late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The writing side stays open: a client that closes it has gone, and Done would say so.
				client, server := memnet.Pipe()
				s := &fasthttp.Server{Handler: tt.handler}
				go s.ServeConn(server)
				io.WriteString(client, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
				b, err := io.ReadAll(client)
				if err != nil {
					t.Fatal(err)
				}
				client.Close()
				time.Sleep(time.Minute) // until the handlers that came too late have ended
				if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 "+tt.status+"\r\n") || bodyOf(got) != tt.body {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestFromFasthttpHijack(t *testing.T) {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch path := ctx.Path(); {
		case string(path) == "/hijack":
			ctx.Hijack(func(c net.Conn) {
				fmt.Fprintf(c, "hijacked\n")
				var buf [1]byte
				for {
					if _, err := c.Read(buf[:]); err != nil {
						return
					}
					fmt.Fprintf(c, "%q\n", buf[:])
				}
			})
			fmt.Fprintf(ctx, "response first")
		default:
			fmt.Fprintf(ctx, "path %q", path)
		}
	}}
	got := fasthttpTalk(t, s, "GET /hijack HTTP/1.1\r\nHost: example.com\r\n\r\nab")
	if want := "\r\n\r\nresponse firsthijacked\n\"a\"\n\"b\"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q", got)
	}
}

type lines []string

func (l *lines) Printf(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func TestFromFasthttpLogger(t *testing.T) {
	var log lines
	s := &fasthttp.Server{Logger: &log, Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/top-secret" {
			ctx.Logger().Printf("somebody asks for a secret")
			ctx.Error("Access denied!", fasthttp.StatusForbidden)
			return
		}
		logger := ctx.Logger()
		logger.Printf("User-Agent %q", ctx.Request.Header.UserAgent())
		logger.Printf("a second line")
	}}
	const rest = " HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gopher\r\n\r\n"
	if got := fasthttpTalk(t, s, "GET /top-secret"+rest+"GET /"+rest); !strings.HasPrefix(got, "HTTP/1.1 403 Forbidden\r\n") {
		t.Errorf("got %q", got)
	}
	want := []string{"somebody asks for a secret", `User-Agent "gopher"`, "a second line"}
	if !slices.EqualFunc(log, want, strings.HasSuffix) {
		t.Errorf("logged %q", log)
	}
}

func TestFromFasthttpFiles(t *testing.T) {
	site := fstest.MapFS{
		"index.html":            {Data: []byte("start page")},
		"dir/a.txt":             {Data: []byte("a file")},
		"example.com/dir/a.txt": {Data: []byte("a file of example.com")},
	}
	static := &fasthttp.FS{FS: site, IndexNames: []string{"index.html"}, GenerateIndexPages: true, Compress: true, AcceptByteRange: true}
	hosts := &fasthttp.FS{FS: site, PathRewrite: fasthttp.NewVHostPathRewriter(0)}
	slashes := &fasthttp.FS{FS: site, PathRewrite: fasthttp.NewPathSlashesStripper(1)}
	prefix := &fasthttp.FS{FS: site, PathRewrite: fasthttp.NewPathPrefixStripper(len("/img"))}
	one := func(ctx *fasthttp.RequestCtx) { fasthttp.ServeFS(ctx, site, "/dir/a.txt") }
	for _, tt := range []struct {
		name    string
		handler fasthttp.RequestHandler
		path    string
		status  string
		part    string
	}{
		{"file", static.NewRequestHandler(), "/dir/a.txt", "200 OK", "a file"},
		{"index", static.NewRequestHandler(), "/", "200 OK", "start page"},
		{"list", static.NewRequestHandler(), "/dir/", "200 OK", "a.txt"},
		{"nothing", static.NewRequestHandler(), "/no", "404 Not Found", ""},
		{"host", hosts.NewRequestHandler(), "/dir/a.txt", "200 OK", "a file of example.com"},
		{"slashes", slashes.NewRequestHandler(), "/img/dir/a.txt", "200 OK", "a file"},
		{"prefix", prefix.NewRequestHandler(), "/img/dir/a.txt", "200 OK", "a file"},
		{"one file", one, "/any", "200 OK", "a file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := askPath(t, tt.handler, tt.path)
			if !strings.HasPrefix(got, "HTTP/1.1 "+tt.status+"\r\n") || !strings.Contains(bodyOf(got), tt.part) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFromFasthttpBuffers(t *testing.T) {
	// Nil buffers are buffers, and what is appended to comes first and goes out.
	uintBuf := fasthttp.AppendUint(nil, 1234)
	var dst []byte
	dst = append(dst, "n="...)
	dst = fasthttp.AppendUint(dst, 1234)
	dst = fasthttp.AppendIPv4(append(dst, ' '), net.IPv4(192, 0, 2, 1))
	dst = fasthttp.AppendHTTPDate(append(dst, ' '), time.Unix(0, 0))
	dst = fasthttp.AppendQuotedArg(append(dst, ' '), []byte("a b&c"))
	dst = fasthttp.AppendHTMLEscape(append(dst, ' '), "<b>")
	if got, want := string(dst), "n=1234 192.0.2.1 Thu, 01 Jan 1970 00:00:00 GMT a+b%26c &lt;b&gt;"; got != want || string(uintBuf) != "1234" {
		t.Errorf("got %q and %q, want %q", got, uintBuf, want)
	}
	packed := fasthttp.AppendGzipBytes(nil, []byte("pack me"))
	plain, err := fasthttp.AppendGunzipBytes(nil, packed)
	if err != nil || string(plain) != "pack me" {
		t.Errorf("got %q, %v", plain, err)
	}
	if s := fasthttp.UnsafeString([]byte("text")); s != "text" || !bytes.Equal(fasthttp.UnsafeBytes("text"), []byte("text")) {
		t.Error("conversions that do not copy")
	}

	var args fasthttp.Args
	args.ParseBytes(nil)
	args.SetBytesKV([]byte("key"), nil)
	var h fasthttp.ResponseHeader
	h.SetBytesKV([]byte("X-Empty"), nil)
	var resp fasthttp.Response
	resp.SetBody(nil)
	resp.AppendBody(nil)
	if args.String() != "key=" || len(resp.Body()) != 0 {
		t.Errorf("nil arguments made %q and %q", args.String(), resp.Body())
	}
}

// A handler that formats without fmt and takes its helpers out of pools.
func TestFromFasthttpPools(t *testing.T) {
	got := askPath(t, func(ctx *fasthttp.RequestCtx) {
		c := fasthttp.AcquireCookie()
		defer fasthttp.ReleaseCookie(c)
		c.SetKey("seen")
		c.SetValue("yes")
		ctx.Response.Header.SetCookie(c)

		args := fasthttp.AcquireArgs()
		defer fasthttp.ReleaseArgs(args)
		args.Set("q", "go")
		uri := fasthttp.AcquireURI()
		defer fasthttp.ReleaseURI(uri)
		ctx.URI().CopyTo(uri)
		uri.SetQueryStringBytes(args.QueryString())
		ctx.Response.AppendBody(uri.FullURI())
		ctx.Response.AppendBodyString(" done")
	}, "/search")
	if !strings.Contains(got, "\r\nSet-Cookie: seen=yes\r\n") || bodyOf(got) != "http://example.com/search?q=go done" {
		t.Errorf("got %q", got)
	}
}

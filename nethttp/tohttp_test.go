package nethttp_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// A gallop handler leads to the same response behind net/http's server and behind gallop's.
func TestToHTTPAnswer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		handle gallop.RequestHandler
	}{
		{"small", func(ctx *gallop.RequestCtx) { ctx.WriteString("x") }},
		{"nothing", func(ctx *gallop.RequestCtx) {}},
		{"204 with a body", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(204); ctx.WriteString("x") }},
		{"204 with a stream", func(ctx *gallop.RequestCtx) {
			ctx.SetStatusCode(204)
			ctx.SetBodyStream(strings.NewReader("x"), -1)
		}},
		{"205 with a body", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(205); ctx.WriteString("x") }},
		{"304 with a body", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(304); ctx.WriteString("x") }},
		{"103 as the last", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(103); ctx.WriteString("x") }},
		{"101 without an upgrade", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(101) }},
		{"SkipBody", func(ctx *gallop.RequestCtx) { ctx.WriteString("x"); ctx.Response.SkipBody = true }},
		{"stream", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("abc"), -1) }},
		{"stream of known length", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("abc"), 3) }},
		{"empty stream", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader(""), 0) }},
		{"stream with trailers", func(ctx *gallop.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader("abc"), -1)
			ctx.Response.Header.SetTrailer("X-Sum")
			ctx.Response.Header.Set("X-Sum", "1")
		}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(tc.name+"/"+method, func(t *testing.T) {
				ln := listen(t)
				s := &gallop.Server{Handler: tc.handle, Logger: quietLog, NoDefaultServerHeader: true}
				go s.Serve(ln)
				t.Cleanup(func() { s.Close() })
				var want string
				for i, addr := range []string{ln.Addr().String(), startNetHTTP(t, nethttp.ToHTTP(tc.handle))} {
					p := dial(t, addr)
					p.say("%s / HTTP/1.1\r\nHost: h\r\n\r\n", method)
					resp := p.answer(method)
					body := strings.TrimSuffix(bodyOf(t, resp), "\n")
					got := fmt.Sprintf("%d %q %q %q", resp.StatusCode, resp.Header.Get("Content-Type"), body, resp.Trailer.Get("X-Sum"))
					if i == 0 {
						want = got
					} else if got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				}
			})
		}
	}
}

// The target is what came, or what http.StripPrefix and its like have left of it.
func TestToHTTPTarget(t *testing.T) {
	var got string
	h := nethttp.ToHTTP(func(ctx *gallop.RequestCtx) { got = fmt.Sprintf("%s %s", ctx.RequestURI(), ctx.Path()) })
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = "/other/\u00fc", "", "b"
		h.ServeHTTP(w, r)
	})
	for _, tc := range []struct {
		name, target string
		h            http.Handler
		want         string
	}{
		{"as it came", "/a%2fb//c?d=%20", h, "/a%2fb//c?d=%20 /a%2Fb/c"},
		{"with a host", "http://h/a?b", h, "http://h/a?b /a"},
		{"without a path", "http://h?b", h, "http://h?b /"},
		{"stripped", "/api/a%2Fb?c", http.StripPrefix("/api", h), "/a%2Fb?c /a%2Fb"},
		{"stripped to nothing", "/api", http.StripPrefix("/api", h), "/ /"},
		{"stripped of its slash", "/api/a?c", http.StripPrefix("/api/", h), "/a?c /a"},
		{"stripped behind a host", "http://h/api/a?c", http.StripPrefix("/api", h), "/a?c /a"},
		{"another one", "/a", other, "/other/%C3%BC?b /other/\u00fc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := dial(t, startNetHTTP(t, tc.h))
			p.say("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", tc.target)
			p.answer("GET")
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// Trailers of a small answer arrive, too.
func TestToHTTPTrailers(t *testing.T) {
	p := dial(t, startNetHTTP(t, nethttp.ToHTTP(nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "x")
		w.Header().Set("X-Sum", "1")
	})))))
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	resp := p.answer("GET")
	if body := bodyOf(t, resp); body != "x" || resp.Trailer.Get("X-Sum") != "1" {
		t.Errorf("got %q, %v", body, resp.Trailer)
	}
}

// A body whose length nobody has said, as http.NewRequest has it for readers that it does not know, is there.
func TestToHTTPBodyOfUnknownLength(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", ""} {
		r, err := http.NewRequest("POST", "/", io.MultiReader(strings.NewReader("body")))
		if err != nil {
			t.Fatal(err)
		}
		if proto == "" { // a program has made the request itself
			r.Proto, r.ProtoMajor, r.ProtoMinor = "", 0, 0
		}
		w := httptest.NewRecorder()
		nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
			fmt.Fprintf(ctx, "%s %q", ctx.PostBody(), ctx.Request.Header.ContentType())
		}).ServeHTTP(w, r)
		if got := w.Body.String(); got != `body ""` {
			t.Errorf("%q: got %s", proto, got)
		}
	}
}

// The connection is there to be asked, and does nothing.
func TestToHTTPConn(t *testing.T) {
	w := httptest.NewRecorder()
	nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		c := ctx.Conn()
		_, read := c.Read(make([]byte, 1))
		_, written := c.Write([]byte("x"))
		for i, err := range []error{read, written, c.SetDeadline(time.Now()), c.SetReadDeadline(time.Now()), c.SetWriteDeadline(time.Now()), c.Close()} {
			if err == nil {
				t.Errorf("%d worked", i)
			}
		}
	}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusOK {
		t.Errorf("got %d", w.Code)
	}
}

// A handler that aborts ends the connection, and nothing is logged.
func TestToHTTPAborts(t *testing.T) {
	for name, h := range map[string]gallop.RequestHandler{
		"of gallop":   func(*gallop.RequestCtx) { panic(gallop.ErrAbortHandler) },
		"of net/http": nethttp.FromHTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })),
	} {
		t.Run(name, func(t *testing.T) {
			var logged strings.Builder
			s := httptest.NewUnstartedServer(nethttp.ToHTTP(h))
			s.Config.ErrorLog = log.New(&logged, "", 0)
			s.Start()
			p := dial(t, s.Listener.Addr().String())
			p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			p.expectEnd()
			s.Close()
			if logged.Len() > 0 {
				t.Errorf("logged %.100q", logged.String())
			}
		})
	}
}

// A hijacked connection can be closed for writing, as one of gallop's server.
func TestToHTTPHijackCloseWrite(t *testing.T) {
	p := dial(t, startNetHTTP(t, nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			if w, ok := c.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil {
				t.Errorf("%T has not been closed for writing", c)
			}
			io.Copy(io.Discard, c)
		})
	})))
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	p.expectEnd()
}

// A hijack handler that panics ends its connection only, as with gallop's server.
func TestToHTTPHijackPanics(t *testing.T) {
	p := dial(t, startNetHTTP(t, nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(net.Conn) { panic("no") })
	})))
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	p.expectEnd()
}

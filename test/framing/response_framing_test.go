package framing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Every way to answer with what belongs to the request, under buffers that are
// overwritten when their time is over.
func TestResponsesMadeOfTheRequest(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		ways := map[string]gallop.RequestHandler{
			"SetBody":         func(ctx *gallop.RequestCtx) { ctx.SetBody(ctx.PostBody()) },
			"SetBodyRaw":      func(ctx *gallop.RequestCtx) { ctx.Response.SetBodyRaw(ctx.PostBody()) },
			"raw, then owned": func(ctx *gallop.RequestCtx) { ctx.Response.SetBodyRaw(ctx.PostBody()); ctx.Response.AppendBody(nil) },
			"SwapBody":        func(ctx *gallop.RequestCtx) { ctx.Response.SwapBody(ctx.Request.SwapBody(nil)) },
			"SwapBody, raw":   func(ctx *gallop.RequestCtx) { ctx.Response.SetBodyRaw(ctx.Request.SwapBody([]byte("x"))) },
			"reader of bytes": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(bytes.NewReader(ctx.PostBody()), -1) },
			"reader, sized": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(bytes.NewReader(ctx.PostBody()), len(ctx.PostBody()))
			},
			"stream writer": func(ctx *gallop.RequestCtx) {
				b := ctx.PostBody()
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(b) })
			},
			"its stream": func(ctx *gallop.RequestCtx) {
				if r := ctx.RequestBodyStream(); r != nil {
					ctx.SetBodyStream(r, -1)
				} else {
					ctx.SetBody(ctx.PostBody())
				}
			},
			"half of its stream": func(ctx *gallop.RequestCtx) {
				r := ctx.RequestBodyStream()
				if r == nil {
					r = bytes.NewReader(ctx.PostBody())
				}
				first := make([]byte, 3)
				io.ReadFull(r, first)
				ctx.SetBodyStream(io.MultiReader(bytes.NewReader(first), r), -1)
			},
			"a copy": func(ctx *gallop.RequestCtx) {
				var r gallop.Request
				ctx.PostBody()
				ctx.Request.CopyTo(&r)
				ctx.SetBody(r.Body())
			},
			"TimeoutError": func(ctx *gallop.RequestCtx) { ctx.TimeoutErrorWithCode(string(ctx.PostBody()), 200) },
		}
		bodies := []string{"12345", strings.Repeat("ab", 3000), strings.Repeat("xyz", 20000)}
		for name, handle := range ways {
			for _, stream := range []bool{false, true} {
				for _, readBuf := range []int{1, 0, 1 << 21} {
					s := &gallop.Server{PoisonReleased: true, StreamRequestBody: stream, ReadBufferSize: readBuf, WriteBufferSize: readBuf, MaxHeaderBytes: 64 << 10}
					s.Logger = servertest.Quiet
					s.Handler = func(ctx *gallop.RequestCtx) {
						handle(ctx)
						ctx.Response.Header.SetBytesV("X-Tag", ctx.Request.Header.Peek("X-Tag"))
						ctx.Response.Header.SetBytesKV([]byte("X-Path"), ctx.Path())
					}
					release := on.HoldNew(s)
					for i, body := range bodies {
						what := fmt.Sprintf("%s, stream %v, buffer %d, body %d", name, stream, readBuf, i)
						var wire string
						for j, framing := range []string{"Content-Length", "one chunk", "chunks"} {
							wire += fmt.Sprintf("POST /%d HTTP/1.1\r\nHost: a\r\nX-Tag: tag%d\r\n", j, j) + framed(framing, body)
						}
						wantEchoes(t, on, s, what, wire, body, name == "TimeoutError")
					}
					release()
				}
			}
		}
	})
}

func framed(framing, body string) string {
	switch framing {
	case "Content-Length":
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	case "one chunk":
		return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	half := len(body) / 2
	return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, body[:half], len(body)-half, body[half:])
}

func wantEchoes(t *testing.T, on servertest.Transport, s *gallop.Server, what, wire, body string, once bool) {
	t.Helper()
	out, err := wiretest.Converse(on.Serve(s), []byte(wire))
	if err != nil && !once {
		t.Errorf("%s: %v", what, err)
		return
	}
	for j := range 3 {
		r, n, err := wiretest.Parse(out, "POST", true)
		if err != nil || r.Status != 200 || string(r.Body) != body {
			t.Errorf("%s, request %d: %v, %.100q", what, j, err, out)
			return
		}
		if once {
			return
		}
		if out = out[n:]; r.Get("X-Tag") != fmt.Sprintf("tag%d", j) || r.Get("X-Path") != fmt.Sprintf("/%d", j) {
			t.Errorf("%s, request %d: %q", what, j, r.Fields)
		}
	}
}

// Whatever handler and client say, each response ends where its client believes.
func TestFramingOfEveryResponse(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		contents := map[string]gallop.RequestHandler{
			"nothing":      func(*gallop.RequestCtx) {},
			"bytes":        func(ctx *gallop.RequestCtx) { ctx.SetBodyString("body") },
			"sized stream": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), 4) },
			"stream":       func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), -1) },
			"empty stream": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader(""), -1) },
			"writer": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Flush(); w.WriteString("bo"); w.Flush(); w.Flush(); w.WriteString("dy") })
			},
			"trailers": func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetTrailer("X-T")
				ctx.SetBodyStream(strings.NewReader("body"), -1)
				ctx.Response.Header.Set("X-T", "v")
			},
		}
		heads := map[string]gallop.RequestHandler{
			"":           func(*gallop.RequestCtx) {},
			"length 3":   func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetContentLength(3) },
			"length -2":  func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetContentLength(-2) },
			"chunked":    func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set("Transfer-Encoding", "chunked") },
			"keep-alive": func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set("Connection", "keep-alive") },
			"close":      func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set("Connection", "close") },
			"upgrade":    func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set("Connection", "Upgrade") },
			"HTTP/1.0":   func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetProtocol([]byte("HTTP/1.0")) },
			"SkipBody":   func(ctx *gallop.RequestCtx) { ctx.Response.SkipBody = true },
			"flush":      func(ctx *gallop.RequestCtx) { ctx.Response.ImmediateHeaderFlush = true },
			"interim":    func(ctx *gallop.RequestCtx) { ctx.WriteInterim(103) },
			"own Date, Server": func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.Set("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
				ctx.Response.Header.Set("Server", "y")
			},
			"length, then none": func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetContentLength(3)
				ctx.Response.Header.Del("Content-Length")
			},
		}
		requests := map[string]string{
			"GET 1.1":            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
			"HEAD 1.1":           "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
			"GET 1.0":            "GET / HTTP/1.0\r\n\r\n",
			"GET 1.0 keep-alive": "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			"HEAD 1.0":           "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			"OPTIONS *":          "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
			"CONNECT":            "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
		}
		var handle atomic.Pointer[gallop.RequestHandler] // of the request that is sent
		s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/next" {
				ctx.SetBodyString("next")
				return
			}
			(*handle.Load())(ctx)
		}}
		defer on.HoldNew(s)()
		for contentName, content := range contents {
			for headName, head := range heads {
				for requestName, request := range requests {
					for _, status := range []int{0, 100, 101, 200, 204, 205, 206, 304, 404, 999, 1000, -1} {
						what := fmt.Sprintf("%s, %s, %s, %d", contentName, headName, requestName, status)
						h := gallop.RequestHandler(func(ctx *gallop.RequestCtx) {
							ctx.SetStatusCode(status)
							content(ctx)
							head(ctx)
						})
						handle.Store(&h)
						wantTwo(t, on, s, what, request)
					}
				}
			}
		}
	})
}

// wantTwo wants a response to request and one to a request behind it, or only the first
// if that says that the connection ends.
func wantTwo(t *testing.T, on servertest.Transport, s *gallop.Server, what, request string) {
	t.Helper()
	out, err := wiretest.Converse(on.Serve(s), []byte(request+wiretest.Get("/next")))
	if len(out) == 0 {
		t.Errorf("%s: no answer, %v", what, err)
		return
	}
	method, _, _ := strings.Cut(request, " ")
	old := strings.Contains(request, "HTTP/1.0")
	r, n, err := wiretest.Parse(out, method, true)
	for err == nil && r.Interim() {
		out = out[n:]
		r, n, err = wiretest.Parse(out, method, true)
	}
	if err != nil {
		// A stream that does not fit the length that was announced for it breaks off.
		if !strings.Contains(what, "length 3") {
			t.Errorf("%s: %v: %q", what, err, out)
		}
		return
	}
	if old && (len(r.Values("Transfer-Encoding")) > 0 || len(r.Trailers) > 0) {
		t.Errorf("%s: chunks for HTTP/1.0: %q", what, out)
	}
	rest := out[n:]
	if strings.EqualFold(r.Get("Connection"), "close") || strings.HasPrefix(r.Get("Connection"), "close,") {
		if len(rest) > 0 {
			t.Errorf("%s: %q behind the end", what, rest)
		}
		return
	}
	if old && r.Get("Connection") == "" {
		if len(rest) > 0 {
			t.Errorf("%s: a connection of HTTP/1.0 stays open: %q", what, out)
		}
		return
	}
	if next, _, err := wiretest.Parse(rest, "GET", true); err != nil || string(next.Body) != "next" {
		t.Errorf("%s: %v: %q", what, err, out)
	}
}

// A tunnel, and a connection that speaks another protocol, are not told that they end.
func TestHijackResponses(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, tt := range []struct {
			request string
			status  int
			want    string
		}{
			{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 101, "Upgrade"},
			{"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 200, ""},
		} {
			s := &gallop.Server{MaxRequestsPerConn: 1, Handler: func(ctx *gallop.RequestCtx) {
				ctx.SetStatusCode(tt.status)
				if tt.status == 101 {
					ctx.Response.Header.Set("Connection", "Upgrade")
					ctx.Response.Header.Set("Upgrade", "x")
				}
				ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
			}}
			out, err := wiretest.Converse(on.Serve(s), []byte(tt.request+"ping"))
			head, rest, _ := strings.Cut(string(out), "\r\n\r\n")
			if err != nil || rest != "ping" || strings.Contains(head, "close") || tt.want != "" && !strings.Contains(head, "Connection: "+tt.want) {
				t.Errorf("%q, %v", out, err)
			}
		}
	})
}

func TestHugeHeads(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Logger: servertest.Quiet, MaxHeaderBytes: 8 << 20, MaxRequestLineBytes: 4 << 20, PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			fmt.Fprintf(ctx, "%d %d", len(ctx.RequestURI()), len(ctx.Request.Header.Peek("X-Long")))
		}}
		c := wiretest.Start(t, on.Serve(s))
		c.Patience = time.Minute // the race detector takes seconds for these heads
		for range 2 {
			c.Send("GET /"+strings.Repeat("a", 3<<20)+" HTTP/1.1\r\nHost: a\r\nX-Long: ", strings.Repeat("b", 2<<20)+"\r\n\r\n").Want(200)
			c.WantBody(fmt.Sprint(3<<20+1, " ", 2<<20))
		}
		c.Send("GET / HTTP/1.1\r\nHost: a\r\n" + "X-Long" + strings.Repeat("z", 1<<16) + ": 1\r\n\r\n").Next("GET")
	})
}

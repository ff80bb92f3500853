package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests are about responses that a handler writes while it runs, byte by byte.
func TestStreamResponse(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		plain := func(ctx *gallop.RequestCtx) *gallop.ResponseStream {
			ctx.SetContentType("a/b")
			s, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
			}
			return s
		}
		const get, old, head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"
		for _, tc := range []struct {
			name, request string
			handle        gallop.RequestHandler
			want          string
		}{
			{"in chunks", get, func(ctx *gallop.RequestCtx) {
				s := plain(ctx)
				s.WriteString("one ")
				s.WriteString("two")
				s.Flush()
				s.WriteString("three")
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n7\r\none two\r\n5\r\nthree\r\n0\r\n\r\n"},
			{"what was there comes first", get, func(ctx *gallop.RequestCtx) {
				ctx.WriteString("first ")
				plain(ctx).WriteString("then")
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\na\r\nfirst then\r\n0\r\n\r\n"},
			{"of known length", get, func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetContentLength(3)
				s := plain(ctx)
				if _, err := s.WriteString("four"); err == nil {
					t.Error("more was written than announced")
				}
				s.ReadFrom(strings.NewReader("abc"))
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\nabc"},
			{"shorter than announced", get, func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetContentLength(3)
				plain(ctx).WriteString("a")
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\na"},
			{"to an old client", old, func(ctx *gallop.RequestCtx) { plain(ctx).WriteString("a") },
				"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nConnection: close\r\n\r\na"},
			{"to HEAD", head, func(ctx *gallop.RequestCtx) { plain(ctx).WriteString("a") },
				"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"},
			{"in a 205", get, func(ctx *gallop.RequestCtx) {
				ctx.SetStatusCode(gallop.StatusResetContent)
				plain(ctx).WriteString("a")
			}, "HTTP/1.1 205 Reset Content\r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n"},
			{"trailers", get, func(ctx *gallop.RequestCtx) {
				plain(ctx).WriteString("a")
				ctx.Response.Header.AddTrailer("X-Sum")
				ctx.Response.Header.Add("X-Sum", "1")
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"},
			{"a panic ends it", get, func(ctx *gallop.RequestCtx) {
				plain(ctx).WriteString("a")
				panic("on purpose")
			}, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"},
			{"with a status that is not final", get, func(ctx *gallop.RequestCtx) {
				ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
				s := plain(ctx)
				s.WriteString("a")
				s.ReadFrom(strings.NewReader("bc"))
			}, "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\nConnection: close\r\n\r\nInternal Server Error"},
			{"to CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", func(ctx *gallop.RequestCtx) {
				plain(ctx).WriteString("a")
			}, "HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 15\r\nConnection: close\r\n\r\nNot Implemented"},
			{"aborted before it began", get, func(ctx *gallop.RequestCtx) { panic(gallop.ErrAbortHandler) }, ""},
			{"timed out when it had begun", get, gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
				s := plain(ctx)
				s.WriteString("a")
				s.Flush()
				<-ctx.Done()
				if _, err := s.WriteString("b"); err == nil {
					t.Error("written to a response that is over")
				}
			}, 20*time.Millisecond, "late"), "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"},
			{"hijacked at once", get, func(ctx *gallop.RequestCtx) {
				ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
				ctx.Response.Header.Set("Connection", "upgrade")
				c, err := ctx.HijackConn()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := ctx.StreamResponse(); err == nil {
					t.Error("a response on a connection that was taken")
				}
				go func() {
					defer c.Close()
					io.WriteString(c, "raw")
				}()
			}, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\r\nraw"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &gallop.Server{Handler: tc.handle, NoDefaultDate: true, NoDefaultServerHeader: true, Logger: servertest.Quiet}
					defer s.Close()
					ln := on.Listen(s)
					go s.Serve(ln)
					c, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					io.WriteString(c, tc.request)
					if !strings.HasPrefix(tc.name, "timed out") { // a client that has gone is another thing
						c.(interface{ CloseWrite() error }).CloseWrite()
					}
					if got, err := io.ReadAll(c); string(got) != tc.want || err != nil {
						t.Errorf("got  %q, %v\nwant %q", got, err, tc.want)
					}
				})
			})
		}
	})
}

// A context without a server has nothing to stream to.
func TestStreamResponseUnserved(t *testing.T) {
	var ctx gallop.RequestCtx
	ctx.Init(nil, nil, nil)
	if _, err := ctx.StreamResponse(); err == nil {
		t.Error("a stream to nowhere")
	}
	if _, err := ctx.HijackConn(); err == nil {
		t.Error("a connection from nowhere")
	}
}

// Behind a 101 a client's streamed body is the connection, until it is closed.
func TestClientUpgrade(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
	}}
	go s.Serve(ln)
	defer s.Close()
	hc := &gallop.HostClient{Addr: "h", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI("http://h/")
	req.Header.Set("Connection", "upgrade")
	req.Header.Set("Upgrade", "echo")
	resp.StreamBody = true
	if err := hc.Do(req, resp); err != nil {
		t.Fatal(err)
	}
	rw, ok := resp.BodyStream().(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body is %T", resp.BodyStream())
	}
	io.WriteString(rw, "hello\n")
	if line, err := bufio.NewReader(rw).ReadString('\n'); line != "hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if n := hc.ConnsCount(); n != 1 {
		t.Errorf("%d connections before Close, want 1", n)
	}
	rw.Close()
	rw.Close()
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections behind Close, want 0", n)
	}
}

// The end of a large chunk may wait in the kernel for what comes next, and leaves with Flush.
func TestFlushSendsTheEndOfLargeChunks(t *testing.T) {
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 5000) // no multiple of what a packet holds
	read := make(chan bool)
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			stream, err := ctx.StreamResponse()
			for range 20 {
				if err == nil {
					_, err = stream.Write(chunk)
				}
				if err == nil {
					err = stream.Flush()
				}
				<-read
			}
			if err != nil {
				t.Error(err)
			}
		}}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(ln)
		defer s.Shutdown()
		took := time.Hour
		for try := 0; try < 4 && took > 2*time.Second; try++ { // the machine may be slow itself
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest("GET", "http://"+ln.Addr().String(), nil))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			begun := time.Now()
			for range 20 {
				got := make([]byte, len(chunk))
				if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, chunk) {
					t.Fatal("the chunk is another one: ", err)
				}
				read <- true
			}
			took = min(took, time.Since(begun))
		}
		if took > 2*time.Second { // 200 ms each, if the end were held back
			t.Errorf("20 flushed chunks took %v", took)
		}
	})
}

// Another server says by InitStream how a response is streamed.
func TestInitStream(t *testing.T) {
	failed := errors.New("no")
	for name, test := range map[string]struct {
		before func(ctx *gallop.RequestCtx)
		err    error
		ok     bool
	}{
		"streams":  {nil, nil, true},
		"fails":    {nil, failed, false},
		"a stream": {func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("x"), 1) }, nil, false},
		"hijacked": {func(ctx *gallop.RequestCtx) { ctx.InitHijack(); ctx.Hijack(func(net.Conn) {}) }, nil, false},
	} {
		var ctx gallop.RequestCtx
		ctx.Init(&gallop.Request{}, nil, nil)
		body := &flushBuffer{}
		ctx.InitStream(func() (gallop.FlushWriter, error) { return body, test.err })
		if test.before != nil {
			test.before(&ctx)
		}
		s, err := ctx.StreamResponse()
		if (err == nil) != test.ok || test.err != nil && err != test.err || test.ok != ctx.Streaming() {
			t.Errorf("%s: %v, streaming %v", name, err, ctx.Streaming())
		}
		if !test.ok {
			continue
		}
		s.Write([]byte("a"))
		s.WriteString("b")
		s.ReadFrom(strings.NewReader("c"))
		if err := s.Flush(); err != nil || body.String() != "abc" || body.flushed != 1 {
			t.Errorf("%s: %v, %q, flushed %d times", name, err, body, body.flushed)
		}
		ctx.Init(&gallop.Request{}, nil, nil)
		if _, err := ctx.StreamResponse(); err == nil || ctx.Streaming() {
			t.Errorf("%s: InitStream holds for the next request: %v", name, err)
		}
	}
}

type flushBuffer struct {
	bytes.Buffer
	flushed int
}

func (b *flushBuffer) Flush() error { b.flushed++; return nil }

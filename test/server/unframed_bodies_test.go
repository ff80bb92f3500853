package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// failingReader yields text and then fails.
type failingReader struct{ text io.Reader }

func (r failingReader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	if err == io.EOF {
		err = errors.New("on purpose")
	}
	return n, err
}

// A body that ends with its connection, which HTTP/1.0 clients get for what has no length,
// is taken for whole if the connection ends in order. So one that is cut off ends with a
// reset, over TLS without close_notify.
func TestUnframedBodiesEndWithAResetWhenCutOff(t *testing.T) {
	t.Parallel()
	const old, identity = "GET / HTTP/1.0\r\n\r\n", "GET /identity HTTP/1.1\r\nHost: h\r\n\r\n"
	begin := func(ctx *gallop.RequestCtx) *gallop.ResponseStream {
		if string(ctx.Path()) == "/identity" {
			ctx.Response.Header.SetContentLength(-2)
		}
		s, err := ctx.StreamResponse()
		if err != nil {
			t.Error(err)
		}
		s.WriteString("part")
		s.Flush()
		return s
	}
	var limit atomic.Int64 // of the handler that times out
	limit.Store(int64(10 * time.Millisecond))
	for name, tt := range map[string]struct {
		request string
		handle  func(s *gallop.Server, ctx *gallop.RequestCtx)
		whole   bool
	}{
		"whole":           {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx) }, true},
		"whole, identity": {identity, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx) }, true},
		"whole, a reader": {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("part"), -1) }, true},
		"panic":           {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx); panic("on purpose") }, false},
		"panic, identity": {identity, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx); panic("on purpose") }, false},
		"ErrAbortHandler": {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx); panic(gallop.ErrAbortHandler) }, false},
		"Goexit":          {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) { begin(ctx); runtime.Goexit() }, false},
		"a failing reader": {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) {
			ctx.SetBodyStream(failingReader{strings.NewReader(strings.Repeat("part", 9000))}, -1)
		}, false},
		"a writer panics": {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("part"); w.Flush(); panic("on purpose") })
		}, false},
		"timed out": {old, func(_ *gallop.Server, ctx *gallop.RequestCtx) {
			gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
				if s, err := ctx.StreamResponse(); err == nil {
					s.WriteString("part")
					s.Flush()
				}
				<-ctx.Done()
			}, time.Duration(limit.Load()), "late")(ctx)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				for _, secure := range []bool{false, true} {
					s := &gallop.Server{Engine: over, Logger: servertest.Quiet}
					s.Handler = func(ctx *gallop.RequestCtx) { tt.handle(s, ctx) }
					ask := func() ([]byte, error) {
						c := dialServer(t, s, secure)
						io.WriteString(c, tt.request)
						return io.ReadAll(c)
					}
					got, err := ask()
					for name == "timed out" && !strings.Contains(string(got), "part") && limit.Load() < int64(30*time.Second) {
						limit.Store(5 * limit.Load()) // the machine was too slow to begin a response within the limit
						got, err = ask()
					}
					if !strings.Contains(string(got), "\r\n\r\npart") {
						t.Errorf("TLS %v: got %q", secure, got)
					}
					if (err == nil) != tt.whole {
						t.Errorf("TLS %v: the connection ended with %v", secure, err)
					}
				}
			})
		})
	}
}

// dialServer serves s, over TLS if secure, and returns a connection to it.
func dialServer(t *testing.T, s *gallop.Server, secure bool) net.Conn {
	t.Helper()
	if !secure {
		return dialTCP(t, listen(t, s, s.Serve))
	}
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	return tls.Client(dialTCP(t, addr), &tls.Config{InsecureSkipVerify: true})
}

// A connection that a handler takes behind such a body ends as its owner wants.
func TestUnframedBodyBeforeHijackEndsInOrder(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		c := dialServer(t, &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
			s, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
			}
			s.WriteString("part")
			taken, err := ctx.HijackConn()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(taken, "whole")
			taken.Close()
		}}, false)
		io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		if got, err := io.ReadAll(c); !strings.HasSuffix(string(got), "partwhole") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// stubborn is a listener that is closed by a function and does not notice otherwise. Values
// of this type cannot be compared.
type stubborn struct {
	net.Listener
	close  func() error
	closed *atomic.Int32
	_      []string
}

func (ln stubborn) Close() error {
	ln.closed.Add(1)
	return ln.close()
}

// Shutdown and Close return although a listener does not end, and report errors of Close.
func TestShutdownWithStubbornListeners(t *testing.T) {
	errClose := errors.New("close failed on purpose")
	for _, tt := range []struct {
		name  string
		close func(ln net.Listener, end chan struct{}) error
		ends  bool
		want  error
	}{
		{"Close fails", func(net.Listener, chan struct{}) error { return errClose }, false, errClose},
		{"Close blocks", func(_ net.Listener, end chan struct{}) error { <-end; return nil }, false, nil},
		{"Accept does not notice", func(net.Listener, chan struct{}) error { return nil }, false, nil},
		{"Close fails and ends Accept", func(ln net.Listener, _ chan struct{}) error { ln.Close(); return errClose }, true, errClose},
		{"closed before", func(ln net.Listener, _ chan struct{}) error { ln.Close(); return net.ErrClosed }, true, nil},
	} {
		for _, end := range []string{"ShutdownWithContext", "Close"} {
			t.Run(tt.name+"/"+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					below, release := memnet.NewListener(), make(chan struct{})
					ln := stubborn{Listener: below, closed: new(atomic.Int32)}
					ln.close = func() error { return tt.close(below, release) }
					s := &gallop.Server{Handler: servertest.Say, Logger: servertest.Quiet}
					served := make(chan error, 1)
					go func() { served <- s.Serve(ln) }()
					synctest.Wait()
					began := time.Now()
					var err error
					if end == "Close" {
						err = s.Close()
					} else {
						ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						defer cancel()
						if err = s.ShutdownWithContext(ctx); !tt.ends && !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%v does not tell that the context is over", err)
						}
					}
					if took := time.Since(began); took > time.Second || tt.ends && took > 0 {
						t.Errorf("returned after %v", took)
					}
					if errors.Is(err, errClose) != (tt.want != nil) || tt.ends && tt.want == nil && err != nil {
						t.Errorf("error %v", err)
					}
					close(release)
					below.Close()
					if err := <-served; err != nil {
						t.Error(err)
					}
					if n := ln.closed.Load(); n != 1 {
						t.Errorf("the listener was closed %d times", n)
					}
				})
			})
		}
	}
}

// blocking is a connection that does not close before release is closed.
type blocking struct {
	net.Conn
	release chan struct{}
}

func (c blocking) Close() error {
	<-c.release
	return c.Conn.Close()
}

// blockers is a listener of such connections.
type blockers struct {
	net.Listener
	release chan struct{}
}

func (ln blockers) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return blocking{c, ln.release}, nil
}

// Shutdown and Close return although connections of a program's own listener do not close.
func TestShutdownWithConnectionsThatDoNotClose(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		tls     bool
		request string // without one the connection is new
		limit   int    // Concurrency
	}{
		{name: "new"},
		{name: "idle", request: wiretest.Get("/")},
		{name: "closed by the server", request: wiretest.Get("/", "Connection: close")},
		{name: "in a handler", request: wiretest.Get("/wait")},
		{name: "turned away", limit: 1},
		{name: "in a TLS handshake", tls: true},
		{name: "idle, over TLS", tls: true, request: wiretest.Get("/")},
		{name: "closed by the server, over TLS", tls: true, request: wiretest.Get("/", "Connection: close")},
	} {
		for _, end := range []string{"ShutdownWithContext", "Close"} {
			t.Run(tt.name+"/"+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					below, release := memnet.NewListener(), make(chan struct{})
					s := &gallop.Server{Concurrency: tt.limit, Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
						if string(ctx.Path()) == "/wait" {
							time.Sleep(400 * time.Millisecond)
						}
					}}
					served := make(chan error, 1)
					ln := blockers{below, release}
					go func() {
						if tt.tls {
							served <- s.ServeTLSEmbed(ln, cert, key)
						} else {
							served <- s.Serve(ln)
						}
					}()
					for range 3 {
						c, err := below.Dial()
						if err != nil {
							t.Fatal(err)
						}
						defer c.Close()
						if tt.tls && tt.request != "" {
							c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
						}
						if tt.request != "" {
							go func() {
								_, _ = c.Write([]byte(tt.request))
								_, _ = c.Read(make([]byte, 1<<10))
							}()
						}
						synctest.Wait()
					}
					began := time.Now()
					if end == "Close" {
						if err := s.Close(); err != nil {
							t.Error(err)
						}
					} else {
						ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						defer cancel()
						if err := s.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%v does not tell that the context is over", err)
						}
					}
					limit := map[string]time.Duration{"Close": 2 * time.Second, "ShutdownWithContext": 400 * time.Millisecond}[end]
					if took := time.Since(began); took > limit {
						t.Errorf("returned after %v", took)
					}
					close(release)
					if err := <-served; err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute) // until handlers and turned away connections end
				})
			})
		}
	}
}

// Serve takes listeners that cannot be compared, and closes them once.
func TestServeTakesListenersOfAnyType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memnet.NewListener()
		ln := stubborn{Listener: below, closed: new(atomic.Int32), close: below.Close}
		s := &gallop.Server{Handler: servertest.Say, Logger: servertest.Quiet}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		c, err := below.Dial()
		if err != nil {
			t.Fatal(err)
		}
		if got := firstLine(t, c, wiretest.Get("/", "Connection: close")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		c.Close()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil || ln.closed.Load() != 1 {
			t.Errorf("%v, closed %d times", err, ln.closed.Load())
		}
	})
}

// Serve takes listeners that cannot be compared over TCP, too, on each transport.
func TestServeTakesListenersOfAnyTypeOverTCP(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		below, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln := stubborn{Listener: below, closed: new(atomic.Int32), close: below.Close}
		s := &gallop.Server{Engine: over, Handler: servertest.Say, Logger: servertest.Quiet}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		c := dialTCP(t, below.Addr().String())
		defer c.Close()
		if got := firstLine(t, c, wiretest.Get("/", "Connection: close")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil || ln.closed.Load() != 1 {
			t.Errorf("%v, closed %d times", err, ln.closed.Load())
		}
	})
}

// Shutdown does not wait for clients that never say hello.
func TestShutdownDoesNotWaitForHandshakes(t *testing.T) {
	t.Parallel()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		t.Parallel()
		s := &gallop.Server{Engine: over, Handler: servertest.Say, Logger: servertest.Quiet}
		addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
		for range 100 {
			defer dialTCP(t, addr).Close()
		}
		c := tls.Client(dialTCP(t, addr), &tls.Config{InsecureSkipVerify: true})
		defer c.Close()
		if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		began := time.Now()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 5*time.Second { // handshakes may take 10 s
			t.Errorf("Shutdown took %v", took)
		}
	})
}

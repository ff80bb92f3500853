package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// localListener listens on a port of its own.
func localListener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// An empty set of protocols is an error of every method that serves.
func TestServedProtocols(t *testing.T) {
	t.Parallel()
	var only1, with2, without1, none, plain2 gallop.Protocols
	only1.SetHTTP1(true)
	with2.SetHTTP1(true)
	with2.SetHTTP2(true)
	without1.SetHTTP2(true)
	plain2.SetHTTP1(true)
	plain2.SetUnencryptedHTTP2(true)
	for _, tt := range []struct {
		name    string
		set     *gallop.Protocols
		refused bool
	}{
		{"nil", nil, false},
		{"HTTP/1", &only1, false},
		{"with HTTP/2", &with2, false},
		{"with HTTP/2 without TLS", &plain2, false},
		{"without HTTP/1", &without1, false},
		{"empty", &none, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			cert, key, _ := certificate(t, dir)
			certData, keyData, err := gallop.GenerateTestCertificate("localhost")
			if err != nil {
				t.Fatal(err)
			}
			for name, serve := range map[string]func(s *gallop.Server) error{
				"Serve":             func(s *gallop.Server) error { return s.Serve(localListener(t)) },
				"ServeTLS":          func(s *gallop.Server) error { return s.ServeTLS(localListener(t), cert, key) },
				"ServeTLSEmbed":     func(s *gallop.Server) error { return s.ServeTLSEmbed(localListener(t), certData, keyData) },
				"ListenAndServe":    func(s *gallop.Server) error { return s.ListenAndServe("127.0.0.1:0") },
				"ListenAndServeTLS": func(s *gallop.Server) error { return s.ListenAndServeTLS("127.0.0.1:0", cert, key) },
				"ListenAndServeTLSEmbed": func(s *gallop.Server) error {
					return s.ListenAndServeTLSEmbed("127.0.0.1:0", certData, keyData)
				},
				"ListenAndServeUNIX": func(s *gallop.Server) error {
					return s.ListenAndServeUNIX(filepath.Join(dir, "s"), 0o600)
				},
				"Run": func(s *gallop.Server) error { return s.Run(context.Background(), localListener(t)) },
				"RunTLS": func(s *gallop.Server) error {
					return s.RunTLS(context.Background(), localListener(t), cert, key)
				},
				"ServeConn": func(s *gallop.Server) error {
					ours, theirs := net.Pipe()
					theirs.Close()
					return s.ServeConn(ours)
				},
			} {
				s := &gallop.Server{Handler: servertest.Say, Protocols: tt.set, HTTP2: &gallop.HTTP2Config{}, Logger: servertest.Quiet}
				s.OnListen = func(net.Listener) {
					if tt.refused {
						t.Errorf("%s: serves", name)
					}
					go s.Close()
				}
				err := serve(s)
				if !tt.refused {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				if !errors.Is(err, gallop.ErrProtocols) || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), tt.set.String()) {
					t.Errorf("%s returns %v", name, err)
				}
			}
		})
	}
}

// A listener that is not served because of Protocols is closed all the same.
func TestUnsupportedProtocolsCloseTheListener(t *testing.T) {
	ln := localListener(t)
	s := &gallop.Server{Handler: servertest.Say, Protocols: &gallop.Protocols{}}
	if err := s.Serve(ln); !errors.Is(err, gallop.ErrProtocols) {
		t.Error(err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// Addrs are those of the listeners, also when the port was 0. OnListen is told when the server serves.
func TestAddrs(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		listening := make(chan net.Addr, 1)
		s := &gallop.Server{Engine: over, Handler: servertest.Say}
		s.OnListen = func(ln net.Listener) { listening <- ln.Addr() }
		if a := s.Addrs(); a != nil {
			t.Errorf("%v before anything is served", a)
		}
		ended := make(chan error, 4)
		var want []string
		for range 4 {
			go func() { ended <- s.ListenAndServe("127.0.0.1:0") }()
			addr := (<-listening).String()
			want = append(want, addr)
			if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
		}
		var got []string
		for _, a := range s.Addrs() {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got %v, want %v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for range 4 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if a := s.Addrs(); a != nil {
			t.Errorf("%v after Close", a)
		}
	})
}

// Run serves until its context ends, lets requests finish, and returns nil.
func TestRun(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for _, secure := range []bool{false, true} {
			begun, finish := make(chan struct{}), make(chan struct{})
			s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) { close(begun); <-finish }}
			ctx, cancel := context.WithCancel(context.Background())
			ln, ended := localListener(t), make(chan error, 1)
			cert, key, pool := certificate(t, t.TempDir())
			go func() {
				if secure {
					ended <- s.RunTLS(ctx, ln, cert, key)
				} else {
					ended <- s.Run(ctx, ln)
				}
			}()
			busy := dialTCP(t, ln.Addr().String())
			if secure {
				busy = tls.Client(busy, &tls.Config{RootCAs: pool, ServerName: "localhost"})
			}
			io.WriteString(busy, wiretest.Get("/"))
			<-begun
			cancel()
			select {
			case err := <-ended:
				t.Errorf("returned %v while a request was in flight", err)
			case <-time.After(50 * time.Millisecond):
			}
			close(finish)
			if b, err := io.ReadAll(busy); err != nil || !strings.Contains(string(b), "200 OK") {
				t.Errorf("%q, %v", b, err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// Requests that are still in flight after ShutdownTimeout are cut off.
func TestRunWithShutdownTimeout(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		begun, finish := make(chan struct{}), make(chan struct{})
		defer close(finish)
		s := &gallop.Server{Engine: over, ShutdownTimeout: 50 * time.Millisecond,
			Handler: func(ctx *gallop.RequestCtx) { close(begun); <-finish }}
		ctx, cancel := context.WithCancel(context.Background())
		ln, ended := localListener(t), make(chan error, 1)
		go func() { ended <- s.Run(ctx, ln) }()
		c := dialTCP(t, ln.Addr().String())
		io.WriteString(c, wiretest.Get("/"))
		<-begun
		cancel()
		if err := <-ended; err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// Without the end of its context, Run returns what Serve does, and shuts nothing else down.
func TestRunWhenTheListenerFails(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, Handler: servertest.Say}
		addr := listen(t, s, s.Serve)
		if err := s.Run(context.Background(), failingListener{localListener(t)}); err != errOnPurpose {
			t.Error(err)
		}
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
	})
}

// With a context that has ended, Run closes the listener and returns.
func TestRunWithAnEndedContext(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		ln := localListener(t)
		if err := (&gallop.Server{Engine: over, Handler: servertest.Say}).Run(ctx, ln); err != nil {
			t.Error(err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

var errOnPurpose = errors.New("on purpose")

type failingListener struct{ net.Listener }

func (failingListener) Accept() (net.Conn, error) { return nil, errOnPurpose }

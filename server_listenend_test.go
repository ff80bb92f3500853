package gallop_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// finite is a listener that comes to its end.
type finite struct{ net.Listener }

func (ln finite) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		err = errors.Join(io.EOF, err)
	}
	return c, err
}

// textual is a listener that says only in words that it is closed.
type textual struct{ net.Listener }

func (ln textual) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		err = errors.New("textual: use of closed network connection")
	}
	return c, err
}

// Serve returns nil after the program has closed its listener.
func TestServeReturnsNilForClosedListeners(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	overTLS := func(s *gallop.Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) }
	for _, tt := range []struct {
		name  string
		serve func(*gallop.Server, net.Listener) error
		wrap  func(net.Listener) net.Listener
	}{
		{name: "as it is", serve: (*gallop.Server).Serve},
		{name: "ServeTLS", serve: overTLS},
		{name: "of crypto/tls", serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return tls.NewListener(ln, &tls.Config{}) }},
		{name: "finite", serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return finite{ln} }},
		{name: "textual", serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return textual{ln} }},
	} {
		for network, ln := range listeners(t) {
			t.Run(tt.name+"/"+network, func(t *testing.T) {
				onSockets(t, func(t *testing.T, over gallop.EngineType) {
					ln := ln(t)
					if tt.wrap != nil {
						ln = tt.wrap(ln)
					}
					s := &gallop.Server{Engine: over, Handler: say, Logger: quiet}
					served := make(chan error, 1)
					go func() { served <- tt.serve(s, ln) }()
					_ = ln.Close() // before or while it is served
					if err := <-served; err != nil {
						t.Error(err)
					}
					if err := s.Shutdown(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// listeners returns how to listen on each network.
func listeners(t *testing.T) map[string]func(*testing.T) net.Listener {
	of := func(network, addr string) func(*testing.T) net.Listener {
		return func(t *testing.T) net.Listener {
			ln, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			return ln
		}
	}
	return map[string]func(*testing.T) net.Listener{
		"memory": func(*testing.T) net.Listener { return memnet.NewListener() },
		"tcp":    of("tcp", "127.0.0.1:0"),
		"unix":   of("unix", filepath.Join(t.TempDir(), "socket")),
	}
}

// Who shuts a server down while it begins to serve gets no error, from either.
func TestShutdownWhileItBeginsToServe(t *testing.T) {
	onSockets(t, func(t *testing.T, over gallop.EngineType) {
		for range 50 {
			ln := listeners(t)["tcp"](t)
			s := &gallop.Server{Engine: over, Handler: say, Logger: quiet}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-served; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// patient is a listener that takes no timeout for an answer, as some do that go around others.
type patient struct{ *net.TCPListener }

func (ln patient) Accept() (net.Conn, error) {
	for {
		c, err := ln.TCPListener.Accept()
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
		time.Sleep(time.Millisecond)
	}
}

// Shutdown does not wait without an end for a listener to notice that its time is over.
func TestShutdownOfAListenerThatIsPatient(t *testing.T) {
	s := &gallop.Server{Handler: say, Logger: quiet}
	ln := patient{listeners(t)["tcp"](t).(*net.TCPListener)}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	if got := firstLine(t, dialTCP(t, ln.Addr().String()), wiretest.Get("/", "Connection: close")); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	hangs := time.AfterFunc(20*time.Second, func() {
		t.Error("Shutdown still waits")
		ln.Close()
	})
	defer hangs.Stop()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

package server_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
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

// servedWay is a way to serve a listener.
type servedWay struct {
	name  string
	tls   bool
	serve func(*gallop.Server, net.Listener) error
	wrap  func(net.Listener) net.Listener // nil if the listener is served as it is
}

func servedWays(t *testing.T) []servedWay {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	secured := &tls.Config{Certificates: []tls.Certificate{pair}}
	overTLS := func(s *gallop.Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) }
	return []servedWay{
		{name: "as it is", serve: (*gallop.Server).Serve},
		{name: "ServeTLS", tls: true, serve: overTLS},
		{name: "of crypto/tls", tls: true, serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return tls.NewListener(ln, secured) }},
		{name: "finite", serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return finite{ln} }},
		{name: "textual", serve: (*gallop.Server).Serve, wrap: func(ln net.Listener) net.Listener { return textual{ln} }},
	}
}

// dialNetwork connects to a listener of any of the networks of listeners.
func dialNetwork(ln net.Listener) (net.Conn, error) {
	if memory, ok := ln.(interface{ Dial() (net.Conn, error) }); ok {
		return memory.Dial()
	}
	return net.Dial(ln.Addr().Network(), ln.Addr().String())
}

// Serve notices at once that its listener was closed, though nothing tells loops.
func TestServeEndsAtOnceWhenItsListenerIsClosed(t *testing.T) {
	for _, tt := range servedWays(t) {
		for network, listen := range listeners(t) {
			t.Run(tt.name+"/"+network, func(t *testing.T) {
				servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
					var took []time.Duration
					for len(took) < 7 || len(took) < 70 && took[len(took)/2] > 25*time.Millisecond { // the machine may be slow itself
						ln := listen(t)
						served := ln
						if tt.wrap != nil {
							served = tt.wrap(ln)
						}
						s := &gallop.Server{Engine: over, Handler: servertest.Say, Logger: servertest.Quiet}
						ended := make(chan error, 1)
						go func() { ended <- tt.serve(s, served) }()
						c, err := dialNetwork(ln)
						if err != nil {
							t.Fatal(err)
						}
						if tt.tls {
							c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
						}
						if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
							t.Fatal(got)
						}
						start := time.Now()
						_ = served.Close()
						if err := <-ended; err != nil {
							t.Error(err)
						}
						took = append(took, time.Since(start))
						slices.Sort(took)
						_ = c.Close()
						_ = s.Close()
					}
					if took[len(took)/2] > 25*time.Millisecond {
						t.Errorf("it takes %v", took)
					}
				})
			})
		}
	}
}

// Serve returns nil after the program has closed its listener.
func TestServeReturnsNilForClosedListeners(t *testing.T) {
	for _, tt := range servedWays(t) {
		for network, ln := range listeners(t) {
			t.Run(tt.name+"/"+network, func(t *testing.T) {
				servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
					ln := ln(t)
					if tt.wrap != nil {
						ln = tt.wrap(ln)
					}
					s := &gallop.Server{Engine: over, Handler: servertest.Say, Logger: servertest.Quiet}
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

// If a server is shut down while it begins to serve, neither call returns an error.
func TestShutdownWhileItBeginsToServe(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for range 50 {
			ln := listeners(t)["tcp"](t)
			s := &gallop.Server{Engine: over, Handler: servertest.Say, Logger: servertest.Quiet}
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

// patient is a listener that ignores timeouts, as some wrappers of listeners do.
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
	t.Parallel()
	s := &gallop.Server{Handler: servertest.Say, Logger: servertest.Quiet}
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

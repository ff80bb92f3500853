package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// mistake is a mistake for which the server ends a connection.
type mistake struct {
	name  string
	proto string // of ALPN; empty: without TLS
	sends string
	gets  string // part of the last bytes
}

var mistakes = []mistake{
	{"HTTP1", "", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
	{"HTTP1TLS", "http/1.1", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
	{"HTTP2", "", pingOnStream, protocolError},
	{"HTTP2TLS", "h2", pingOnStream, protocolError},
}

const (
	pingOnStream  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x06\x00\x00\x00\x00\x0112345678"
	protocolError = "\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" // the end of GOAWAY
)

var lingerCert = sync.OnceValue(func() tls.Certificate {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		panic(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		panic(err)
	}
	return pair
})

// server returns a server for all protocols.
func (m *mistake) server() *gallop.Server {
	s := &gallop.Server{Logger: servertest.Quiet, Engine: gallop.EngineLoop, Handler: servertest.Say, Protocols: new(gallop.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	if m.proto != "" {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{lingerCert()}, NextProtos: []string{"h2", "http/1.1"}}
	}
	return s
}

// listen returns the address of s.
func (m *mistake) listen(t *testing.T, s *gallop.Server) string {
	if m.proto == "" {
		return listen(t, s, s.Serve)
	}
	return listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, "", "") })
}

// make makes the mistake on a connection, and reads to its end. It returns the connection as the client sees it.
func (m *mistake) make(t *testing.T, c net.Conn) net.Conn {
	t.Helper()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if m.proto != "" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{m.proto}})
	}
	io.WriteString(c, m.sends)
	if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got), m.gets) {
		t.Fatalf("%q, %v", got, err)
	}
	return c
}

// A client that got its last bytes and does not close its connection costs the loop no goroutine. It may go on sending without
// getting a reset.
func TestLingeringTakesNoGoroutine(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			const clients = 100
			s := m.server()
			addr := m.listen(t, s)
			m.make(t, dialTCP(t, addr)).Close()
			wiretest.Eventually(t, func() bool { return s.GetOpenConnectionsCount() == 0 })
			before := runtime.NumGoroutine()
			conns := make([]net.Conn, clients)
			for i := range conns {
				conns[i] = m.make(t, dialTCP(t, addr))
			}
			if n := runtime.NumGoroutine() - before; n > clients/2 {
				t.Errorf("%d goroutines more", n)
			}
			for _, c := range conns {
				io.WriteString(c, "more")
				c.Close()
			}
			wiretest.Eventually(t, func() bool { return s.GetOpenConnectionsCount() == 0 })
		})
	}
}

// How long a connection stays open behind its last bytes depends on what the client does.
func TestLingeringTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		does func(c net.Conn)
		open time.Duration // at least, and at most 0.2 s longer
	}{
		{"closes", func(c net.Conn) { c.Close() }, 0},
		{"closes later", func(c net.Conn) { time.Sleep(700 * time.Millisecond); c.Close() }, 700 * time.Millisecond},
		{"does nothing", func(net.Conn) {}, time.Second},
		{"sends for a while", func(c net.Conn) {
			for range 3 {
				time.Sleep(900 * time.Millisecond)
				io.WriteString(c, "x")
			}
		}, 3700 * time.Millisecond},
		{"sends a byte now and then", func(c net.Conn) {
			for range 20 {
				time.Sleep(500 * time.Millisecond)
				io.WriteString(c, "x")
			}
		}, 5 * time.Second},
	} {
		for _, m := range mistakes {
			t.Run(tt.name+"/"+m.name, func(t *testing.T) {
				servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
					synctest.Test(t, func(t *testing.T) {
						closed := make(chan time.Time, 1)
						s := m.server()
						s.ConnState = func(_ net.Conn, state gallop.ConnState) {
							if state == gallop.StateClosed {
								closed <- time.Now()
							}
						}
						client, server := wiretest.Pipe()
						go on.Serve(s)(server)
						c := m.make(t, client)
						c.SetDeadline(time.Time{})
						begun := time.Now()
						go tt.does(c)
						took := (<-closed).Sub(begun)
						if took < tt.open || took > tt.open+200*time.Millisecond {
							t.Errorf("the connection was open for %v, want %v", took, tt.open)
						}
						synctest.Wait()
						if n := s.GetOpenConnectionsCount(); n != 0 {
							t.Errorf("%d connections are open", n)
						}
						time.Sleep(20 * time.Second) // until the client has done all
					})
				})
			})
		}
	}
}

// Close ends connections that linger at once, and Shutdown when their time is over.
func TestLingeringEnds(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		for _, how := range []string{"Close", "Shutdown"} {
			t.Run(how+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				s := m.server()
				addr := m.listen(t, s)
				for range 10 {
					c := m.make(t, dialTCP(t, addr))
					if how == "Close" {
						go func() { // has the connection linger for 5 s
							for range 20 {
								time.Sleep(300 * time.Millisecond)
								io.WriteString(c, "x")
							}
						}()
					}
				}
				begun := time.Now()
				end := s.Close
				if how == "Shutdown" {
					end = s.Shutdown
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took > 4*time.Second {
					t.Errorf("took %v", took)
				}
				if n := s.GetOpenConnectionsCount(); n != 0 {
					t.Errorf("%d connections are open", n)
				}
			})
		}
	}
}

package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// largePost is a request with a body of 200 KB.
var largePost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 200_000)

// plainConn hides what a connection can do beyond net.Conn.
type plainConn struct{ net.Conn }

type plainConnListener struct{ net.Listener }

func (l plainConnListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return plainConn{c}, err
}

// A client that has sent a request before it is turned away reads all of the response.
func TestTurnedAwayClientsReadTheResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit func(s *gallop.Server)
		want  string
	}{
		"Concurrency":   {func(s *gallop.Server) { s.Concurrency = 1 }, "503 Service Unavailable"},
		"MaxConnsPerIP": {func(s *gallop.Server) { s.MaxConnsPerIP = 1 }, "429 Too Many Requests"},
	} {
		for way, listener := range map[string]func(net.Listener) net.Listener{
			"":           func(ln net.Listener) net.Listener { return ln },
			", embedded": func(ln net.Listener) net.Listener { return plainConnListener{ln} },
		} {
			t.Run(name+way, func(t *testing.T) {
				servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
					s := &gallop.Server{Engine: over, Handler: servertest.Say}
					tt.limit(s)
					addr := listen(t, s, func(ln net.Listener) error { return s.Serve(listener(ln)) })
					if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
						t.Fatal(got)
					}
					var clients sync.WaitGroup
					for range 10 { // times 10
						clients.Go(func() {
							for range 10 {
								err := retrySlow(time.Second, func() error { return turnedAway(addr, tt.want) })
								if err != nil {
									t.Error(err)
								}
							}
						})
					}
					clients.Wait()
				})
			})
		}
	}
}

// retrySlow calls f until it does not fail, or fails in less time than the server has patience for. On a busy machine, a client
// may be slower than that. After ten failures, retrySlow returns the last one.
func retrySlow(patience time.Duration, f func() error) (err error) {
	for range 10 {
		begun := time.Now()
		if err = f(); err == nil || time.Since(begun) < patience {
			return err
		}
	}
	return err
}

// turnedAway sends a large request and reads the response, which must have the status want.
func turnedAway(addr, want string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, largePost); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if resp.Status != want || string(body) != http.StatusText(resp.StatusCode) || !resp.Close || err != nil {
		return fmt.Errorf("%s, %q, %v", resp.Status, body, err)
	}
	return nil
}

// In memory, a client that does not close its connection is waited for, for a second.
func TestTurnedAwayClientsHaveASecond(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			s := &gallop.Server{Concurrency: 1, Logger: servertest.Quiet, Handler: func(*gallop.RequestCtx) { <-release }}
			ln := on.Listen(s)
			go s.Serve(ln)
			first, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(first, wiretest.Get("/"))
			synctest.Wait()
			second, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if got, err := io.ReadAll(second); !strings.HasPrefix(string(got), "HTTP/1.1 503 ") || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			for err = nil; err == nil; time.Sleep(10 * time.Millisecond) {
				_, err = io.WriteString(second, "x")
			}
			if took := time.Since(begin); took < 990*time.Millisecond || took > 1100*time.Millisecond {
				t.Errorf("closed after %v", took)
			}
			close(release)
			s.Close()
			first.Close()
			second.Close()
		})
	})
}

// Clients that stay are bounded in number: there is no goroutine for each of them.
func TestTurnedAwayClientsAreBounded(t *testing.T) {
	t.Parallel()
	const most, clients = 512, 600
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			s := &gallop.Server{Concurrency: 1, Logger: servertest.Quiet, Handler: func(*gallop.RequestCtx) { <-release }}
			ln := on.Listen(s)
			go s.Serve(ln)
			conns := make([]net.Conn, clients+1)
			for i := range conns {
				c, err := ln.Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				conns[i] = c
				if i == 0 {
					io.WriteString(c, wiretest.Get("/"))
				}
				synctest.Wait()
			}
			open := 0
			for _, c := range conns[1:] {
				if got, err := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 503 ") || err != nil {
					t.Fatalf("%q, %v", got, err)
				}
				if _, err := io.WriteString(c, "x"); err == nil {
					open++
				}
			}
			if open != most {
				t.Errorf("%d connections are waited for", open)
			}
			if n := s.GetOpenConnectionsCount(); n != 1 {
				t.Errorf("%d connections count", n)
			}
			close(release)
			s.Close() // waits for no client
		})
	})
}

// Over TLS a client is turned away without a handshake, as SECURITY.md says.
func TestTurnedAwayTLSClientsGetNoHandshake(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		cert, key, err := gallop.GenerateTestCertificate("localhost")
		if err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Engine: over, Handler: servertest.Say, Concurrency: 1}
		addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
		first := tls.Client(dialTCP(t, addr), &tls.Config{InsecureSkipVerify: true})
		if got := firstLine(t, first, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		second := dialTCP(t, addr)
		counted := &countedReads{Conn: second}
		if err := tls.Client(counted, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil || isDeadline(err) {
			t.Errorf("the handshake ended with %v", err)
		}
		if counted.n > 0 {
			t.Errorf("the client got %d bytes", counted.n)
		}
	})
}

// countedReads counts the bytes that were read.
type countedReads struct {
	net.Conn
	n int
}

func (c *countedReads) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n += n
	return n, err
}

// ServeConn returns when the client has read why it was turned away.
func TestTurnedAwayByServeConn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Handler: servertest.Say, MaxConnsPerIP: 1, Logger: servertest.Quiet}
	t.Cleanup(func() { s.Close(); ln.Close() })
	accept := func() net.Conn {
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
		}
		return c
	}
	first := dialTCP(t, ln.Addr().String())
	served := accept()
	go s.ServeConn(served)
	if got := firstLine(t, first, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	var client sync.WaitGroup
	client.Go(func() {
		if err := turnedAway(ln.Addr().String(), "429 Too Many Requests"); err != nil {
			t.Error(err)
		}
	})
	second := accept()
	if err := s.ServeConn(second); !errors.Is(err, gallop.ErrPerIPConnLimit) {
		t.Error(err)
	}
	client.Wait()
}

// net/http's client takes a response that comes before its request for a mistake. The server waits for the request for 100 ms.
func TestTurnedAwayClientsOfNetHTTP(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, Handler: servertest.Say, MaxConnsPerIP: 1}
		addr := listen(t, s, s.Serve)
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		for range 100 {
			err := retrySlow(100*time.Millisecond, func() error {
				resp, err := client.Post("http://"+addr+"/", "", strings.NewReader(largePost))
				if err != nil {
					return err
				}
				return readRefusal(resp, http.StatusTooManyRequests)
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

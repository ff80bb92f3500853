package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// overTCPAndTLS runs f in virtual time with a HostClient and the server of its connections, without TLS and with it.
func overTCPAndTLS(t *testing.T, f func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn)) {
	t.Helper()
	certPEM, keyPEM, err := gallop.GenerateTestCertificate("a.test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("TCP", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f(t, &gallop.HostClient{Addr: "a.test:80"}, func(nc net.Conn) net.Conn { return nc })
		})
	})
	t.Run("TLS", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f(t, &gallop.HostClient{Addr: "a.test:443", IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}},
				func(nc net.Conn) net.Conn { return tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{pair}}) })
		})
	})
}

// serveSlowly answers each request on the connection a second after it came.
func serveSlowly(nc net.Conn) {
	defer nc.Close()
	for r := bufio.NewReader(nc); ; {
		var req gallop.Request
		if req.Read(r) != nil {
			return
		}
		time.Sleep(time.Second)
		io.WriteString(nc, ok5)
	}
}

// No function that takes part in making a connection can hold up a call that has ended.
func TestClientDialThatIgnoresItsContext(t *testing.T) {
	late := errors.New("late")
	for name, setup := range map[string]func(c *gallop.HostClient){
		"DialContext": func(c *gallop.HostClient) {
			c.DialContext = func(context.Context, string, string) (net.Conn, error) { time.Sleep(time.Hour); return nil, late }
		},
		"DialContext that connects in the end": func(c *gallop.HostClient) {
			c.DialContext = func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Hour)
				nc, peer := memnet.Pipe()
				peer.Close()
				return nc, nil
			}
		},
		"Proxy": func(c *gallop.HostClient) {
			c.Proxy = func(context.Context, *url.URL) (*url.URL, error) { time.Sleep(time.Hour); return nil, late }
		},
		"a proxy's DialContext": func(c *gallop.HostClient) {
			c.Proxy = func(context.Context, *url.URL) (*url.URL, error) { return url.Parse("http://proxy.test") }
			c.DialContext = func(context.Context, string, string) (net.Conn, error) { time.Sleep(time.Hour); return nil, late }
		},
	} {
		t.Run(name, func(t *testing.T) {
			overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, _ func(net.Conn) net.Conn) {
				defer time.Sleep(4 * time.Hour)
				setup(c)
				c.MaxConns = 1
				for _, how := range []string{"cancel", "deadline", "timeout"} {
					begun := time.Now()
					err, want := callThatEnds(t, c, how)
					if took := time.Since(begun); !errors.Is(err, want) || took < 3*time.Second || took > 3100*time.Millisecond {
						t.Errorf("%s: %v after %v, want %v", how, err, took, want)
					}
					if n := c.ConnsCount(); n != 0 {
						t.Errorf("%s: %d connections are left", how, n)
					}
				}
			})
		})
	}
}

// callThatEnds makes a call that is ended after three seconds, and says with which error that should be.
func callThatEnds(t *testing.T, c *gallop.HostClient, how string) (err, want error) {
	switch how {
	case "cancel":
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		return c.DoContext(ctx, requestFor(c), nil), context.Canceled
	case "deadline":
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return c.DoContext(ctx, requestFor(c), nil), gallop.ErrTimeout
	}
	return c.DoTimeout(requestFor(c), nil, 3*time.Second), gallop.ErrTimeout
}

func requestFor(c *gallop.HostClient) *gallop.Request {
	req := &gallop.Request{}
	req.SetRequestURI("http://a.test/")
	if c.IsTLS {
		req.SetRequestURI("https://a.test/")
	}
	return req
}

// A call that waits for a dial takes a connection that becomes idle before, and what was dialed serves another call.
func TestClientTakesIdleConnWhileItDials(t *testing.T) {
	overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
		var dials atomic.Int32
		c.DialContext = func(context.Context, string, string) (net.Conn, error) {
			if dials.Add(1) > 1 {
				time.Sleep(time.Minute)
			}
			nc, peer := memnet.Pipe()
			go serveSlowly(serve(peer))
			return nc, nil
		}
		defer c.CloseIdleConnections()
		c.MaxIdleConnDuration = time.Hour
		begun := time.Now()
		calls := make(chan error)
		call := func() { calls <- c.Do(requestFor(c), nil) }
		go call()
		time.Sleep(500 * time.Millisecond)
		go call() // has the connection of the first one after a second
		for range 2 {
			if err := <-calls; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("the calls took %v", took)
		}
		time.Sleep(2 * time.Minute)
		if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 2 || idle != 2 {
			t.Fatalf("%d connections are open, %d idle", open, idle)
		}
		begun = time.Now()
		go call()
		go call()
		for range 2 {
			if err := <-calls; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != time.Second || dials.Load() != 2 {
			t.Errorf("the calls took %v, with %d dials", took, dials.Load())
		}
	})
}

// The connection of a dial that ends after its call goes to a call that waits, or is kept within MaxConns.
func TestClientKeepsLateConn(t *testing.T) {
	for _, max := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := &gallop.HostClient{Addr: "a.test:80", MaxConns: max, MaxIdleConnDuration: time.Hour}
			c.DialContext = func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Minute)
				nc, peer := memnet.Pipe()
				go serveSlowly(peer)
				return nc, nil
			}
			defer c.CloseIdleConnections()
			if err := c.DoTimeout(requestFor(c), nil, time.Second); err != gallop.ErrTimeout {
				t.Error(err)
			}
			time.Sleep(49 * time.Second)
			begun := time.Now()
			if err := c.Do(requestFor(c), nil); err != nil {
				t.Error(err)
			}
			want := []time.Duration{1: 61 * time.Second, 2: 11 * time.Second}[max]
			if took := time.Since(begun); took != want {
				t.Errorf("MaxConns %d: the call took %v", max, took)
			}
			time.Sleep(time.Hour / 2)
			if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != max || idle != max {
				t.Errorf("MaxConns %d: %d connections are open, %d idle", max, open, idle)
			}
		})
	}
}

// Without idle connections, one that came too late for its call is closed.
func TestClientClosesLateConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &gallop.HostClient{Addr: "a.test:80", MaxIdleConns: -1}
		var dials atomic.Int32
		c.DialContext = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			time.Sleep(time.Minute)
			nc, peer := memnet.Pipe()
			go serveSlowly(peer)
			return nc, nil
		}
		if err := c.DoTimeout(requestFor(c), nil, 30*time.Second); err != gallop.ErrTimeout {
			t.Error(err)
		}
		begun := time.Now()
		if err := c.Do(requestFor(c), nil); err != nil || time.Since(begun) != 61*time.Second || dials.Load() != 2 {
			t.Errorf("%v after %v, with %d dials", err, time.Since(begun), dials.Load())
		}
	})
}

// MaxIdleConns limits how many connections are kept, and a negative value keeps none.
func TestClientMaxIdleConns(t *testing.T) {
	for limit, want := range map[int]int{-1: 0, 1: 1, 2: 2, 0: 3} {
		synctest.Test(t, func(t *testing.T) {
			c := &gallop.HostClient{Addr: "a.test:80", MaxIdleConns: limit, MaxIdleConnDuration: time.Hour}
			c.Dial = func(string) (net.Conn, error) {
				nc, peer := memnet.Pipe()
				go serveSlowly(peer)
				return nc, nil
			}
			defer c.CloseIdleConnections()
			for range 3 {
				go c.Do(requestFor(c), nil)
			}
			time.Sleep(time.Minute)
			if got := c.IdleConnsCount(); got != want {
				t.Errorf("MaxIdleConns %d: %d idle", limit, got)
			}
		})
	}
}

package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// traceLog is a trace that writes down all that it is told.
type traceLog []string

func (l *traceLog) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (l *traceLog) trace() *gallop.ClientTrace {
	return &gallop.ClientTrace{
		GetConn: func(addr string) { l.add("get %s", addr) },
		GotConn: func(info gallop.GotConnInfo) {
			l.add("got %s reused %v idle %v conn %v", info.Addr, info.Reused, info.Idle, info.Conn != nil)
		},
		PutIdleConn:  func(addr string) { l.add("put %s", addr) },
		DNSStart:     func(host string) { l.add("dns %s", host) },
		DNSDone:      func(host string, addrs []netip.Addr, err error) { l.add("dns done %s %v %v", host, addrs, err) },
		ConnectStart: func(network, addr string) { l.add("connect %s %s", network, addr) },
		ConnectDone:  func(network, addr string, err error) { l.add("connected %s %s %v", network, addr, err) },
		TLSHandshakeStart: func() {
			l.add("tls")
		},
		TLSHandshakeDone: func(s tls.ConnectionState, err error) { l.add("tls done %s %v", s.ServerName, err) },
		WroteHeaders:     func() { l.add("headers") },
		WroteRequest:     func(err error) { l.add("request %v", err) },
		GotFirstByte:     func() { l.add("first byte") },
		GotInterim:       func(resp *gallop.Response) { l.add("interim %d", resp.StatusCode()) },
	}
}

// traced returns a context whose calls are written down.
func (l *traceLog) traced() context.Context {
	return gallop.WithClientTrace(context.Background(), l.trace())
}

// Each function of a trace is called when its turn is, with what it is about.
func TestClientTrace(t *testing.T) {
	const (
		dialed   = "dns one.test; dns done one.test [192.0.2.1] <nil>; connect tcp 192.0.2.1:80; connected tcp 192.0.2.1:80 <nil>; "
		answered = "first byte; interim 103; put one.test:80"
		fresh    = "got one.test:80 reused false idle 0s conn true; "
	)
	for _, tt := range []struct {
		name  string
		setup func(c *gallop.HostClient)
		calls []func(*gallop.Request)
		want  string
	}{
		{"new", nil, []func(*gallop.Request){nil},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; " + answered},
		{"reused", nil, []func(*gallop.Request){nil, nil},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; " + answered +
				"; get one.test:80; got one.test:80 reused true idle 1s conn true; headers; request <nil>; " + answered},
		{"a body that waits for leave", nil, []func(*gallop.Request){func(req *gallop.Request) {
			req.Header.SetMethod(gallop.MethodPut)
			req.SetBodyString("body")
			req.Header.Set("Expect", "100-continue")
		}}, "get one.test:80; " + dialed + fresh + "headers; first byte; interim 103; interim 100; request <nil>; put one.test:80"},
		{"the last on its connection", nil, []func(*gallop.Request){func(req *gallop.Request) { req.SetConnectionClose() }},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; first byte; interim 103"},
		{"TLS", func(c *gallop.HostClient) { c.IsTLS = true }, []func(*gallop.Request){nil},
			"get one.test:80; " + dialed + "tls; tls done one.test <nil>; " + fresh + "headers; request <nil>; " + answered},
		{"TLS that fails", func(c *gallop.HostClient) {
			c.IsTLS = true
			c.TLSConfig.VerifyConnection = func(tls.ConnectionState) error { return errBoom }
		}, []func(*gallop.Request){nil}, "get one.test:80; " + dialed + "tls; tls done one.test boom"},
		{"no such name", func(c *gallop.HostClient) {
			d := &gallop.TCPDialer{Resolver: wiretest.Resolver(func(context.Context, string) ([]net.IPAddr, error) {
				time.Sleep(time.Millisecond)
				return nil, errBoom
			})}
			c.DialContext = d.DialContext
		}, []func(*gallop.Request){nil}, "get one.test:80; dns one.test; dns done one.test [] boom"},
		{"nobody there", func(c *gallop.HostClient) {
			d := servertest.ConnectBy(&gallop.TCPDialer{}, func(context.Context, string, string) (net.Conn, error) { return nil, errBoom })
			c.DialContext = d.DialContext
			c.Addr = "192.0.2.7:80"
		}, []func(*gallop.Request){nil}, "get 192.0.2.7:80; connect tcp 192.0.2.7:80; connected tcp 192.0.2.7:80 boom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log traceLog
				c := tracedClient(t, tt.setup)
				defer c.CloseIdleConnections()
				for _, setup := range tt.calls {
					req := another(schemeOf(c))
					if setup != nil {
						setup(req)
					}
					err := c.DoContext(log.traced(), req, nil)
					if failed := strings.HasSuffix(tt.want, "boom"); failed != errors.Is(err, errBoom) || !failed && err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				if got := strings.Join(log, "; "); got != tt.want {
					t.Errorf("the trace has\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

// schemeOf is a request in the scheme of c.
func schemeOf(c *gallop.HostClient) *gallop.Request {
	req := &gallop.Request{}
	req.SetRequestURI("http://one.test/")
	if c.IsTLS {
		req.URI().SetScheme("https")
	}
	return req
}

// tracedClient is a client of a server that answers with an interim answer first.
func tracedClient(t *testing.T, setup func(c *gallop.HostClient)) *gallop.HostClient {
	peer := servertest.NewTLSPeer(t, "one.test")
	c := &gallop.HostClient{Addr: "one.test:80", TLSConfig: &tls.Config{RootCAs: peer.Pool}, MaxIdleConnDuration: time.Hour}
	dial := wiretest.Dialer(func(nc net.Conn) error {
		if c.IsTLS {
			return servePanicking(peer.Config)(nc)
		}
		return servePanicking(nil)(nc)
	})
	d := servertest.ConnectBy(&gallop.TCPDialer{Resolver: namesOfTest{}}, func(context.Context, string, string) (net.Conn, error) { return dial() })
	c.DialContext = d.DialContext
	if setup != nil {
		setup(c)
	}
	return c
}

// A call that has waited for its connection is told so like any other.
func TestClientTraceOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log traceLog
		c := tracedClient(t, func(c *gallop.HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 1, -1 })
		defer c.CloseIdleConnections()
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- c.DoContext(log.traced(), schemeOf(c), nil) }()
		synctest.Wait()
		if got := strings.Join(log, "; "); got != "get one.test:80" {
			t.Errorf("while it waits the trace has %s", got)
		}
		c.ReleaseConn(cc)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !slices.Contains(log, "got one.test:80 reused true idle 0s conn true") {
			t.Errorf("the trace has %q", log)
		}
	})
}

package gallop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// traceLog is a trace that writes down all that it is told.
type traceLog []string

func (l *traceLog) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (l *traceLog) trace() *ClientTrace {
	return &ClientTrace{
		GetConn: func(addr string) { l.add("get %s", addr) },
		GotConn: func(info GotConnInfo) {
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
		GotInterim:       func(resp *Response) { l.add("interim %d", resp.StatusCode()) },
	}
}

// traced returns a context whose calls are written down.
func (l *traceLog) traced() context.Context { return WithClientTrace(context.Background(), l.trace()) }

// Each function of a trace is called when its turn is, with what it is about.
func TestClientTrace(t *testing.T) {
	const (
		dialed   = "dns one.test; dns done one.test [192.0.2.1] <nil>; connect tcp 192.0.2.1:80; connected tcp 192.0.2.1:80 <nil>; "
		answered = "first byte; interim 103; put one.test:80"
		fresh    = "got one.test:80 reused false idle 0s conn true; "
	)
	for _, tt := range []struct {
		name  string
		setup func(c *HostClient)
		calls []func(*Request)
		want  string
	}{
		{"new", nil, []func(*Request){nil},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; " + answered},
		{"reused", nil, []func(*Request){nil, nil},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; " + answered +
				"; get one.test:80; got one.test:80 reused true idle 1s conn true; headers; request <nil>; " + answered},
		{"a body that waits for leave", nil, []func(*Request){func(req *Request) {
			req.Header.SetMethod(MethodPut)
			req.SetBodyString("body")
			req.Header.Set("Expect", "100-continue")
		}}, "get one.test:80; " + dialed + fresh + "headers; first byte; interim 103; interim 100; request <nil>; put one.test:80"},
		{"the last on its connection", nil, []func(*Request){func(req *Request) { req.SetConnectionClose() }},
			"get one.test:80; " + dialed + fresh + "headers; request <nil>; first byte; interim 103"},
		{"TLS", func(c *HostClient) { c.IsTLS = true }, []func(*Request){nil},
			"get one.test:80; " + dialed + "tls; tls done one.test <nil>; " + fresh + "headers; request <nil>; " + answered},
		{"TLS that fails", func(c *HostClient) {
			c.IsTLS = true
			c.TLSConfig.VerifyConnection = func(tls.ConnectionState) error { return errBoom }
		}, []func(*Request){nil}, "get one.test:80; " + dialed + "tls; tls done one.test boom"},
		{"no such name", func(c *HostClient) {
			d := &TCPDialer{Resolver: wiretest.Resolver(func(context.Context, string) ([]net.IPAddr, error) {
				time.Sleep(time.Millisecond)
				return nil, errBoom
			})}
			c.DialContext = d.DialContext
		}, []func(*Request){nil}, "get one.test:80; dns one.test; dns done one.test [] boom"},
		{"nobody there", func(c *HostClient) {
			d := &TCPDialer{connect: func(context.Context, string, string) (net.Conn, error) { return nil, errBoom }}
			c.DialContext = d.DialContext
			c.Addr = "192.0.2.7:80"
		}, []func(*Request){nil}, "get 192.0.2.7:80; connect tcp 192.0.2.7:80; connected tcp 192.0.2.7:80 boom"},
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
func schemeOf(c *HostClient) *Request {
	req := &Request{}
	req.SetRequestURI("http://one.test/")
	if c.IsTLS {
		req.URI().SetScheme("https")
	}
	return req
}

// tracedClient is a client of a server that answers with an interim answer first.
func tracedClient(t *testing.T, setup func(c *HostClient)) *HostClient {
	peer := newTLSPeer(t, "one.test")
	c := &HostClient{Addr: "one.test:80", TLSConfig: &tls.Config{RootCAs: peer.pool}, MaxIdleConnDuration: time.Hour}
	dial := wiretest.Dialer(func(nc net.Conn) error {
		if c.IsTLS {
			return servePanicking(peer.cfg)(nc)
		}
		return servePanicking(nil)(nc)
	})
	d := &TCPDialer{Resolver: namesOfTest{}, connect: func(context.Context, string, string) (net.Conn, error) { return dial() }}
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
		c := tracedClient(t, func(c *HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 1, -1 })
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

// Connections that are acquired are counted, and go back to where calls take them from.
func TestHostClientAcquireConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracedClient(t, func(c *HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 2, -1 })
		one, err := c.AcquireConn(time.Second, false)
		if err != nil || c.ConnsCount() != 1 || c.IdleConnsCount() != 0 || !one.LastUseTime().IsZero() || one.CreatedTime().IsZero() {
			t.Fatalf("%v, %d connections", err, c.ConnsCount())
		}
		bw, br := c.AcquireWriter(one.Conn()), c.AcquireReader(one.Conn())
		_, _ = bw.WriteString("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		var resp Response
		if err := errors.Join(bw.Flush(), resp.Read(br)); err != nil || string(resp.Body()) != "hello" {
			t.Errorf("%v, %q", err, resp.Body())
		}
		c.ReleaseReader(br)
		c.ReleaseWriter(bw)
		c.ReleaseConn(one)
		if c.ConnsCount() != 1 || c.IdleConnsCount() != 1 || one.LastUseTime().IsZero() {
			t.Errorf("given back: %d connections, %d idle", c.ConnsCount(), c.IdleConnsCount())
		}
		again, err := c.AcquireConn(0, false)
		if err != nil || again != one {
			t.Errorf("another connection: %v", err)
		}
		fresh, err := c.AcquireConn(0, true)
		if err != nil || fresh == one || c.ConnsCount() != 2 {
			t.Errorf("no new connection: %v", err)
		}
		begun := time.Now()
		if _, err := c.AcquireConn(time.Second, false); !errors.Is(err, ErrTimeout) || time.Since(begun) != time.Second {
			t.Errorf("a third one: %v after %v", err, time.Since(begun))
		}
		c.CloseConn(again)
		c.CloseConn(fresh)
		if _, err := again.Conn().Write([]byte("x")); err == nil || c.ConnsCount() != 0 {
			t.Errorf("closed: %v, %d connections", err, c.ConnsCount())
		}
	})
}

// countingTransport makes attempts by DefaultTransport, and fails the first ones.
type countingTransport struct {
	calls, fail int
	retry       bool
	timeout     time.Duration
}

func (tr *countingTransport) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	tr.timeout = req.GetTimeOut()
	if tr.calls++; tr.calls <= tr.fail {
		return tr.retry, errBoom
	}
	return DefaultTransport.RoundTrip(hc, req, resp)
}

func TestHostClientTransport(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tr      countingTransport
		retries bool // RetryIfErr says so
		calls   int
		err     error
	}{
		{"succeeds", countingTransport{}, true, 1, nil},
		{"fails for good", countingTransport{fail: 1}, true, 1, errBoom},
		{"fails and may be retried", countingTransport{fail: 1, retry: true}, true, 2, nil},
		{"fails, and nobody retries", countingTransport{fail: 1, retry: true}, false, 1, errBoom},
		{"fails too often", countingTransport{fail: 9, retry: true}, true, DefaultMaxIdemponentCallAttempts, errBoom},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tracedClient(t, func(c *HostClient) { c.Transport = &tt.tr })
				defer c.CloseIdleConnections()
				c.RetryIfErr = func(*Request, int, error) (bool, bool) { return false, tt.retries }
				var resp Response
				req := schemeOf(c)
				err := c.DoTimeout(req, &resp, time.Minute)
				if !errors.Is(err, tt.err) || err == nil && string(resp.Body()) != "hello" || tt.tr.calls != tt.calls {
					t.Errorf("%v after %d attempts", err, tt.tr.calls)
				}
				if tt.tr.timeout != time.Minute || req.GetTimeOut() != 0 {
					t.Errorf("the attempt had %v, and the request has %v afterwards", tt.tr.timeout, req.GetTimeOut())
				}
			})
		})
	}
}

// MaxConns may be raised and lowered while calls wait and connections are in use.
func TestHostClientSetMaxConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := wiretest.Dialer(func(nc net.Conn) error {
			_, err := io.Copy(io.Discard, nc)
			return errors.Join(err, nc.Close())
		})
		c := &HostClient{Addr: "one.test", MaxConns: 1, Dial: func(string) (net.Conn, error) { return dial() }, MaxConnWaitTimeout: time.Hour}
		got := make(chan *ClientConn, 10)
		acquire := func(n int) {
			for range n {
				go func() {
					cc, err := c.AcquireConn(0, false)
					if err != nil {
						t.Error(err)
					}
					got <- cc
				}()
			}
			synctest.Wait()
		}
		want := func(what string, has, open, idle int) {
			t.Helper()
			synctest.Wait()
			if len(got) != has || c.ConnsCount() != open || c.IdleConnsCount() != idle {
				t.Errorf("%s: %d acquired, %d open, %d idle; want %d, %d, %d", what, len(got), c.ConnsCount(), c.IdleConnsCount(), has, open, idle)
			}
		}
		acquire(5)
		want("one allowed", 1, 1, 0)
		c.SetMaxConns(3)
		want("raised, waiters get theirs", 3, 3, 0)
		c.SetMaxConns(1)
		want("lowered, nobody loses one", 3, 3, 0)
		c.ReleaseConn(<-got)
		c.CloseConn(<-got)
		want("too many are closed", 1, 1, 0)
		c.ReleaseConn(<-got)
		want("the next who waits", 1, 1, 0)
		c.ReleaseConn(<-got)
		want("and the last", 1, 1, 0)
		c.ReleaseConn(<-got)
		want("all are back", 0, 1, 1)
		c.SetMaxConns(0)
		acquire(20)
		want("the default", 10, 20, 0)
		for range 20 {
			c.ReleaseConn(<-got)
		}
		synctest.Wait()
		want("as many are kept", 0, 20, 20)
		c.CloseIdleConnections()
		want("the end", 0, 0, 0)
	})
}

// Idle connections are used as the strategy says.
func TestHostClientStrategy(t *testing.T) {
	for strategy, want := range map[ConnPoolStrategyType][]int{LIFO: {2, 2, 2, 2}, FIFO: {0, 1, 2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			dial := wiretest.Dialer(func(nc net.Conn) error {
				_, err := io.Copy(io.Discard, nc)
				return errors.Join(err, nc.Close())
			})
			c := &HostClient{Addr: "one.test", ConnPoolStrategy: strategy, Dial: func(string) (net.Conn, error) { return dial() }}
			var conns []*ClientConn
			for range 3 {
				cc, err := c.AcquireConn(0, false)
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, cc)
			}
			for _, cc := range conns {
				c.ReleaseConn(cc)
			}
			var used []int
			for range want {
				cc, err := c.AcquireConn(0, false)
				if err != nil {
					t.Fatal(err)
				}
				used = append(used, slices.Index(conns, cc))
				c.ReleaseConn(cc)
			}
			if !slices.Equal(used, want) {
				t.Errorf("strategy %d uses %v, want %v", strategy, used, want)
			}
			c.CloseIdleConnections()
		})
	}
}

// A client that has talked to very many hosts has nothing left of them.
func TestClientForgetsHosts(t *testing.T) {
	hosts := 100_000
	if testhook.RaceEnabled {
		hosts = 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		var conns int
		c := &Client{MaxIdleConnDuration: time.Second, Dial: func(string) (net.Conn, error) {
			conns++
			return &answeringConn{}, nil
		}}
		most := 0
		var req Request
		for i := range hosts {
			req.SetRequestURI(fmt.Sprintf("http://h%d.test/", i))
			if err := c.Do(&req, nil); err != nil {
				t.Fatal(err)
			}
			if i%500 == 0 {
				time.Sleep(500 * time.Millisecond)
				most = max(most, len(c.all()))
			}
		}
		if most > 3000 || conns != hosts {
			t.Errorf("%d hosts at a time, %d connections", most, conns)
		}
		time.Sleep(10 * time.Second)
		c.janitor.mu.Lock()
		defer c.janitor.mu.Unlock()
		if len(c.plain) != 0 || len(c.janitor.pools) != 0 || !c.janitor.due.IsZero() {
			t.Errorf("left are %d hosts, %d pools, a timer at %v", len(c.plain), len(c.janitor.pools), c.janitor.due)
		}
	})
}

// answeringConn is a connection that answers whatever is written.
type answeringConn struct {
	net.Conn
	answer []byte
}

func (c *answeringConn) Write(p []byte) (int, error) {
	c.answer = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	return len(p), nil
}

func (c *answeringConn) Read(p []byte) (int, error) {
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

func (*answeringConn) Close() error                    { return nil }
func (*answeringConn) RemoteAddr() net.Addr            { return nil }
func (*answeringConn) LocalAddr() net.Addr             { return nil }
func (*answeringConn) SetDeadline(time.Time) error     { return nil }
func (*answeringConn) SetReadDeadline(time.Time) error { return nil }
func (*answeringConn) SetWriteDeadline(time.Time) error {
	return nil
}

// A call that wants a new connection gets one even if it had to wait: in the place of a connection that was returned.
func TestHostClientAcquireConnAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracedClient(t, func(c *HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 1, -1 })
		old, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { c.ReleaseConn(old) })
		fresh, err := c.AcquireConn(0, true)
		if err != nil || fresh == old || c.ConnsCount() != 1 {
			t.Fatalf("the same connection: %v, of %d; %v", fresh == old, c.ConnsCount(), err)
		}
		if _, err := old.Conn().Write([]byte("x")); err == nil {
			t.Error("the old connection is still open")
		}
		c.CloseConn(fresh)
	})
}

// Hosts without connections are forgotten, even if connections are kept forever.
func TestClientForgetsHostsWhateverIsKept(t *testing.T) {
	for _, idle := range []time.Duration{0, -1, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			dial := wiretest.Dialer(servePanicking(nil))
			c := &Client{MaxIdleConnDuration: idle, Dial: func(string) (net.Conn, error) { return dial() }}
			call := func(host string, closes bool) {
				var req Request
				req.SetRequestURI("http://" + host + "/")
				if closes {
					req.SetConnectionClose()
				}
				if err := c.Do(&req, nil); err != nil {
					t.Error(err)
				}
			}
			call("kept.test", false)
			for _, host := range []string{"a.test", "b.test", "c.test"} {
				call(host, true)
			}
			time.Sleep(time.Hour)
			want := 0
			if idle < 0 {
				want = 1
			}
			if hosts, open := len(c.all()), c.ConnsCount(); hosts != want || open != want {
				t.Errorf("MaxIdleConnDuration %v: %d hosts, %d connections, want %d", idle, hosts, open, want)
			}
			c.CloseIdleConnections()
			time.Sleep(time.Hour)
			if hosts := len(c.all()); hosts != 0 {
				t.Errorf("MaxIdleConnDuration %v: %d hosts at the end", idle, hosts)
			}
		})
	}
}

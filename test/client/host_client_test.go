package client_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Connections that are acquired are counted, and go back to where calls take them from.
func TestHostClientAcquireConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracedClient(t, func(c *gallop.HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 2, -1 })
		one, err := c.AcquireConn(time.Second, false)
		if err != nil || c.ConnsCount() != 1 || c.IdleConnsCount() != 0 || !one.LastUseTime().IsZero() || one.CreatedTime().IsZero() {
			t.Fatalf("%v, %d connections", err, c.ConnsCount())
		}
		bw, br := c.AcquireWriter(one.Conn()), c.AcquireReader(one.Conn())
		_, _ = bw.WriteString("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		var resp gallop.Response
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
		if _, err := c.AcquireConn(time.Second, false); !errors.Is(err, gallop.ErrTimeout) || time.Since(begun) != time.Second {
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

func (tr *countingTransport) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
	tr.timeout = req.GetTimeOut()
	if tr.calls++; tr.calls <= tr.fail {
		return tr.retry, errBoom
	}
	return gallop.DefaultTransport.RoundTrip(hc, req, resp)
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
		{"fails too often", countingTransport{fail: 9, retry: true}, true, gallop.DefaultMaxIdemponentCallAttempts, errBoom},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tracedClient(t, func(c *gallop.HostClient) { c.Transport = &tt.tr })
				defer c.CloseIdleConnections()
				c.RetryIfErr = func(*gallop.Request, int, error) (bool, bool) { return false, tt.retries }
				var resp gallop.Response
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
		c := &gallop.HostClient{Addr: "one.test", MaxConns: 1, Dial: func(string) (net.Conn, error) { return dial() }, MaxConnWaitTimeout: time.Hour}
		got := make(chan *gallop.ClientConn, 10)
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
	for strategy, want := range map[gallop.ConnPoolStrategyType][]int{gallop.LIFO: {2, 2, 2, 2}, gallop.FIFO: {0, 1, 2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			dial := wiretest.Dialer(func(nc net.Conn) error {
				_, err := io.Copy(io.Discard, nc)
				return errors.Join(err, nc.Close())
			})
			c := &gallop.HostClient{Addr: "one.test", ConnPoolStrategy: strategy, Dial: func(string) (net.Conn, error) { return dial() }}
			var conns []*gallop.ClientConn
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

// A call that wants a new connection gets one even if it had to wait: in the place of a connection that was returned.
func TestHostClientAcquireConnAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracedClient(t, func(c *gallop.HostClient) { c.MaxConns, c.MaxConnWaitTimeout = 1, -1 })
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

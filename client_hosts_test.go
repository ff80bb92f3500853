package gallop

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// A client that has talked to very many hosts has nothing left of them.
func TestClientForgetsHosts(t *testing.T) {
	hosts := 20_000
	switch {
	case testhook.RaceEnabled:
		hosts = 10_000
	case wiretest.Full():
		hosts = 100_000
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
		if left := len(c.all()); left != 0 {
			t.Errorf("left are %d hosts", left)
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

// Hosts without connections are forgotten, even if connections are kept forever.
func TestClientForgetsHostsWhateverIsKept(t *testing.T) {
	for _, idle := range []time.Duration{0, -1, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			c := &Client{MaxIdleConnDuration: idle, Dial: func(string) (net.Conn, error) { return &answeringConn{}, nil }}
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

package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// lastMoment is a listener that accepts a connection in the moment in which it is closed.
type lastMoment struct {
	conn   net.Conn
	once   sync.Once
	asked  chan struct{} // gets a value at each Accept
	closed chan struct{}
}

func (l *lastMoment) Accept() (net.Conn, error) {
	l.asked <- struct{}{}
	<-l.closed
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *lastMoment) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *lastMoment) Addr() net.Addr { return memnet.Addr{} }

// Shutdown has to wait for a connection that was accepted and whose goroutine has not yet run; on one processor, that is
// the usual order.
func TestShutdownWaitsForAccepted(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		client, server := memnet.Pipe()
		ln := &lastMoment{conn: server, asked: make(chan struct{}, 2), closed: make(chan struct{})}
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("served") }}
		served := make(chan error)
		go func() { served <- s.Serve(ln) }()
		<-ln.asked
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if n := s.GetOpenConnectionsCount(); n != 0 {
			t.Errorf("%d connections were still being served when Shutdown returned", n)
		}
		r, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r.Body); string(b) != "served" {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// Shutdown waits 5 ms for the next request on an idle connection, and half a second for the first one on a new
// connection. A request of which a part arrives in that time is served.
func TestShutdownGrace(t *testing.T) {
	const ms = time.Millisecond
	post := servertest.PostTo("/", "body")
	for _, tt := range []struct {
		name   string
		served bool          // the connection has brought a request before
		at     time.Duration // when the client sends, since Shutdown looked for idle connections
		first  int           // how many bytes the client sends then; it sends the others a second later
		want   bool          // a response
	}{
		{"idle, in time", true, 4 * ms, len(post), true},
		{"idle, half a head", true, 4 * ms, 10, true},
		{"idle, only the head", true, 4 * ms, len(post) - 4, true},
		{"idle, late", true, 6 * ms, len(post), false},
		{"new, in time", false, 499 * ms, len(post), true},
		{"new, half a head", false, 499 * ms, 10, true},
		{"new, only the head", false, 499 * ms, len(post) - 4, true},
		{"new, late", false, 501 * ms, len(post), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				s := &gallop.Server{Handler: servertest.Say, ReadTimeout: -1, ReadHeaderTimeout: -1, IdleTimeout: -1}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					if tt.served {
						c.Send(wiretest.Get("/")).Want(200)
					}
					synctest.Wait()
					began, ended := make(chan struct{}), make(chan error, 1)
					s.RegisterOnShutdown(func() { close(began) })
					go func() { ended <- s.Shutdown() }()
					<-began
					c.Pause(tt.at).Send(post[:tt.first])
					if rest := post[tt.first:]; rest != "" {
						c.Pause(time.Second).Send(rest)
					}
					if tt.want {
						c.Want(200)
						c.WantBody("POST / \"body\"").WantField("Connection", "close")
					}
					c.WantEnd()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// lastByte is a connection on which a request arrives when the server sets a deadline that has passed, to end the wait
// for it. The server does not read before that.
type lastByte struct {
	net.Conn
	arrive func()
	read   chan struct{}
	once   sync.Once
}

func (c *lastByte) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.once.Do(func() { close(c.read) })
	}
	return n, err
}

func (c *lastByte) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && at.Before(time.Now().Add(-time.Hour)) {
		c.arrive()
		<-c.read
	}
	return c.Conn.SetReadDeadline(at)
}

// A request that arrives in the moment in which the server ends the wait for it is served, even if its body comes
// later.
func TestShutdownWhileARequestArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := memnet.Pipe()
		s := &gallop.Server{Handler: servertest.Say, ReadTimeout: -1, ReadHeaderTimeout: -1, IdleTimeout: -1, MinBodyRate: -1}
		post := servertest.PostTo("/", "body")
		c := &lastByte{Conn: server, read: make(chan struct{})}
		c.arrive = func() { io.WriteString(client, post[:len(post)-4]) }
		go servertest.Goroutines.Serve(s)(c)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown() }()
		<-c.read
		time.Sleep(time.Second)
		fmt.Fprint(client, "body")
		r, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r.Body); string(b) != "POST / \"body\"" {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
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

package http2flood

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/gallop-http/gallop"
)

// The responses to requests that arrive together leave together, although a goroutine serves the connection and others call the handlers.
func TestResponsesLeaveTogether(t *testing.T) {
	s := &site{}
	s.init(gallop.EngineGoroutine)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := &countingListener{Listener: inner}
	s.serve(t, ln)
	c := dialPlain(t, s.addr)
	const bursts = 20
	for range bursts {
		if err := c.send(streams); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < streams; {
			n, err := c.receive(nil)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	}
	n := ln.writes.Load()
	t.Logf("%d writes for %d responses", n, bursts*streams)
	if n > bursts*streams/4 {
		t.Errorf("%d writes for %d responses", n, bursts*streams)
	}
}

// countingListener counts how often its connections are written to.
type countingListener struct {
	net.Listener
	writes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{nc, l}, nil
}

type countingConn struct {
	net.Conn
	ln *countingListener
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.ln.writes.Add(1)
	return c.Conn.Write(p)
}

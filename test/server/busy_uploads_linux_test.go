package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// busyConn is a connection whose server becomes busy for a while after a read.
type busyConn struct {
	net.Conn
	busy    atomic.Bool
	expired func() // called when a read has reached its deadline, unless nil
}

func (c *busyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.pause()
	if errors.Is(err, os.ErrDeadlineExceeded) && c.expired != nil {
		c.expired()
	}
	return n, err
}

func (c *busyConn) pause() {
	if c.busy.CompareAndSwap(true, false) {
		time.Sleep(15 * time.Second)
	}
}

// A request body is not too slow if its bytes have arrived, and the server was too busy to read them.
func TestBusyServerDoesNotBlameUploads(t *testing.T) {
	const kilobyte = 1 << 10
	bodies := map[string]struct {
		head, first, rest, length string
	}{
		"fixed":   {"Content-Length: 8\r\n\r\n", "some", "body", "8"},
		"chunked": {"Transfer-Encoding: chunked\r\n\r\n", "4\r\nsome\r\n", "4\r\nbody\r\n0\r\n\r\n", "8"},
		"large":   {fmt.Sprintf("Content-Length: %d\r\n\r\n", 40*kilobyte), "x", string(make([]byte, 40*kilobyte-1)), "40960"},
	}
	for name, body := range bodies {
		for _, streaming := range []bool{false, true} {
			for _, sent := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/StreamRequestBody=%v/sent=%v", name, streaming, sent), func(t *testing.T) {
					servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
						s := &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: streaming, Handler: countBody}
						onBusyServer(t, on, s, func(c *wiretest.Conversation, busy *atomic.Bool) {
							c.Send("POST / HTTP/1.1\r\nHost: a\r\n" + body.head)
							time.Sleep(4 * time.Second)
							busy.Store(true)
							c.Send(body.first)
							time.Sleep(time.Second)
							if sent {
								c.Send(body.rest)
								c.Want(200)
								c.WantBody(body.length)
							} else {
								c.Want(408)
							}
						})
					})
				})
			}
		}
	}
}

// countBody responds with the length of the request body, or with 408 if it cannot be read.
func countBody(ctx *gallop.RequestCtx) {
	r := ctx.RequestBodyStream()
	if r == nil {
		fmt.Fprint(ctx, len(ctx.PostBody()))
	} else if n, err := io.Copy(io.Discard, r); err == nil {
		fmt.Fprint(ctx, n)
	} else {
		ctx.Error(err.Error(), 408)
	}
}

// onBusyServer runs f as the client of a server that is busy for 15 seconds after the next read, whenever busy is set.
func onBusyServer(t *testing.T, on servertest.Transport, s *gallop.Server, f func(c *wiretest.Conversation, busy *atomic.Bool)) {
	synctest.Test(t, func(t *testing.T) {
		var b busyConn
		serve := on.Serve(s)
		if on.Name != servertest.Goroutines.Name {
			if on.Name == "inline" {
				s.Dispatch = gallop.DispatchInline
			}
			servertest.Kernel(s).Step = func(call string, _ int) {
				if call == "after read" {
					b.pause()
				}
			}
		}
		c := wiretest.Start(t, func(nc net.Conn) error {
			if on.Name != servertest.Goroutines.Name {
				return serve(nc)
			}
			b.Conn = nc
			return serve(&b)
		})
		c.Patience = time.Hour
		f(c, &b.busy)
	})
}

// A goroutine that waits for a body may learn that its time is over, although bytes have arrived.
func TestLastLookAtUpload(t *testing.T) {
	for _, last := range []string{"body", "bo"} {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: countBody}
			var b busyConn
			c := wiretest.Start(t, func(nc net.Conn) error {
				b.Conn = nc
				return servertest.Goroutines.Serve(s)(&b)
			})
			b.expired = func() {
				b.expired = nil
				c.Send(last)
			}
			c.Patience = time.Hour
			c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nsome")
			if last == "body" {
				c.Want(200)
				c.WantBody("8")
			} else {
				c.Want(408)
			}
			c.WantAfter(5*time.Second, time.Second)
		})
	}
}

package http2_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// countedListener counts the reads of its connections.
type countedListener struct {
	servertest.Listener
	reads atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

type countedConn struct {
	net.Conn
	l *countedListener
}

func (c countedConn) Read(p []byte) (int, error) {
	c.l.reads.Add(1)
	return c.Conn.Read(p)
}

// An upload that arrives faster than it is read needs few reads. Each of them fetches most of a frame, or several frames.
func TestUploadsNeedFewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const frame, frames = 16 << 10, 3 // as much as the first window permits
		ln := &countedListener{Listener: memnet.NewListener()}
		s := &gallop.Server{StreamRequestBody: true, Protocols: new(gallop.Protocols), Handler: func(ctx *gallop.RequestCtx) {
			n, _ := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n)
		}}
		s.Protocols.SetUnencryptedHTTP2(true)
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ln) }()
		c := (&site{t: t, on: servertest.Goroutines, ln: ln, s: s}).dial()
		id := c.open("POST", "/", false)
		synctest.Wait()
		before := ln.reads.Load()
		for n := range frames {
			c.data(id, strings.Repeat("x", frame), n == frames-1)
		}
		c.want(c.await(id), gallop.StatusOK, fmt.Sprint(frame*frames))
		if n := ln.reads.Load() - before; n > 3*frames {
			t.Errorf("%d reads for %d frames", n, frames)
		}
		c.nc.Close()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

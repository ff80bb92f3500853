package gallop

import (
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"
)

// A handler may want to know whether its client is still there. These functions watch the connection for it.

// watch begins to watch the connection, if somebody wants to know and if what comes
// next on it is not part of this request. l is locked.
func (c *connection) watch(l *lifetime) {
	if l.done == nil && l.gone == nil || l.watcher != nil || !l.canWatch || l.err != nil {
		return
	}
	read := c.input.empty()
	if !read && !c.onSocket() {
		return
	}
	ended := make(chan struct{})
	l.watcher = ended
	c.input.armExactly(time.Time{})
	go func() {
		defer close(ended)
		if read {
			c.watchInput(l)
		} else if c.awaitBreak() { // a further request is here: nobody reads before this one has been answered
			l.lost()
		}
	}()
}

// watchInput reads the first byte of the next request, and ends this one if the client goes away instead.
func (c *connection) watchInput(l *lifetime) {
	var b [1]byte
	n, err := c.nc.Read(b[:])
	switch {
	case n > 0:
		l.ahead = append(l.ahead[:0], b[0])
	case err == io.EOF && !c.endsWithInput():
		if c.onSocket() && c.awaitBreak() {
			l.lost()
		}
	case err != nil && !isTimeout(err):
		l.lost()
	}
}

// endsWithInput reports whether a client that sends no more is taken to have gone away.
func (c *connection) endsWithInput() bool { return !c.srv.AllowHalfClose && (!c.lent || c.onSocket()) }

// onSocket reports whether the connection is a socket, or TLS over one.
func (c *connection) onSocket() bool { return c.loop.conn != nil || socketBelow(c.nc) != nil }

// socketBelow returns the socket that c is, or that TLS goes over; nil if there is none.
func socketBelow(c net.Conn) syscall.Conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, _ := c.(syscall.Conn)
	return s
}

// writeFailed ends the present request, if there is one: its client gets no more of the response.
func (x *exchange) writeFailed() {
	if x != nil {
		x.ctx.life.lost()
	}
}

// bodyRead tells that the connection may be watched from now on.
func (c *connection) bodyRead(ctx *RequestCtx) {
	l := &ctx.life
	l.mu.Lock()
	l.canWatch = true
	c.watch(l)
	l.mu.Unlock()
}

// stopWatching ends the watching and keeps what it has read.
func (x *exchange) stopWatching() {
	if x.ctx.life.used.Load() {
		x.endWatching()
	}
}

func (x *exchange) endWatching() {
	l, c := &x.ctx.life, x.wire
	l.mu.Lock()
	l.canWatch = false
	watcher := l.watcher
	l.mu.Unlock()
	if watcher == nil {
		return
	}
	c.input.armExactly(time.Unix(1, 0))
	<-watcher
	c.loop.drained = false
	l.watcher = nil
	if len(l.ahead) > 0 {
		c.input.makeRoom()
		c.input.buf = append(c.input.buf, l.ahead...)
		c.input.counted += int64(len(l.ahead))
		l.ahead = l.ahead[:0]
	}
}

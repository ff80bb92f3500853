package gallop

import (
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// connWatch watches whether the client of a connection goes away, while nothing else reads from the connection.
type connWatch struct {
	ended chan struct{} // closed when the goroutine that watches ends
	ahead []byte        // what was read meanwhile
}

// watch calls lost if the client goes away. The result is nil if the connection cannot be watched now.
func (c *connection) watch(lost func()) *connWatch {
	read := c.input.empty()
	if !read && !c.onSocket() {
		return nil
	}
	w := &connWatch{ended: make(chan struct{})}
	c.input.armExactly(time.Time{})
	go func() {
		defer close(w.ended)
		if read {
			c.watchInput(w, lost)
		} else if c.awaitBreak() { // more bytes are here: nobody reads before the turn is over
			lost()
		}
	}()
	return w
}

// watchInput reads the first byte of the next turn.
func (c *connection) watchInput(w *connWatch, lost func()) {
	var b [1]byte
	n, err := c.nc.Read(b[:])
	switch {
	case n > 0:
		w.ahead = b[:1]
	case err == io.EOF && !c.endsWithInput():
		if c.onSocket() && c.awaitBreak() {
			lost()
		}
	case err != nil && !clock.IsTimeout(err):
		lost()
	}
}

// endWatch ends the watching and keeps what it has read.
func (c *connection) endWatch(w *connWatch) {
	c.input.armExactly(time.Unix(1, 0))
	<-w.ended
	c.loop.drained = false
	if len(w.ahead) > 0 {
		c.input.makeRoom()
		c.input.buf = append(c.input.buf, w.ahead...)
		c.input.counted += int64(len(w.ahead))
	}
}

// endsWithInput reports whether a client that sends no more is taken to have gone away.
func (c *connection) endsWithInput() bool { return !c.set.halfOpen && (!c.lent || c.onSocket()) }

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

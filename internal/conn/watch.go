package conn

import (
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// Watch watches whether the client of a connection goes away, while nothing else reads from the connection. It does so with a
// goroutine, which starts at once, or, if a loop watches the connection, when the client hangs up.
type Watch struct {
	onLoop bool          // the loop starts the goroutine
	ended  chan struct{} // closed when the goroutine ends
	ahead  []byte        // what was read meanwhile
}

// Watch calls lost if the client goes away. The result is nil if the connection cannot be watched now.
func (c *Conn) Watch(lost func()) *Watch {
	read := c.Input.Empty()
	if !read && !c.onSocket() {
		return nil
	}
	w := &Watch{ended: make(chan struct{})}
	c.Input.ArmExactly(time.Time{})
	watch := func() {
		defer close(w.ended)
		if read {
			c.watchInput(w, lost)
		} else if c.awaitBreak() { // more bytes are here: nobody reads before the turn is over
			lost()
		}
	}
	if w.onLoop = c.watchOnLoop(watch); !w.onLoop {
		go watch()
	}
	return w
}

// watchInput reads the first byte of the next turn.
func (c *Conn) watchInput(w *Watch, lost func()) {
	var b [1]byte
	n, err := c.NC.Read(b[:])
	switch {
	case n > 0:
		w.ahead = b[:1]
	case err == io.EOF && !c.EndsWithInput():
		if c.onSocket() && c.awaitBreak() {
			lost()
		}
	case err != nil && !clock.IsTimeout(err):
		lost()
	}
}

// EndWatch ends the watching and keeps what it has read.
func (c *Conn) EndWatch(w *Watch) {
	if w.onLoop && c.Loop.Conn.Unwatch() {
		return
	}
	c.Input.ArmExactly(time.Unix(1, 0))
	<-w.ended
	c.Input.AllRead = false
	if len(w.ahead) > 0 {
		c.Input.makeRoom()
		c.Input.buf = append(c.Input.buf, w.ahead...)
		c.Input.counted += int64(len(w.ahead))
	}
}

// EndsWithInput reports whether a client that sends no more is taken to have gone away.
func (c *Conn) EndsWithInput() bool { return !c.Set.HalfOpen && (!c.lent || c.onSocket()) }

// onSocket reports whether the connection is a socket, or TLS over one.
func (c *Conn) onSocket() bool { return c.Loop.Conn != nil || socketBelow(c.NC) != nil }

// socketBelow returns the socket that c is, or that TLS goes over; nil if there is none.
func socketBelow(c net.Conn) syscall.Conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, _ := c.(syscall.Conn)
	return s
}

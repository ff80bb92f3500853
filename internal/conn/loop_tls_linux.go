package conn

import (
	"crypto/tls"
	"net"
	"os"
	"syscall"
	"time"
)

// loopTLS is TLS on a connection of a loop. It is also the net.Conn that its tls.Conn uses as a
// socket. A read for the loop never waits. If there is nothing to read, it fails with an error
// that tls.Conn treats as temporary. The tls.Conn then keeps the part of a record that has
// arrived, and the next read completes the record. A tls.Conn is unusable after a failed write,
// so writes wait, unless the wire pushes: then writes go to a buffer.
type loopTLS struct {
	lc   *LoopConn
	conn *tls.Conn

	ready   time.Time // when the handshake was over
	Shaken  bool      // that was so
	hasty   bool      // the present read may not wait
	drained bool      // the socket was empty when it was last read from
	out     *Output   // sets the deadline of a write that has to wait; nil while nobody serves, and for who sets it himself
	taken   net.Conn  // what the connection has become when the program took it
	push    *tlsPush  // nil unless the wire pushes
	rare    bool      // one of these two is set; Write looks at no other field then, since it may run on any goroutine
}

// errNotYet is what a hasty read fails with when nothing is there.
var errNotYet error = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}

func newLoopTLS(lc *LoopConn, config *tls.Config) *loopTLS {
	t := &loopTLS{lc: lc}
	t.conn = tls.Server(t, config)
	return t
}

// attach prepares for being served by c, after an event.
func (t *loopTLS) attach(c *Conn) {
	t.drained = false
	c.NC, c.TLS = t.conn, t.conn
	if t.Shaken {
		t.out, c.Ready = &c.Output, t.ready
	}
}

// Shaken is called when the handshake of a connection is over, and the wire is going to serve the connection on its loop.
func (c *Conn) Shaken() {
	t := c.Loop.Conn.TLS()
	t.Shaken, t.ready, c.Ready, t.out = true, c.Now, c.Now, &c.Output
}

// tryRead reads what there is, and returns syscall.EAGAIN if that is nothing.
func (t *loopTLS) tryRead(p []byte) (int, error) {
	t.hasty = true
	n, err := t.conn.Read(p)
	t.hasty = false
	if err == errNotYet {
		err = syscall.EAGAIN
	}
	return n, err
}

// close tells the client that nothing follows. If the connection lingers, what the client still sends is not decrypted.
func (t *loopTLS) close(lingers bool) {
	t.out = nil
	if t.push != nil {
		t.push.close()
	}
	if lingers {
		_ = t.lc.CloseWrite()
	} else {
		_ = t.conn.Close()
	}
}

// Read implements net.Conn.
func (t *loopTLS) Read(p []byte) (int, error) {
	if t.taken != nil {
		return t.taken.Read(p)
	}
	if !t.hasty {
		t.drained = false
		return t.lc.Read(p)
	}
	if t.drained && !t.lc.Ended() {
		return 0, errNotYet
	}
	n, err := t.lc.TryRead(p)
	t.drained = n < len(p)
	if err == syscall.EAGAIN {
		err = errNotYet
	}
	return n, err
}

// Write implements net.Conn.
func (t *loopTLS) Write(p []byte) (n int, err error) {
	if t.rare {
		return t.writeElsewhere(p)
	}
	if t.out != nil && !t.out.hasDeadline() {
		n, err = t.lc.TryWriteShared(p)
		if err != nil || n == len(p) {
			return n, err
		}
		t.out.arm()
	}
	m, err := t.lc.Write(p[n:])
	return n + m, err
}

func (t *loopTLS) writeElsewhere(p []byte) (int, error) {
	if t.push != nil {
		return t.push.write(p)
	}
	return t.taken.Write(p)
}

func (t *loopTLS) socket() net.Conn {
	if t.taken != nil {
		return t.taken
	}
	return t.lc
}

// Close implements net.Conn.
func (t *loopTLS) Close() error { return t.socket().Close() }

// LocalAddr implements net.Conn.
func (t *loopTLS) LocalAddr() net.Addr { return t.socket().LocalAddr() }

// RemoteAddr implements net.Conn.
func (t *loopTLS) RemoteAddr() net.Addr { return t.socket().RemoteAddr() }

// SetDeadline implements net.Conn.
func (t *loopTLS) SetDeadline(at time.Time) error { return t.socket().SetDeadline(at) }

// SetReadDeadline implements net.Conn.
func (t *loopTLS) SetReadDeadline(at time.Time) error { return t.socket().SetReadDeadline(at) }

// SetWriteDeadline implements net.Conn.
func (t *loopTLS) SetWriteDeadline(at time.Time) error { return t.socket().SetWriteDeadline(at) }

// CloseWrite ends the connection for writing, below TLS.
func (t *loopTLS) CloseWrite() error {
	if w, ok := t.socket().(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return net.ErrClosed
}

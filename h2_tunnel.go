package gallop

import (
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

// h2Tunnel is the connection that AcceptStream returns over HTTP/2 (RFC 9113 §8.5, RFC 8441 §5).
//
//	END_STREAM from the client   Read returns io.EOF
//	RST_STREAM from the client   Read and Write fail, but Read first returns what has arrived
//	CloseWrite                   sends END_STREAM
//	Close                        sends END_STREAM, and RST_STREAM unless the client has ended its side, too. The code is
//	                             NO_ERROR, or CANCEL if Close interrupts a Write
//
// A tunnel has a stream of its own, which takes the place of the request's stream on the connection. So the exchange ends with its
// handler as usual, and the tunnel goes on. A tunnel keeps its slot until the program closes it, even if the client has reset
// it. Clients can therefore not make a program serve more tunnels than MaxConcurrentStreams allows.
//
// Unlike a hijacked HTTP/1 connection, a tunnel cannot outlive its server, because the server sends and receives its frames. Shutdown
// waits for tunnels as it waits for requests in flight. When the context of Shutdown is done, or when Close is called, the
// connection is closed, and Read and Write fail. Functions that RegisterOnShutdown was given can close tunnels earlier.
type h2Tunnel struct {
	st            h2Stream // without an exchange
	local, remote net.Addr
	writing       sync.Mutex // held by the goroutine that writes

	// The lock of st.c guards the fields below.
	closed    bool // by Close
	endedHere bool // by CloseWrite
}

// isTunnel reports whether st belongs to a tunnel.
func (st *h2Stream) isTunnel() bool { return st.x == nil && !st.handled }

// noteProtocol notes the protocol of an extended CONNECT.
func (st *h2Stream) noteProtocol(head *message.Head) {
	if p := st.msg.Protocol; p.Len > 0 {
		st.protocol = strings.ToLower(string(head.Fields.Bytes(p)))
	}
}

// openTunnel accepts a CONNECT: it sends the response, and returns the tunnel. The lock of the ResponseStream is held.
func (st *h2Stream) openTunnel() (net.Conn, error) {
	c, x := st.c, st.x
	x.ctx.life.used.Store(true)
	if st.onLoop {
		st.seat.Leave() // handlers of tunnels take long
	}
	out := x.outgoing(time.Now())
	out.length = lengthNone
	t := &h2Tunnel{local: c.nc.LocalAddr(), remote: c.nc.RemoteAddr()}
	c.mu.Lock()
	defer c.unlock()
	if st.err != nil {
		return nil, st.err
	}
	c.borrow()
	if !st.writeHead(&out, false) {
		return nil, errH2Over
	}
	st.taken, x.shared, x.awaits100 = true, true, false
	x.ctx.hijackHandler = func(net.Conn) {}
	t.st.c, t.st.id, t.st.slot, t.st.judged = c, st.id, st.slot, true
	t.st.change.L = &c.mu
	t.st.body, t.st.got, t.st.ended = st.body, st.got, st.ended
	st.body = unreadBytes{}
	t.st.opener = st
	c.streams[st.slot] = &t.st
	c.flush()
	return t, nil
}

// dropTunnels separates the tunnels from a connection that has ended. c is locked.
func (c *h2Conn) dropTunnels() {
	for slot, st := range c.streams {
		if st != nil && st.isTunnel() {
			c.engine.Release(st.id)
			c.streams[slot] = nil
			c.held--
		}
	}
}

// Read implements net.Conn.
func (t *h2Tunnel) Read(p []byte) (n int, err error) {
	st := &t.st
	st.c.mu.Lock()
	defer st.c.unlock()
	for {
		by, late := deadlineOf(&st.readBy)
		switch {
		case t.closed:
			return 0, t.failed("read", net.ErrClosed)
		case late:
			return 0, t.failed("read", os.ErrDeadlineExceeded)
		case len(p) == 0:
			return 0, nil
		case st.body.len() > 0:
			n = copy(p, st.body.unread())
			st.used(n)
			return n, nil
		case st.ended:
			return 0, io.EOF
		case st.err != nil:
			return 0, t.failed("read", st.err)
		}
		st.wait(by)
	}
}

// Write implements net.Conn. It returns when the output has all of p, which takes until the client has opened its windows.
func (t *h2Tunnel) Write(p []byte) (n int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	st := &t.st
	st.c.mu.Lock()
	defer st.c.unlock()
	if t.endedHere && !t.closed {
		return 0, t.failed("write", io.ErrClosedPipe)
	}
	_, err = t.mayWrite()
	if err != nil || len(p) == 0 {
		return 0, t.failed("write", err)
	}
	st.c.borrow()
	st.append(p, false, nil)
	st.c.flush()
	return t.awaitSent(len(p))
}

// awaitSent waits until the output has all of a write of n bytes. c is locked.
func (t *h2Tunnel) awaitSent(n int) (sent int, err error) {
	st := &t.st
	for {
		left := len(st.rest)
		if left > 0 { // it is lost with its stream
			sent = n - left
		}
		by, err := t.mayWrite()
		switch {
		case err == os.ErrDeadlineExceeded && left == 0:
			return n, nil
		case err != nil:
			st.rest = nil
			st.c.borrow()
			st.c.engine.WriteData(st.id, nil, st.restEnds, h2Now()) // so that it waits no longer
			st.c.flush()
			return sent, t.failed("write", err)
		case left == 0:
			return n, nil
		}
		st.wait(by)
	}
}

// mayWrite returns why a write fails, and otherwise until when it may wait. The lock of c is held.
func (t *h2Tunnel) mayWrite() (by time.Time, err error) {
	st := &t.st
	by, late := deadlineOf(&st.writeBy)
	switch {
	case t.closed:
		return by, net.ErrClosed
	case st.err != nil:
		return by, st.err
	case st.c.failed != nil:
		return by, st.c.failed
	case late:
		return by, os.ErrDeadlineExceeded
	}
	return by, nil
}

// CloseWrite ends the stream for the client. A Write that waits goes on.
func (t *h2Tunnel) CloseWrite() error {
	st := &t.st
	st.c.mu.Lock()
	defer st.c.unlock()
	switch {
	case t.closed:
		return t.failed("close", net.ErrClosed)
	case st.err != nil:
		return t.failed("close", st.err)
	case t.endedHere:
		return nil
	}
	t.endedHere = true
	if len(st.rest) > 0 {
		st.restEnds = true
		return nil
	}
	t.sendEnd()
	return nil
}

// sendEnd sends END_STREAM. The lock of c is held.
func (t *h2Tunnel) sendEnd() {
	c := t.st.c
	c.borrow()
	c.engine.WriteData(t.st.id, nil, true, h2Now())
	c.flush()
}

// Close implements net.Conn.
func (t *h2Tunnel) Close() error {
	st, c := &t.st, t.st.c
	c.mu.Lock()
	defer c.unlock()
	if t.closed {
		return t.failed("close", net.ErrClosed)
	}
	t.closed = true
	st.change.Broadcast()
	if c.over { // see dropTunnels
		st.body.release()
		return nil
	}
	if len(st.rest) == 0 && st.err == nil && !t.endedHere {
		t.sendEnd()
	}
	st.close() // a Write that waits returns what it has sent
	c.flush()
	return nil
}

// LocalAddr implements net.Conn.
func (t *h2Tunnel) LocalAddr() net.Addr { return t.local }

// RemoteAddr implements net.Conn.
func (t *h2Tunnel) RemoteAddr() net.Addr { return t.remote }

// SetDeadline implements net.Conn.
func (t *h2Tunnel) SetDeadline(at time.Time) error {
	if err := t.SetReadDeadline(at); err != nil {
		return err
	}
	return t.SetWriteDeadline(at)
}

// SetReadDeadline implements net.Conn.
func (t *h2Tunnel) SetReadDeadline(at time.Time) error { return t.setDeadline(&t.st.readBy, at) }

// SetWriteDeadline implements net.Conn.
func (t *h2Tunnel) SetWriteDeadline(at time.Time) error { return t.setDeadline(&t.st.writeBy, at) }

func (t *h2Tunnel) setDeadline(by *atomic.Pointer[time.Time], at time.Time) error {
	t.st.c.mu.Lock()
	defer t.st.c.unlock()
	if t.closed {
		return t.failed("set", net.ErrClosed)
	}
	if by.Store(&at); at.IsZero() {
		by.Store(nil)
	}
	t.st.change.Broadcast()
	return nil
}

// deadlineOf returns a deadline, and whether it has passed.
func deadlineOf(by *atomic.Pointer[time.Time]) (at time.Time, late bool) {
	if p := by.Load(); p != nil {
		return *p, !time.Now().Before(*p)
	}
	return at, false
}

// failed returns the error of a call, nil if err is nil.
func (t *h2Tunnel) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: "tcp", Source: t.local, Addr: t.remote, Err: err}
}

// breakTunnel resets a tunnel whose client has sent a frame that tunnels do not have (RFC 9113 §8.5). The lock of c is held.
func (st *h2Stream) breakTunnel() {
	st.c.borrow()
	st.c.engine.Reset(st.id, http2.ProtocolError)
	st.c.health.note(errTunnelTrailers)
	st.lost((*h2StreamError)(errTunnelTrailers))
}

// errTunnelTrailers is why a tunnel is reset that gets trailers.
var errTunnelTrailers = &http2.Error{Code: http2.ProtocolError, Name: "tunnel_trailers", Reason: "header block in a tunnel (RFC 9113 §8.5)"}

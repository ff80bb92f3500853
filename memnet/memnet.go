// Package memnet is a network inside the process: a [Listener] to serve on and to
// dial, and the [Pipe] that its connections are made of. It is for tests and
// benchmarks of servers and clients, with no ports, no kernel and no cleaning up:
//
//	ln := memnet.NewListener()
//	defer ln.Close()
//	go server.Serve(ln)
//	conn, err := ln.Dial()
//
// Connections behave as those of TCP do where a program can tell: writes are
// buffered up to a bound and block behind it, deadlines work, either direction
// can be closed alone, and all methods may be called concurrently. Buffers grow
// with the bytes that arrive, so connections that carry little cost little.
//
// Everything works in virtual time. A goroutine that waits in Read, Write, Accept
// or Dial is durably blocked in the sense of testing/synctest, and deadlines
// follow the clock of the bubble, if the listener or pipe was made inside it.
package memnet

import (
	"io"
	"net"
	"time"
)

// BufferSize is how many bytes a connection buffers in each direction, unless it is one of
// PipeSize. A Write blocks while that many are unread.
const BufferSize = 64 << 10

// Addr is the address of everything in this network, unless it was given another.
type Addr struct{}

// Network returns "memory".
func (Addr) Network() string { return "memory" }

// String returns "memory".
func (Addr) String() string { return "memory" }

// Pipe returns the two ends of a connection. What is written to one is read from
// the other. Both ends are alike; the names only help the reader.
func Pipe() (client, server *Conn) {
	p := newPipe(Addr{}, Addr{})
	return &p.client, &p.server
}

// PipeSize is Pipe with room for size bytes in each direction. It is for programs that write a
// lot before anybody reads.
func PipeSize(size int) (client, server *Conn) {
	p := newPipe(Addr{}, Addr{})
	p.toClient.bytes.bound, p.toServer.bytes.bound = size, size
	return &p.client, &p.server
}

// pipe is a connection, both ends and both directions in one allocation.
type pipe struct {
	client, server     Conn
	toClient, toServer stream
}

func newPipe(clientAddr, serverAddr net.Addr) *pipe {
	p := new(pipe)
	p.toClient.init()
	p.toServer.init()
	p.client = Conn{in: &p.toClient, out: &p.toServer, local: clientAddr, remote: serverAddr}
	p.server = Conn{in: &p.toServer, out: &p.toClient, local: serverAddr, remote: clientAddr}
	return p
}

// Conn is one end of a connection in memory. It is a net.Conn whose methods may be called
// concurrently. Get one from [Pipe], [PipeSize] or a [Listener]; the zero value is not usable.
//
// After CloseWrite or Close the peer reads what was written and then io.EOF. After Close,
//
//   - a Read or a Write of the closed end fails with net.ErrClosed, also one that waits already;
//   - a Write of the other end fails with io.ErrClosedPipe;
//   - closing again does nothing and returns nil.
//
// A deadline that has passed fails with os.ErrDeadlineExceeded, which is a net.Error,
// until a later one is set. The bytes of one Write are never mixed with those of
// another. Read and Write allocate nothing once the buffers have grown to their use.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
}

// Stale reports, without waiting, whether a Read would return at once: because there are bytes, because
// the peer has closed, or because this end is closed. A client asks before it uses an idle
// connection again; see gallop.StaleConn.
func (c *Conn) Stale() bool { return c.in.stale() }

// LocalAddr returns the address of this end: [Addr], unless the listener or the dial set another.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// CloseWrite ends what this end writes, as *net.TCPConn's does: the peer reads what was written and
// then io.EOF, while the other direction stays open. A Write after it fails with io.ErrClosedPipe.
func (c *Conn) CloseWrite() error { return c.out.closeWrite(io.ErrClosedPipe) }

// Close ends both directions. It returns nil.
func (c *Conn) Close() error {
	if c.out.closeWrite(net.ErrClosed) == nil {
		c.in.closeRead()
	}
	return nil
}

// SetDeadline sets the read and the write deadline. The zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the time after which Read fails. The zero time means never.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.setReadDeadline(t) }

// SetWriteDeadline sets the time after which Write fails. The zero time means never.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

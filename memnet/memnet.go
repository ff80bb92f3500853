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
// the other.
//
// Both ends are alike. They also have the method CloseWrite() error, as a
// *net.TCPConn has: the peer reads what was written and then io.EOF, while the
// other direction stays open. After Close the peer reads the same, and
//
//   - a Read or a Write of the closed end, begun or to come, fails with net.ErrClosed;
//   - a Write of the other end fails with io.ErrClosedPipe, and so does a Write
//     after CloseWrite;
//   - closing again does nothing and returns nil.
//
// Their method Stale() bool tells, without waiting, whether there is something to read,
// the end included; a client asks it before it uses a connection again.
//
// A deadline that passed fails with os.ErrDeadlineExceeded, which is a net.Error,
// until a later one is set. The bytes of one Write are never mixed with those of
// another. Nothing is allocated by Read and Write once the buffers have grown to
// their use.
func Pipe() (client, server net.Conn) {
	p := newPipe(Addr{}, Addr{})
	return &p.client, &p.server
}

// PipeSize is Pipe with room for size bytes in each direction. It is for programs that write a
// lot before anybody reads.
func PipeSize(size int) (client, server net.Conn) {
	p := newPipe(Addr{}, Addr{})
	p.toClient.bytes.bound, p.toServer.bytes.bound = size, size
	return &p.client, &p.server
}

// pipe is a connection, both ends and both directions in one allocation.
type pipe struct {
	client, server     conn
	toClient, toServer stream
}

func newPipe(clientAddr, serverAddr net.Addr) *pipe {
	p := new(pipe)
	p.toClient.init()
	p.toServer.init()
	p.client = conn{in: &p.toClient, out: &p.toServer, local: clientAddr, remote: serverAddr}
	p.server = conn{in: &p.toServer, out: &p.toClient, local: serverAddr, remote: clientAddr}
	return p
}

// conn is one end of a pipe: it reads from one stream and writes to the other.
type conn struct {
	in, out       *stream
	local, remote net.Addr
}

// Stale reports whether there is anything to read, or to be told by a read: bytes, the
// end, that the connection is closed. It does not wait.
func (c *conn) Stale() bool { return c.in.stale() }

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) CloseWrite() error { return c.out.closeWrite(io.ErrClosedPipe) }

func (c *conn) Close() error {
	if c.out.closeWrite(net.ErrClosed) == nil {
		c.in.closeRead()
	}
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.in.setReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

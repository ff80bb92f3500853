// Package memnet provides network connections in memory. A [Listener] accepts the connections that you dial with its methods,
// and [Pipe] returns both ends of a connection. Use the package to test and benchmark servers and clients without ports and
// system calls:
//
//	ln := memnet.NewListener()
//	defer ln.Close()
//	go server.Serve(ln)
//	conn, err := ln.Dial()
//
// Connections behave like TCP connections. Writes are buffered, and block when the buffer is full. Deadlines work, each
// direction can be closed separately, and all methods may be called concurrently. Buffers grow on demand, so a connection that
// carries little data uses little memory.
//
// The package works with testing/synctest. While a goroutine waits in Read, Write, Accept or Dial, testing/synctest considers
// the goroutine durably blocked. If the listener or pipe was created inside a bubble, deadlines follow the bubble's clock.
package memnet

import (
	"io"
	"net"
	"time"
)

// BufferSize is the number of bytes that a connection buffers in each direction, unless [PipeSize] set another size. A
// Write blocks while the buffer holds BufferSize unread bytes.
const BufferSize = 64 << 10

// Addr is the default address of listeners and connections. The methods Network and String of Addr return "memory".
type Addr struct{}

// Network returns "memory".
func (Addr) Network() string { return "memory" }

// String returns "memory".
func (Addr) String() string { return "memory" }

// Pipe returns the two ends of a connection. Bytes that are written to one end can be read from the other end. Both ends
// behave in the same way. The names client and server only make code easier to read.
func Pipe() (client, server *Conn) {
	p := newPipe(Addr{}, Addr{})
	return &p.client, &p.server
}

// PipeSize returns the two ends of a connection. The argument size is the capacity of the connection's buffers in bytes, for
// each direction. Use PipeSize instead of [Pipe] if a program writes more than [BufferSize] bytes before the other end reads.
// If the argument is 0 or negative, PipeSize uses [BufferSize].
func PipeSize(size int) (client, server *Conn) {
	p := newPipe(Addr{}, Addr{})
	p.toClient.bytes.bound, p.toServer.bytes.bound = size, size
	return &p.client, &p.server
}

// pipe holds both ends and both directions of a connection, so that one allocation is enough.
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

// Conn is one end of a connection in memory. A Conn is a net.Conn whose methods may be called concurrently. Get a
// Conn from [Pipe], [PipeSize] or a [Listener]; the zero value is not usable.
//
// After CloseWrite or Close, the peer reads all earlier bytes and then gets io.EOF. After Close:
//
//   - Read and Write on the closed end fail with net.ErrClosed. Calls that are already waiting fail, too.
//   - Write on the other end fails with io.ErrClosedPipe.
//   - A second Close does nothing and returns nil.
//
// After a deadline has passed, calls fail with os.ErrDeadlineExceeded, which is a net.Error. After a new deadline is
// set, calls work again. Concurrent Writes never mix their bytes. Read and Write allocate memory only when a buffer has
// to grow.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
}

// Stale reports whether an idle connection is unusable for another request. A connection is stale if bytes have arrived or one
// of its ends has been closed. The method does not block. A client calls Stale before it sends another request; see
// gallop.StaleConn.
func (c *Conn) Stale() bool { return c.in.stale() }

// LocalAddr returns the address of this end. The address is [Addr] unless [Listener.SetLocalAddr] or
// [Listener.DialWithLocalAddr] set another address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// CloseWrite closes the sending direction, like CloseWrite of a *net.TCPConn. The peer reads all earlier bytes and then gets
// io.EOF. The other direction stays open. A later Write fails with io.ErrClosedPipe.
func (c *Conn) CloseWrite() error { return c.out.closeWrite(io.ErrClosedPipe) }

// Close closes both directions. Close always returns nil.
func (c *Conn) Close() error {
	if c.out.closeWrite(net.ErrClosed) == nil {
		c.in.closeRead()
	}
	return nil
}

// SetDeadline sets the read and the write deadline. The zero time removes both deadlines. After Close, SetDeadline
// returns net.ErrClosed.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the time after which Read fails. The zero time removes the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.setReadDeadline(t) }

// SetWriteDeadline sets the time after which Write fails. The zero time removes the deadline.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

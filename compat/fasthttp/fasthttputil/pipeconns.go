package fasthttputil

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gallop-http/gallop/memnet"
)

// pipeSize is the maximum number of unread bytes in each direction. Memory is only used for bytes that are there.
const pipeSize = 16 << 20

// PipeConns holds both ends of a connection in memory. Create one with NewPipeConns.
//
// Closing one end closes both. Written bytes can still be read, followed by io.EOF, and writes fail.
type PipeConns struct{ conn1, conn2 pipeConn }

// NewPipeConns returns a new connection.
func NewPipeConns() *PipeConns {
	p := &PipeConns{}
	c1, c2 := memnet.PipeSize(pipeSize)
	p.conn1.Conn, p.conn2.Conn = c1, c2
	p.conn1.pipe, p.conn2.pipe = p, p
	return p
}

// Conn1 returns one end.
func (p *PipeConns) Conn1() net.Conn { return &p.conn1 }

// Conn2 returns the other end.
func (p *PipeConns) Conn2() net.Conn { return &p.conn2 }

// SetAddresses sets the addresses that the ends return; nil means memnet.Addr.
func (p *PipeConns) SetAddresses(localAddr1, remoteAddr1, localAddr2, remoteAddr2 net.Addr) {
	p.conn1.setAddresses(localAddr1, remoteAddr1)
	p.conn2.setAddresses(localAddr2, remoteAddr2)
}

// Close closes both ends.
func (p *PipeConns) Close() error {
	for _, c := range []*memnet.Conn{p.conn1.Conn, p.conn2.Conn} {
		_ = c.CloseWrite()
		_ = c.SetDeadline(time.Time{}) // stops the timers
	}
	return nil
}

// pipeConn is an end whose addresses can be set.
type pipeConn struct {
	*memnet.Conn
	pipe *PipeConns

	mu            sync.Mutex
	local, remote net.Addr // or nil
}

// Read reads the available bytes, and then returns io.EOF if the connection was closed.
func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, translate(err)
}

// Write writes p. It blocks while there is no room.
func (c *pipeConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, translate(err)
}

func translate(err error) error {
	switch err {
	case io.ErrClosedPipe:
		return ErrConnectionClosed
	case os.ErrDeadlineExceeded:
		return ErrTimeout
	}
	return err
}

// Close closes both ends.
func (c *pipeConn) Close() error { return c.pipe.Close() }

func (c *pipeConn) setAddresses(local, remote net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local, c.remote = local, remote
}

// LocalAddr returns the address that was set with SetAddresses.
func (c *pipeConn) LocalAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return orMemory(c.local)
}

// RemoteAddr returns the address that was set with SetAddresses.
func (c *pipeConn) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return orMemory(c.remote)
}

func orMemory(addr net.Addr) net.Addr {
	if addr == nil {
		return memnet.Addr{}
	}
	return addr
}

package fasthttputil

import (
	"net"
	"sync"

	"github.com/gallop-http/gallop/memnet"
)

// PipeConns is the two ends of a connection in memory. Make one with NewPipeConns.
type PipeConns struct{ conn1, conn2 pipeConn }

// NewPipeConns returns a connection. Each direction has room for memnet.BufferSize bytes.
func NewPipeConns() *PipeConns {
	p := &PipeConns{}
	p.conn1.Conn, p.conn2.Conn = memnet.Pipe()
	return p
}

// Conn1 returns one end.
func (p *PipeConns) Conn1() net.Conn { return &p.conn1 }

// Conn2 returns the other end.
func (p *PipeConns) Conn2() net.Conn { return &p.conn2 }

// SetAddresses says what the ends return as their addresses. nil is memnet.Addr.
func (p *PipeConns) SetAddresses(localAddr1, remoteAddr1, localAddr2, remoteAddr2 net.Addr) {
	p.conn1.setAddresses(localAddr1, remoteAddr1)
	p.conn2.setAddresses(localAddr2, remoteAddr2)
}

// Close closes both ends.
func (p *PipeConns) Close() error {
	p.conn1.Close()
	p.conn2.Close()
	return nil
}

// pipeConn is an end whose addresses can be set.
type pipeConn struct {
	net.Conn

	mu            sync.Mutex
	local, remote net.Addr // or nil
}

func (c *pipeConn) setAddresses(local, remote net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local, c.remote = local, remote
}

// CloseWrite lets the peer read io.EOF.
func (c *pipeConn) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// Stale reports whether there is something to read.
func (c *pipeConn) Stale() bool { return c.Conn.(interface{ Stale() bool }).Stale() }

// LocalAddr returns what SetAddresses said.
func (c *pipeConn) LocalAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.local == nil {
		return c.Conn.LocalAddr()
	}
	return c.local
}

// RemoteAddr returns what SetAddresses said.
func (c *pipeConn) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remote == nil {
		return c.Conn.RemoteAddr()
	}
	return c.remote
}

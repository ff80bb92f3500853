package dial

import "net"

// TunnelConn is a connection of which something has been read already, or that is secured.
type TunnelConn struct {
	net.Conn
	early []byte
	probe Probe
}

// NewTunnelConn returns a connection that begins with early and goes on with nc.
func NewTunnelConn(nc net.Conn, early []byte) *TunnelConn {
	c := &TunnelConn{Conn: nc, early: early}
	c.probe.Init(nc)
	return c
}

// NetConn returns the connection to the proxy.
func (c *TunnelConn) NetConn() net.Conn { return c.Conn }

// Stale reports whether something has come that nobody has read.
func (c *TunnelConn) Stale() bool { return len(c.early) > 0 || c.probe.Heard() }

func (c *TunnelConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.early)
	c.early = c.early[n:]
	return n, nil
}

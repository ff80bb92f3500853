package gallop

import (
	"context"
	"crypto/tls"
	"io"
	"net"
)

// tunnel is a connection to a proxy while the proxy is told what to connect it to.
//
//	buf: what the proxy has said and nobody has used yet
type tunnel struct {
	nc  net.Conn
	buf []byte

	ctx   context.Context // of the dial
	hooks *ProxyDialer    // whose functions are called, or nil
}

// fill reads once.
func (t *tunnel) fill() error {
	const room = 1024
	free := append(t.buf, make([]byte, room)...)
	n, err := t.nc.Read(free[len(t.buf):])
	t.buf = free[:len(t.buf)+n]
	switch {
	case n > 0:
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// conn returns the connection behind what the proxy said. If more than that has come
// already, it belongs to the tunnel. TLS with the proxy does not show: it is not that of who is
// at the other end.
func (t *tunnel) conn() net.Conn {
	_, secured := t.nc.(*tls.Conn)
	if len(t.buf) == 0 && !secured {
		return t.nc
	}
	c := &tunnelConn{Conn: t.nc, early: t.buf}
	c.probe.init(t.nc)
	return c
}

// tunnelConn is a connection of which something has been read already, or that is secured.
type tunnelConn struct {
	net.Conn
	early []byte
	probe probe
}

// NetConn returns the connection to the proxy.
func (c *tunnelConn) NetConn() net.Conn { return c.Conn }

// Stale reports whether something has come that nobody has read.
func (c *tunnelConn) Stale() bool { return len(c.early) > 0 || c.probe.heard() }

func (c *tunnelConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.early)
	c.early = c.early[n:]
	return n, nil
}

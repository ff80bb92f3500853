package dial

import (
	"crypto/tls"
	"io"
	"net"
)

// Tunnel is a connection to a proxy while the proxy is told what to connect it to.
//
//	buf: what the proxy has said and nobody has used yet
type Tunnel struct {
	Conn net.Conn
	buf  []byte
}

// fill reads once.
func (t *Tunnel) fill() error {
	const room = 1024
	free := append(t.buf, make([]byte, room)...)
	n, err := t.Conn.Read(free[len(t.buf):])
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

// Finish returns the connection behind what the proxy said. If more than that has come
// already, it belongs to the tunnel. TLS with the proxy does not show: it is not that of who is
// at the other end.
func (t *Tunnel) Finish() net.Conn {
	_, secured := t.Conn.(*tls.Conn)
	if len(t.buf) == 0 && !secured {
		return t.Conn
	}
	c := &TunnelConn{Conn: t.Conn, early: t.buf}
	c.probe.Init(t.Conn)
	return c
}

// TunnelConn is a connection of which something has been read already, or that is secured.
type TunnelConn struct {
	net.Conn
	early []byte
	probe Probe
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

package dial

import (
	"crypto/tls"
	"io"
	"net"
)

// Tunnel is a connection to a proxy that is asked to connect to a Target.
type Tunnel struct {
	Conn net.Conn
	buf  []byte // bytes that the proxy has sent and that no message has used yet
}

// fill reads once and appends to buf.
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

// Finish returns the connection to the Target, after the proxy has agreed. Bytes that the proxy sent after its last
// message belong to the Target. The connection hides TLS with the proxy, which says nothing about the Target.
func (t *Tunnel) Finish() net.Conn {
	_, secured := t.Conn.(*tls.Conn)
	if len(t.buf) == 0 && !secured {
		return t.Conn
	}
	c := &TunnelConn{Conn: t.Conn, early: t.buf}
	c.probe.Init(t.Conn)
	return c
}

// TunnelConn is a tunnel whose first bytes have been read already, or that runs over TLS with the proxy.
type TunnelConn struct {
	net.Conn
	early []byte
	probe Probe
}

// NetConn returns the connection to the proxy.
func (c *TunnelConn) NetConn() net.Conn { return c.Conn }

// Stale reports whether input has arrived that was not read.
func (c *TunnelConn) Stale() bool { return len(c.early) > 0 || c.probe.Heard() }

// Read implements io.Reader.
func (c *TunnelConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.early)
	c.early = c.early[n:]
	return n, nil
}

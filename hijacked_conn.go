package gallop

import "net"

// hijackedConn is a connection with bytes that were read before it was hijacked.
type hijackedConn struct {
	net.Conn
	rest []byte
}

func (c *hijackedConn) Read(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Buffered returns how many bytes there are that were read before.
func (c *hijackedConn) Buffered() int { return len(c.rest) }

// NetConn returns the connection below, as tls.Conn.NetConn does. What was read
// before may be missing from it.
func (c *hijackedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the connection for writing, if it can.
func (c *hijackedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return net.ErrClosed
}

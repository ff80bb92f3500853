package gallop

import "net"

// hijackedConn is a connection that was handed over after some bytes were read from it. Read returns those bytes first.
type hijackedConn struct {
	net.Conn
	rest []byte
}

// Read implements io.Reader.
func (c *hijackedConn) Read(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Buffered returns how many of the bytes that were read before are still to be returned by Read.
func (c *hijackedConn) Buffered() int { return len(c.rest) }

// NetConn returns the underlying connection, like tls.Conn.NetConn. Reads from the underlying
// connection may miss bytes that the server read before the hijack.
func (c *hijackedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the connection for writing. It returns net.ErrClosed if the underlying connection has no such method.
func (c *hijackedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return net.ErrClosed
}

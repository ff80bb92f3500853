package dial

import "net"

// RestConn is a connection that was handed over after some bytes were read from it. Read returns those bytes first.
type RestConn struct {
	net.Conn
	Rest []byte
}

// Read implements io.Reader.
func (c *RestConn) Read(p []byte) (int, error) {
	if len(c.Rest) > 0 {
		n := copy(p, c.Rest)
		c.Rest = c.Rest[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Buffered returns how many of the bytes that were read before are still to be returned by Read.
func (c *RestConn) Buffered() int { return len(c.Rest) }

// NetConn returns the underlying connection, like tls.Conn.NetConn. Reads from the underlying
// connection may miss bytes that the server read before the hijack.
func (c *RestConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the connection for writing. It returns net.ErrClosed if the underlying connection has no such method.
func (c *RestConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return net.ErrClosed
}

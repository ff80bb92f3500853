package gallop

import (
	"context"
	"crypto/tls"
	"io"
	"net"

	"github.com/gallop-http/gallop/internal/dial"
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
	return dial.NewTunnelConn(t.nc, t.buf)
}

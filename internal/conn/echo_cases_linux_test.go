package conn_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"testing"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func init() {
	for name, d := range map[string]dispatch{"predicted": predicted, "always": always, "never": never} {
		listen := func(t *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
			s.loop = d
			return listenTCP(t)
		}
		kernel := func(_ *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
			s.loop = d
			ln := s.kernel().Listen()
			return ln, ln.Dial
		}
		echoTransports = append(echoTransports,
			echoTransport{"loop/memory/" + name, true, kernel},
			echoTransport{"loop/memory-tls/" + name, true, overTLS(kernel)},
			echoTransport{"loop/tcp/" + name, false, listen},
			echoTransport{"loop/tls/" + name, false, overTLS(listen)})
	}
}

type listenFunc = func(*testing.T, *echoServer) (net.Listener, func() (net.Conn, error))

// overTLS puts TLS around what listen returns.
func overTLS(listen listenFunc) listenFunc {
	return func(t *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
		ln, dial := listen(t, s)
		s.dialBelow = dial
		return &conn.TLSListener{Listener: ln, Config: echoTLS()}, func() (net.Conn, error) {
			nc, err := dial()
			if err != nil {
				return nil, err
			}
			return shakenClient(nc)
		}
	}
}

func echoTLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{echoCertificate()}, CurvePreferences: []tls.CurveID{tls.X25519}}
}

// shakenClient does the handshake on nc. Goroutines that do it together would wait for each other, unseen by synctest.
func shakenClient(nc net.Conn) (*tls.Conn, error) {
	c := tls.Client(&tailConn{Conn: nc}, &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// tailConn is below a TLS client, and keeps the last bytes that were read. crypto/tls does not say whether there was a
// close_notify.
type tailConn struct {
	net.Conn
	last []byte
}

func (c *tailConn) NetConn() net.Conn { return c.Conn }

func (c *tailConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.last = append(c.last, p[:n]...)
	c.last = c.last[max(0, len(c.last)-alertRecord):]
	return n, err
}

// alertRecord is the size of an alert of TLS 1.3. No frame fits into such a record.
const alertRecord = 5 + 2 + 1 + 16

// notified reports whether the last record was an alert. The client has stopped reading.
func notified(nc net.Conn) bool {
	last := nc.(*tls.Conn).NetConn().(*tailConn).last
	return bytes.HasPrefix(last, []byte{23, 3, 3, 0, alertRecord - 5})
}

// kernel returns the simulated kernel of the server's loops.
func (s *echoServer) kernel() *wiretest.Kernel {
	return s.Loops.OnKernel(func() poll.Kernel { return wiretest.NewKernel() }).(*wiretest.Kernel)
}

package conn_test

import (
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
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// kernel returns the simulated kernel of the server's loops.
func (s *echoServer) kernel() *wiretest.Kernel {
	return s.Loops.OnKernel(func() poll.Kernel { return wiretest.NewKernel() }).(*wiretest.Kernel)
}

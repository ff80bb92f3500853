package conn_test

import (
	"net"
	"testing"

	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func init() {
	for name, d := range map[string]dispatch{"predicted": predicted, "always": always, "never": never} {
		echoTransports = append(echoTransports,
			echoTransport{"loop/memory/" + name, true, func(_ *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
				s.loop = d
				ln := s.kernel().Listen()
				return ln, ln.Dial
			}},
			echoTransport{"loop/tcp/" + name, false, func(t *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
				s.loop = d
				return listenTCP(t)
			}})
	}
}

// kernel returns the simulated kernel of the server's loops.
func (s *echoServer) kernel() *wiretest.Kernel {
	return s.Loops.OnKernel(func() poll.Kernel { return wiretest.NewKernel() }).(*wiretest.Kernel)
}

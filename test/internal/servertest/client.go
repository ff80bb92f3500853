package servertest

import (
	"context"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// ConnectBy sets the function with which d connects to an address, in place of the network, and returns d.
func ConnectBy(d *gallop.TCPDialer, connect func(ctx context.Context, network, addr string) (net.Conn, error)) *gallop.TCPDialer {
	testhook.ConnectBy(d, connect)
	return d
}

// NewTLSPeer returns a TLS server with a certificate of its own for host.
func NewTLSPeer(t testing.TB, host string) *wiretest.TLSPeer {
	t.Helper()
	return wiretest.NewTLSPeer(t, host, gallop.GenerateTestCertificate)
}

// PipelineClientState is what a PipelineClient holds at a moment.
type PipelineClientState struct {
	Conns  int // open connections
	Slots  int // calls that are being made
	Ahead  int // requests without a response that were sent on the first connection
	Window int // how many requests may be sent ahead on a new connection
}

// PipelineState returns what c holds.
func PipelineState(c *gallop.PipelineClient) (s PipelineClientState) {
	s.Conns, s.Slots, s.Ahead, s.Window = testhook.PipelineState(c)
	return s
}

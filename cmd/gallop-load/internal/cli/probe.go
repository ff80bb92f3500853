package cli

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

// probeTimeout limits a probe if the plan has no limit on connecting.
const probeTimeout = 10 * time.Second

// probe opens one connection to the target, so that a wrong address or a wrong certificate is reported once and before the run. It
// returns what the connection says about the target.
func probe(p *plan.Plan) (result.Target, error) {
	o := &p.Options
	t := result.Target{URL: p.URL, Proto: "HTTP/1.1"}
	if o.Proto == engine.HTTP2 {
		t.Proto = "HTTP/2"
	}
	if o.Proxy != nil {
		return t, nil
	}
	timeout := o.DialTimeout
	if timeout == 0 {
		timeout = probeTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, o.Network, o.Address)
	if err != nil {
		return t, err
	}
	defer conn.Close()
	t.Peer = conn.RemoteAddr().String()
	if o.Scheme != "https" {
		return t, nil
	}
	config := o.TLS.Clone()
	config.NextProtos = map[engine.Proto][]string{engine.Auto: {"h2", "http/1.1"}, engine.HTTP1: {"http/1.1"}, engine.HTTP2: {"h2"}}[o.Proto]
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return t, err
	}
	state := secure.ConnectionState()
	t.TLS = tls.VersionName(state.Version)
	if state.NegotiatedProtocol == "h2" {
		t.Proto = "HTTP/2"
	}
	return t, nil
}

package gallop

import (
	"context"
	"crypto/tls"
	"net/netip"
)

// dialTrace is told what dialing does. Any of its functions may be nil. Those for
// connecting are called concurrently when several addresses are tried.
type dialTrace struct {
	dnsStart     func(host string)
	dnsDone      func(host string, addrs []netip.Addr, err error)
	connectStart func(network, addr string)
	connectDone  func(network, addr string, err error)
	tlsStart     func()
	tlsDone      func(state tls.ConnectionState, err error)
}

type dialTraceKey struct{}

// withDialTrace returns a context whose dials are traced.
func withDialTrace(ctx context.Context, t *dialTrace) context.Context {
	return context.WithValue(ctx, dialTraceKey{}, t)
}

// dialTraceOf returns the trace of ctx, or nil, on which the methods below do nothing.
func dialTraceOf(ctx context.Context) *dialTrace {
	t, _ := ctx.Value(dialTraceKey{}).(*dialTrace)
	return t
}

func (t *dialTrace) onDNSStart(host string) {
	if t != nil && t.dnsStart != nil {
		t.dnsStart(host)
	}
}

func (t *dialTrace) onDNSDone(host string, addrs []netip.Addr, err error) {
	if t != nil && t.dnsDone != nil {
		t.dnsDone(host, addrs, err)
	}
}

func (t *dialTrace) onConnectStart(network, addr string) {
	if t != nil && t.connectStart != nil {
		t.connectStart(network, addr)
	}
}

func (t *dialTrace) onConnectDone(network, addr string, err error) {
	if t != nil && t.connectDone != nil {
		t.connectDone(network, addr, err)
	}
}

func (t *dialTrace) onTLSStart() {
	if t != nil && t.tlsStart != nil {
		t.tlsStart()
	}
}

func (t *dialTrace) onTLSDone(state tls.ConnectionState, err error) {
	if t != nil && t.tlsDone != nil {
		t.tlsDone(state, err)
	}
}

package dial

import (
	"context"
	"crypto/tls"
	"net/netip"
)

// Trace has functions that a dial calls to report what it does. Any function may be nil. If a dial tries several
// addresses, it calls ConnectStart and ConnectDone concurrently.
type Trace struct {
	DNSStart     func(host string)
	DNSDone      func(host string, addrs []netip.Addr, err error)
	ConnectStart func(network, addr string)
	ConnectDone  func(network, addr string, err error)
	TLSStart     func()
	TLSDone      func(state tls.ConnectionState, err error)
}

type traceKey struct{}

// WithTrace returns a context whose dials are traced.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace of ctx, or nil. The methods of a nil Trace do nothing.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

func (t *Trace) onDNSStart(host string) {
	if t != nil && t.DNSStart != nil {
		t.DNSStart(host)
	}
}

func (t *Trace) onDNSDone(host string, addrs []netip.Addr, err error) {
	if t != nil && t.DNSDone != nil {
		t.DNSDone(host, addrs, err)
	}
}

func (t *Trace) onConnectStart(network, addr string) {
	if t != nil && t.ConnectStart != nil {
		t.ConnectStart(network, addr)
	}
}

func (t *Trace) onConnectDone(network, addr string, err error) {
	if t != nil && t.ConnectDone != nil {
		t.ConnectDone(network, addr, err)
	}
}

// OnTLSStart reports that a TLS handshake begins.
func (t *Trace) OnTLSStart() {
	if t != nil && t.TLSStart != nil {
		t.TLSStart()
	}
}

// OnTLSDone reports the result of a TLS handshake.
func (t *Trace) OnTLSDone(state tls.ConnectionState, err error) {
	if t != nil && t.TLSDone != nil {
		t.TLSDone(state, err)
	}
}

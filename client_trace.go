package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"
)

// ClientTrace is told what happens to the calls of a client. Any of its functions may
// be nil, and a nil trace costs nothing. They are called by whoever does the work,
// several at a time if several calls are made, and hold up the call while they run.
type ClientTrace struct {
	// GetConn is called when a call begins to look for a connection to addr.
	GetConn func(addr string)

	// GotConn is called when it has one.
	GotConn func(GotConnInfo)

	// PutIdleConn is called when a connection is kept for another call.
	PutIdleConn func(addr string)

	// DNSStart and DNSDone are called around the lookup of a name.
	DNSStart func(host string)
	DNSDone  func(host string, addrs []netip.Addr, err error)

	// ConnectStart and ConnectDone are called around each attempt to connect. Several
	// addresses may be tried at the same time.
	ConnectStart func(network, addr string)
	ConnectDone  func(network, addr string, err error)

	// TLSHandshakeStart and TLSHandshakeDone are called around the handshake.
	TLSHandshakeStart func()
	TLSHandshakeDone  func(state tls.ConnectionState, err error)

	// WroteHeaders is called when the head was written, and with it a body that is small.
	WroteHeaders func()

	// WroteRequest is called when the request was written, or could not be.
	WroteRequest func(err error)

	// GotFirstByte is called at the first byte of an answer.
	GotFirstByte func()

	// GotInterim is called with the head of each interim answer but 101, which holds as
	// long as the function runs.
	GotInterim func(resp *Response)
}

type clientTraceKey struct{}

// WithClientTrace returns a context whose calls tell trace, and not that of the client,
// what happens to them.
func WithClientTrace(ctx context.Context, trace *ClientTrace) context.Context {
	return context.WithValue(ctx, clientTraceKey{}, trace)
}

// traceOf returns who is to be told of the calls of ctx, or nil.
func (s *clientSettings) traceOf(ctx context.Context) *ClientTrace {
	if t, ok := ctx.Value(clientTraceKey{}).(*ClientTrace); ok {
		return t
	}
	return s.trace
}

// of returns the settings for the calls of ctx.
func (s *clientSettings) of(ctx context.Context) *clientSettings {
	t := s.traceOf(ctx)
	if t == s.trace {
		return s
	}
	own := *s
	own.trace = t
	return &own
}

// GotConnInfo says which connection a call has got.
type GotConnInfo struct {
	Conn   net.Conn
	Addr   string        // as it was dialed
	Reused bool          // whether it was used before
	Idle   time.Duration // for how long it was idle if it was
}

// dialing returns the context for a dial that is traced.
func (t *ClientTrace) dialing(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return withDialTrace(ctx, &dialTrace{
		dnsStart: t.DNSStart, dnsDone: t.DNSDone,
		connectStart: t.ConnectStart, connectDone: t.ConnectDone,
		tlsStart: t.TLSHandshakeStart, tlsDone: t.TLSHandshakeDone,
	})
}

func (t *ClientTrace) getConn(addr string) {
	if t != nil && t.GetConn != nil {
		t.GetConn(addr)
	}
}

func (t *ClientTrace) gotConn(cc *clientConn) {
	if t == nil || t.GotConn == nil {
		return
	}
	info := GotConnInfo{Conn: cc.nc, Addr: cc.addr, Reused: cc.calls > 0}
	if info.Reused {
		info.Idle = time.Duration(momentNow() - cc.idleAt)
	}
	t.GotConn(info)
}

func (t *ClientTrace) putIdle(addr string) {
	if t != nil && t.PutIdleConn != nil {
		t.PutIdleConn(addr)
	}
}

func (t *ClientTrace) wroteHeaders() {
	if t != nil && t.WroteHeaders != nil {
		t.WroteHeaders()
	}
}

func (t *ClientTrace) wroteRequest(err error) {
	if t != nil && t.WroteRequest != nil {
		t.WroteRequest(err)
	}
}

func (t *ClientTrace) gotFirstByte() {
	if t != nil && t.GotFirstByte != nil {
		t.GotFirstByte()
	}
}

func (t *ClientTrace) gotInterim(resp *Response) {
	if t != nil && t.GotInterim != nil {
		t.GotInterim(resp)
	}
}

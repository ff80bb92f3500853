package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/pool"
)

// ClientTrace contains functions that are called at certain points of a client call. Use [WithClientTrace] to trace a
// call. Any function may be nil. The functions may run on any goroutine and may run concurrently. While one of the
// functions runs, the call waits.
type ClientTrace struct {
	// GetConn is called before the client looks for a connection to addr.
	GetConn func(addr string)

	// GotConn is called when the call gets a connection, whether new or reused.
	GotConn func(GotConnInfo)

	// PutIdleConn is called when the connection to addr is returned to the pool.
	PutIdleConn func(addr string)

	// DNSStart is called before a DNS lookup.
	DNSStart func(host string)

	// DNSDone is called after a DNS lookup, with the addresses or the error.
	DNSDone func(host string, addrs []netip.Addr, err error)

	// ConnectStart is called before each attempt to connect. The dialer can try several addresses concurrently.
	ConnectStart func(network, addr string)

	// ConnectDone is called after each attempt to connect. If the attempt succeeded, err is nil.
	ConnectDone func(network, addr string, err error)

	// TLSHandshakeStart is called before a TLS handshake.
	TLSHandshakeStart func()

	// TLSHandshakeDone is called after a TLS handshake. If the handshake succeeded, err is nil.
	TLSHandshakeDone func(state tls.ConnectionState, err error)

	// WroteHeaders is called when the request line and headers have been written. A small body is sent in the same
	// write as the headers.
	WroteHeaders func()

	// WroteRequest is called when the whole request has been written, or when a write has failed. The argument err is
	// nil if the request was written.
	WroteRequest func(err error)

	// GotFirstByte is called when the first byte of the response has been read.
	GotFirstByte func()

	// GotInterim is called with each interim response except 101. The argument resp is valid until the function returns.
	GotInterim func(resp *Response)

	// CallFailed is called when the last attempt of a call has failed, and when reading a streamed response body
	// fails. err always names the method, the URL and the phase, even if the call itself returns a plain ErrTimeout.
	// The function may keep err.
	CallFailed func(err *CallError)
}

type clientTraceKey struct{}

// WithClientTrace returns a copy of ctx that carries trace. If you pass the returned context to Client.DoContext or
// HostClient.DoContext, the call invokes the functions in trace. The argument trace replaces any trace that ctx
// already has. If trace is nil, calls with the returned context are not traced.
func WithClientTrace(ctx context.Context, trace *ClientTrace) context.Context {
	return context.WithValue(ctx, clientTraceKey{}, trace)
}

// traceOf returns the trace for the calls of ctx, or nil.
func (s *clientSettings) traceOf(ctx context.Context) *ClientTrace {
	if t, ok := ctx.Value(clientTraceKey{}).(*ClientTrace); ok {
		return t
	}
	return s.trace
}

// traceFrom returns the trace that ctx has, or nil.
func traceFrom(ctx context.Context) *ClientTrace {
	t, _ := ctx.Value(clientTraceKey{}).(*ClientTrace)
	return t
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

// GotConnInfo describes the connection that a call uses. See [ClientTrace.GotConn].
type GotConnInfo struct {
	// Conn is the network connection. Do not read from, write to or close Conn.
	Conn net.Conn

	// ConnID identifies the connection among all client connections of the process. The first connection has the
	// ConnID 1.
	ConnID uint64

	// Protocol is the version of HTTP on the connection: "HTTP/1.1" or "HTTP/2.0".
	Protocol string

	// Addr is the address that was dialed.
	Addr string

	// Reused reports whether an earlier call used the connection.
	Reused bool

	// Idle is how long the connection was idle before the call. If Reused is false, Idle is 0.
	Idle time.Duration
}

// dialing returns the context for a dial that is traced.
func (t *ClientTrace) dialing(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	trace := &dial.Trace{
		DNSStart: t.DNSStart, ConnectStart: t.ConnectStart, ConnectDone: t.ConnectDone,
		TLSStart: t.TLSHandshakeStart, TLSDone: t.TLSHandshakeDone,
	}
	if done := t.DNSDone; done != nil {
		trace.DNSDone = func(host string, addrs []netip.Addr, err error) { done(host, addrs, shownPanic(err)) }
	}
	return dial.WithTrace(ctx, trace)
}

func (t *ClientTrace) getConn(addr string) {
	if t != nil && t.GetConn != nil {
		t.GetConn(addr)
	}
}

func (t *ClientTrace) gotConn(cc *ClientConn) {
	if t == nil || t.GotConn == nil {
		return
	}
	info := GotConnInfo{Conn: cc.nc, ConnID: cc.id, Protocol: "HTTP/1.1", Addr: cc.addr, Reused: cc.member.Uses > 0}
	if info.Reused {
		info.Idle = time.Duration(pool.Now() - cc.member.IdleAt())
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

// callFailed shows a copy of call, since the call may return call itself.
func (t *ClientTrace) callFailed(call *CallError) {
	if t != nil && t.CallFailed != nil {
		shown := *call
		t.CallFailed(&shown)
	}
}

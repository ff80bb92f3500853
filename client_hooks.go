package gallop

import (
	"bufio"
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

// RoundTripper makes a single attempt of a call. To wrap whole calls, implement [Doer] instead.
type RoundTripper interface {
	// RoundTrip sends req to hc's host and reads the response into resp. RoundTrip must stop when req.Context() is done.
	// If req.GetTimeOut() is not 0, RoundTrip must also stop after that time. If RoundTrip returns an error, retry reports
	// whether hc may make another attempt. RoundTrip may be called concurrently.
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport makes attempts in the same way as a HostClient whose Transport is nil. Assigning to DefaultTransport
// has no effect. Set [HostClient.Transport] or [Client.Transport] instead.
var DefaultTransport RoundTripper = transport{}

type transport struct{}

func (transport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if err := hc.init(); err != nil {
		return false, err
	}
	var deadline time.Time
	if req.timeout > 0 {
		deadline = time.Now().Add(req.timeout)
	}
	err = hc.attempt(req.Context(), deadline, nil, req, resp, false)
	_, unsent := err.(requestError)
	return err != nil && !unsent, unmarked(err)
}

// transport lets t make an attempt. t gets the deadline as the request's timeout, and ctx as its
// context.
func (c *HostClient) transport(ctx context.Context, deadline time.Time, t RoundTripper, req *Request, resp *Response) error {
	timeout, outer := req.timeout, req.ctx
	defer func() { req.timeout, req.ctx = timeout, outer }()
	if req.ctx = ctx; !deadline.IsZero() {
		if req.timeout = time.Until(deadline); req.timeout <= 0 {
			return ErrTimeout
		}
	}
	retry, err := t.RoundTrip(c, req, resp)
	if err != nil && !retry {
		err = requestError{unmarked(err)}
	}
	return err
}

// AcquireConn returns an HTTP/1 connection for a custom RoundTripper. AcquireConn waits at most reqTimeout for a
// connection. If reqTimeout is 0, the wait is unlimited. If connectionClose is true, AcquireConn always opens a new
// connection. Return the connection with ReleaseConn or CloseConn. If Protocols does not contain HTTP/1, the error
// wraps errors.ErrUnsupported.
//
// Deprecated: several calls share an HTTP/2 connection. See [ClientConn].
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (*ClientConn, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	var deadline time.Time
	if reqTimeout > 0 {
		deadline = time.Now().Add(reqTimeout)
	}
	if !c.mayUseH1() {
		return nil, errNeedsHTTP1
	}
	cc, err := c.getHTTP1(context.Background(), deadline, nil, connectionClose, false)
	err = unmarked(err)
	if err == nil {
		cc.set = c.set // that of the last call may have a trace
		cc.armRead(time.Time{})
		cc.armWrite(time.Time{})
		cc.member.Uses++
	}
	return cc, err
}

// ReleaseConn returns a connection from AcquireConn to the pool. No request may be in flight on the connection.
// Before you call ReleaseConn, clear any deadlines that you have set on the connection.
//
// Deprecated: see [ClientConn].
func (c *HostClient) ReleaseConn(cc *ClientConn) { c.putConn(cc) }

// CloseConn closes a connection from AcquireConn and removes it from the pool.
//
// Deprecated: see [ClientConn].
func (c *HostClient) CloseConn(cc *ClientConn) { c.discardConn(cc) }

// AcquireReader returns a buffered reader for conn, with a buffer of ReadBufferSize bytes.
func (c *HostClient) AcquireReader(conn net.Conn) *bufio.Reader {
	return bufio.NewReaderSize(conn, orDefault(c.ReadBufferSize, defaultClientBuffer))
}

// ReleaseReader releases a reader that AcquireReader returned. Do not use br after ReleaseReader.
func (c *HostClient) ReleaseReader(br *bufio.Reader) { br.Reset(nil) }

// AcquireWriter returns a buffered writer for conn, with a buffer of WriteBufferSize bytes.
func (c *HostClient) AcquireWriter(conn net.Conn) *bufio.Writer {
	return bufio.NewWriterSize(conn, orDefault(c.WriteBufferSize, defaultClientBuffer))
}

// ReleaseWriter releases a writer that AcquireWriter returned. Do not use bw after ReleaseWriter.
func (c *HostClient) ReleaseWriter(bw *bufio.Writer) { bw.Reset(nil) }

package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/h2client"
	"github.com/gallop-http/gallop/internal/pool"
)

// HostClient sends requests to one host and keeps connections for reuse. Addr must be set. The zero value of
// every other field is a safe default.
//
// All methods may be called concurrently. Do not change fields after the first call, and do not copy a
// HostClient. docs/design/0004-client.md describes how calls are made and when a request can be sent twice.
//
// Requests go to Addr, even if the request's URI has another host. The Host header contains the URI's host.
//
// If a function that you have set in a field panics or calls runtime.Goexit, the client closes the connection. The call
// then panics too. The client can run Dial and some other functions on a separate goroutine. If one of these functions
// blocks, the call still returns when its context is done. If a function panics on a separate goroutine, the call
// panics too, unless the call has already ended. If a Resolver panics, calls return a *PanicError. If a body stream
// panics, calls return an *ErrBodyStreamWritePanic.
type HostClient struct {
	_ noCopy

	// Addr is the address to connect to, as host:port. Addr can list several addresses, separated by commas. Each new
	// connection uses the next address in the list. The default port is 80. If IsTLS is set, the default port is 443. For
	// a unix socket, use "unix:" followed by the path; see TCPDialer.
	Addr string

	// IsTLS makes the client use TLS for its connections. If IsTLS is set, requests with an http URI fail.
	IsTLS bool

	// IsProxy says that Addr is a forward proxy, which expects full URIs as request targets (RFC 9112 §3.2.2). Set the
	// request target and the Host header in the request's Header. The client sends the target and the Host header
	// unchanged.
	IsProxy bool

	// TLSConfig configures TLS. Nil means the default configuration. The client uses a clone of the configuration. If
	// ServerName is empty, the client uses the host in the server's address as the server name. Do not change the
	// configuration after its first use, because the client can resume TLS sessions from before the change.
	//
	// If ClientSessionCache is nil, the client has its own cache of TLS sessions for each configuration. The client caches
	// no sessions if VerifyPeerCertificate is set without VerifyConnection: crypto/tls does not call VerifyPeerCertificate
	// for resumed sessions.
	TLSConfig *tls.Config

	// Name is the User-Agent header of requests that do not set a User-Agent. The default is "gallop".
	Name string

	// NoDefaultUserAgentHeader turns off the default User-Agent. A User-Agent from Name or from the request is still
	// sent.
	NoDefaultUserAgentHeader bool

	// DialContext opens connections. The function's network argument is always "tcp". DialContext takes precedence
	// over DialTimeout, which takes precedence over Dial. If DialContext, DialTimeout and Dial are all nil, the client
	// uses a TCPDialer that the whole process shares.
	//
	// DialContext runs on its own goroutine. When the call that needs the connection ends, the context is cancelled. The
	// call returns even if DialContext is still running. If another connection becomes idle before DialContext returns,
	// the call uses the idle connection. The client then keeps the new connection for a later call.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialTimeout opens connections. The function's timeout argument is the time left for the call, or
	// DefaultDialTimeout if the call has no deadline.
	//
	// If DialTimeout or Dial is set, Addr may also be empty or the path of a socket. DialTimeout and Dial get Addr
	// unchanged, without a default port. If IsTLS is set, the function may return a connection that already uses TLS. If
	// the connection has a method Handshake() error, the client assumes that the connection uses TLS. A function that
	// returns a TLS connection must verify the server's certificate itself.
	DialTimeout DialFuncWithTimeout

	// Dial opens connections. The function has no timeout argument. If the call times out while Dial is running, the call
	// fails. The client then closes the connection as soon as Dial returns. See DialTimeout for Addr and TLS.
	Dial DialFunc

	// DialDualStack makes the default dialer use IPv4 and IPv6. Without DialDualStack, the default dialer uses IPv4
	// only, as in fasthttp, and refuses IPv6 addresses. DialDualStack has no effect on DialContext, DialTimeout and
	// Dial.
	DialDualStack bool

	// Proxy returns the proxy for a new connection to target, or nil for a direct connection. See [ProxyDialer.URL] for
	// the schemes of proxies. The argument target contains only a scheme and a host with a port. The scheme is "http" or
	// "https". The usual value is ProxyRulesFromEnvironment().Proxy. If Proxy is nil, no proxy is used.
	//
	// Proxy is called when a connection is opened, not when an open connection is reused. Later calls can reuse a
	// connection that was opened for another call. The argument ctx has the context values of the call that needs the
	// connection. When this call ends, ctx is done. Proxy must be safe for concurrent use.
	//
	// If Proxy returns a proxy, DialContext connects to the proxy, and DialTimeout and Dial are not used. For https
	// proxies, the client also uses TLSConfig, but ignores its ServerName.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Protocols is the set of protocols to use. Nil means HTTP/1, and HTTP/2 over TLS. If the set contains HTTP/2, the client
	// offers HTTP/2 in TLS handshakes, and uses the protocol that the server chooses. Without TLS, the client uses HTTP/2 only if
	// the set contains UnencryptedHTTP2 and lacks HTTP/1, as in net/http. If the set has no protocol for a connection, calls fail
	// with an error that wraps ErrProtocols. Do not change the set after the first call.
	//
	// If Protocols is nil, TLSConfig.NextProtos can turn HTTP/2 off: the client offers HTTP/2 only if NextProtos is empty or
	// contains "h2". A TLS connection from Dial or DialTimeout uses HTTP/2 only if Protocols contains HTTP/2 and the connection
	// has negotiated "h2".
	//
	// Over HTTP/2, one connection carries many calls. Requests to a forward proxy (IsProxy) and requests with an Upgrade header
	// always use HTTP/1, and so does AcquireConn.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults.
	HTTP2 *HTTP2Config

	// MaxConns limits the open connections. Zero or a negative value means DefaultMaxConnsPerHost. When the limit is
	// reached, calls that need a new connection fail or wait; see MaxConnWaitTimeout. With HTTP/1, MaxConns also limits
	// the calls in flight, because an HTTP/1 connection carries one call at a time. With HTTP/2, MaxConns does not
	// limit the calls in flight.
	MaxConns int

	// MaxIdleConns limits the idle connections that are kept. Zero means MaxConns. A negative value means that no idle
	// connections are kept.
	MaxIdleConns int

	// MaxIdleConnDuration is how long an idle connection is kept. Zero means DefaultMaxIdleConnDuration. A
	// negative value means no limit.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is the maximum age of a connection. Zero or a negative value means no limit. When a connection
	// exceeds its maximum age, the next request on this connection is sent with Connection: close (RFC 9112 §9.6).
	MaxConnDuration time.Duration

	// MaxConnWaitTimeout is how long a call waits for a connection when MaxConns connections are in use. Zero means
	// that the call fails at once with ErrNoFreeConns. With a negative value, the call waits until its deadline passes
	// or its context is done. The call that has waited longest gets the next free connection.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy chooses which idle connection is used next. The default is LIFO. If the value is neither LIFO nor
	// FIFO, a call that finds an idle connection fails with ErrConnPoolStrategyNotImpl.
	ConnPoolStrategy ConnPoolStrategyType

	// ReadTimeout limits the time from the start of an attempt to the end of its response. With zero or a negative value,
	// only the call's deadline applies. If the request has a large body, the time starts when the body has been sent. The
	// timeout can fire late by up to a sixteenth of its duration, but never by more than one second.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write a request. With zero or a negative value, only the call's deadline applies.
	// The timeout can fire late by up to a sixteenth of its duration, but never by more than one second.
	WriteTimeout time.Duration

	// TLSHandshakeTimeout limits a TLS handshake with the server or with an https proxy. Zero means ten seconds, or
	// WriteTimeout if WriteTimeout is shorter. With a negative value, only the call's deadline applies. When this time is
	// over, the call fails with ErrTLSHandshakeTimeout.
	TLSHandshakeTimeout time.Duration

	// ExpectContinueTimeout limits the wait for a 100 response to a request with Expect: 100-continue (RFC 9110
	// §10.1.1). After the wait, the client sends the request body. Zero means one second. A negative value means that
	// the body is sent without waiting.
	ExpectContinueTimeout time.Duration

	// ReadBufferSize is the initial size of the buffer for responses, in bytes. Zero or a negative value means 4096. If
	// response headers do not fit, the buffer grows up to MaxResponseHeaderBytes. If MaxResponseHeaderBytes is not set,
	// ReadBufferSize is also the limit for response headers.
	ReadBufferSize int

	// WriteBufferSize is the size of the buffer that [HostClient.AcquireWriter] returns, in bytes. WriteBufferSize has no
	// effect on calls.
	//
	// Deprecated: requests are assembled in a buffer that grows to their size.
	WriteBufferSize int

	// MaxResponseHeaderBytes is the maximum size of a response's status line and headers, in bytes. Zero or a negative
	// value means the value of ReadBufferSize, as in fasthttp. If ReadBufferSize is not set either, the maximum is 4096.
	// If a response exceeds the maximum, the call fails with an *ErrSmallBuffer that names the limit.
	MaxResponseHeaderBytes int

	// MaxResponseBodySize is the maximum size of a response body that is read into memory, in bytes. Zero means
	// DefaultMaxResponseBodySize. A negative value means no limit. If a body exceeds the maximum, the call fails with
	// ErrBodyTooLarge. The limit does not apply to streamed bodies.
	MaxResponseBodySize int

	// StreamResponseBody makes calls return as soon as the response headers have arrived. With StreamResponseBody, the
	// response body is a stream; see [Response.BodyStream]. The connection stays in use until the stream is read to its
	// end or closed with CloseBodyStream. [Response.StreamBody] does the same for a single call.
	StreamResponseBody bool

	// OnInterim is called with each interim response (1xx) except 101. An example of an interim response is 103 (Early
	// Hints). The argument resp is valid until the function returns. If OnInterim is nil, interim responses are ignored.
	OnInterim func(resp *Response)

	// MaxIdemponentCallAttempts is the maximum number of times that a call sends its request. The number includes the
	// first attempt. Zero or a negative value means DefaultMaxIdemponentCallAttempts. If MaxIdemponentCallAttempts is 1,
	// no request is ever retried, regardless of all other settings.
	MaxIdemponentCallAttempts int

	// RetryIf decides whether a failed request is sent again. The function does not get the error.
	//
	// Deprecated: use RetryIfErr, which takes precedence.
	RetryIf RetryIfFunc

	// RetryIfErr decides whether a failed request is sent again. If RetryIfErr is nil, a request is retried at most once,
	// and only if SafeToRetry returns true. Without RetryIfErr, a request is retried only if it was sent on a reused
	// connection that closed before the response began.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream decides whether a failed request is sent again. Unlike RetryIfErr, the function gets the
	// server's address. RetryIfErrUpstream takes precedence over RetryIfErr.
	//
	// Deprecated: use RetryIfErr.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// DetailedErrors makes every error contain the method, the URL and the phase of the call. If the connection closes
	// before the response begins, the error is a *ClosedError. Most other errors are of type *CallError. For example, a
	// timeout returns a *CallError that wraps ErrTimeout. Without DetailedErrors, errors that fasthttp programs compare
	// with ==, such as ErrTimeout, are returned unwrapped. Unless DetailedErrors is set, RetryIfErr gets io.EOF instead of
	// a *ClosedError.
	DetailedErrors bool

	// Transport sends each attempt of a call and reads its response. The default is DefaultTransport.
	Transport RoundTripper

	// DisablePathNormalizing makes the client send paths unchanged, including dot segments.
	DisablePathNormalizing bool

	// DisableHeaderNamesNormalizing makes iterators over response headers, such as ResponseHeader.All, yield the names
	// exactly as the server sent them. DisableHeaderNamesNormalizing does not affect requests; see
	// [RequestHeader.DisableNormalizing].
	DisableHeaderNamesNormalizing bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: errors never contain bytes of a message.
	SecureErrorLogMessage bool

	trace   *ClientTrace // of all calls, for PipelineClient
	once    sync.Once
	initErr error
	set     *clientSettings
	pool    pool.Pool
	janitor *pool.Janitor // shared with the other hosts of a Client
	addrs   []string
	nextAdr atomic.Uint32
	tls     *clientTLS // shared with the other hosts of a Client
	h2      *h2client.Options
	only1   bool        // HTTP/2 is never used, for PipelineClient
	spoke1  atomic.Bool // the server chose HTTP/1 in the last TLS handshake
	pending atomic.Int64
	users   atomic.Int64 // calls of the Client that has it
	key     string       // by which the Client has it
	forget  func() bool  // makes the Client drop it unless it is in use
}

// init fills in the defaults at the first call.
func (c *HostClient) init() error {
	c.once.Do(func() {
		c.set = c.resolve()
		c.h2 = c.resolveH2()
		c.addrs, c.initErr = c.splitAddrs()
		if c.janitor == nil {
			c.janitor = &pool.Janitor{}
		}
		c.pool.Init(c.poolOptions())
		if c.tls == nil {
			c.tls = &clientTLS{}
		}
		if err := c.checkProtocols(); err != nil {
			c.initErr = err
		}
	})
	return c.initErr
}

// Do sends req and reads the response into resp, which may be nil if you do not need the response. Do does not follow
// redirects; see DoRedirects. The call's time limits are req.SetTimeout, ReadTimeout and WriteTimeout.
//
// After Do has returned, resp and its bytes belong to the caller. You may send req again. If the request body is a
// stream, Do consumes the stream, so set the body again before you resend req. After an error, the contents of resp are
// undefined.
//
// If the request body is a stream or has more than 64 KiB, Do sends the body and reads the response at the same time.
// Do stops sending the request body if the response status is 300 or above, or if the whole response has arrived. For a
// request with Expect: 100-continue, Do waits up to ExpectContinueTimeout before it sends the body.
//
// By default, the client closes the connection after a 101 response, or after a 2xx response to CONNECT. If the
// response body is a stream (see StreamResponseBody), [Response.BodyStream] returns the connection as an
// io.ReadWriteCloser. The caller must close the io.ReadWriteCloser. The upgraded connection stays open even if the
// call's context is cancelled or its deadline passes. Do not convert the io.ReadWriteCloser to a net.Conn: with HTTP/2,
// the io.ReadWriteCloser is one stream of a shared connection (RFC 8441).
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext does the same as Do, but cancels the call when ctx is done. The argument ctx can cancel every phase of the
// call, from waiting for a connection to reading a streamed body. If a deadline has passed, the error is ErrTimeout.
// After any other cancellation, the error wraps ctx.Err().
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout does the same as Do, but fails with ErrTimeout if the call takes longer than timeout.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	own := req.timeout
	defer func() { req.timeout = own }()
	return c.do(context.Background(), req.limit(timeout), req, resp)
}

// DoDeadline does the same as Do, but fails with ErrTimeout if the call has not ended by the deadline. The zero time
// means no deadline.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

// PendingRequests returns the number of calls in flight.
func (c *HostClient) PendingRequests() int { return int(c.pending.Load()) }

// LastUseTime returns the time at which a connection was last opened or returned to the pool. If there has been no
// connection, the result is the zero time.
func (c *HostClient) LastUseTime() time.Time {
	return c.pool.UsedAt().Time()
}

// ConnsCount returns the number of open connections.
func (c *HostClient) ConnsCount() int {
	open, _ := c.pool.Counts()
	return open
}

// IdleConnsCount returns the number of idle connections.
func (c *HostClient) IdleConnsCount() int {
	_, idle := c.pool.Counts()
	return idle
}

// CloseIdleConnections closes the idle connections. Connections in use stay open.
func (c *HostClient) CloseIdleConnections() {
	if c.init() == nil {
		c.pool.CloseIdle(pool.Now())
	}
}

// SetMaxConns changes the limit set by MaxConns. SetMaxConns may be called at any time. Connections that exceed the
// new limit are closed when they become idle. Zero or a negative value means DefaultMaxConnsPerHost.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	if c.init() == nil {
		c.pool.SetMax(orDefault(newMaxConns, DefaultMaxConnsPerHost))
	}
}

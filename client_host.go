package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// HostClient sends requests to one host and keeps connections for reuse. Addr must be set. The zero value of
// every other field is a safe default.
//
// All methods may be called concurrently. Do not change fields after the first call, and do not copy a
// HostClient. docs/design/0004-client.md describes how calls are made and when a request may be sent twice.
//
// Requests go to Addr, even if their URI has another host. The host of the URI is sent in the Host header.
//
// If a function that is set here panics or ends its goroutine, the connection is closed and the call panics
// too. A function may run on another goroutine, such as a Dial that must not outlast the call. Its panic
// reaches the caller as well, unless the call has already ended. If a Resolver panics, calls return a
// *PanicError. If a body stream panics, they return an *ErrBodyStreamWritePanic.
type HostClient struct {
	_ noCopy

	// Addr is the address to connect to, as host:port. It may list several addresses, separated by commas; each
	// new connection uses the next one. The port defaults to 80, or to 443 with IsTLS. "unix:" followed by a
	// path is a unix socket, see TCPDialer.
	Addr string

	// IsTLS makes the client use TLS for its connections. Requests whose URI has the scheme http then fail.
	IsTLS bool

	// IsProxy says that Addr is a forward proxy, which expects whole URIs as request targets (RFC 9112 §3.2.2).
	// Request target and Host must both be set in the header of the request. They are sent unchanged.
	IsProxy bool

	// TLSConfig configures TLS. Nil means the default configuration. The client uses a clone of it. If
	// ServerName is empty, the clone gets the host of the address. Do not change the configuration after its
	// first use, because sessions made under it may be resumed.
	//
	// Without a ClientSessionCache the client caches sessions itself, separately for each configuration. It
	// caches none if VerifyPeerCertificate is set and VerifyConnection is not, since crypto/tls does not call
	// the former for resumed sessions.
	TLSConfig *tls.Config

	// Name is the User-Agent of requests that have none. The default is "gallop".
	Name string

	// NoDefaultUserAgentHeader omits the User-Agent "gallop" if Name is empty.
	NoDefaultUserAgentHeader bool

	// DialContext opens connections. It gets the network "tcp". It takes precedence over DialTimeout, and
	// DialTimeout over Dial. If all three are nil, connections are opened by a TCPDialer that the process
	// shares.
	//
	// DialContext runs on its own goroutine. Its context ends when the call that needs the connection ends, but
	// the call does not wait for DialContext to return. If another connection becomes idle first, the call uses
	// that one. The new connection is then kept for another call.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialTimeout opens connections within the time that is left for the call, or DefaultDialTimeout if the
	// call has no deadline.
	//
	// With DialTimeout or Dial, Addr may also be empty or the path of a socket. The function gets it unchanged,
	// without a default port. With IsTLS the function may return a connection that has its own TLS, which the
	// client recognizes by a method Handshake() error. The function must then check the certificate itself.
	DialTimeout DialFuncWithTimeout

	// Dial opens connections without knowing a time limit. If Dial takes longer than the call may, the call
	// fails, and the connection is closed when Dial returns it. See DialTimeout for Addr and TLS.
	Dial DialFunc

	// DialDualStack makes the default dialer use IPv4 and IPv6. By default it uses IPv4 only, as in fasthttp,
	// and refuses IPv6 addresses. It has no effect on DialContext, DialTimeout and Dial.
	DialDualStack bool

	// Proxy returns the proxy for a new connection to target, or nil for a direct connection. See
	// [ProxyDialer.URL] for the schemes of proxies. target contains only a scheme, "http" or "https", and a
	// host with a port. Usually the function is ProxyRulesFromEnvironment().Proxy. If it is nil, no proxy is
	// used.
	//
	// Proxy is called when a connection is opened, not when an open one is reused. Other calls may use the
	// connection later. ctx has the values of the context of the call that needs the connection, and ends with
	// that call. Proxy may be called concurrently.
	//
	// With Proxy set, DialContext connects to the proxy, and DialTimeout and Dial are not used. TLSConfig,
	// without its ServerName, also applies to https proxies.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Protocols is the set of protocols to use. Nil means the protocols that this version of the module
	// recommends. If the set contains a protocol that this version does not support, every call fails with an
	// error that wraps ErrProtocols. Do not change the set after the first call.
	Protocols *Protocols

	// HTTP2 configures HTTP/2. Nil means the defaults. It has no effect unless HTTP/2 is used.
	HTTP2 *HTTP2Config

	// MaxConns limits the open connections. Zero or a negative value means DefaultMaxConnsPerHost. Calls that
	// exceed the limit fail or wait, see MaxConnWaitTimeout. With HTTP/1 this also limits the calls in flight,
	// because a connection carries one call at a time. With HTTP/2 it does not.
	MaxConns int

	// MaxIdleConns limits the idle connections that are kept. Zero means MaxConns. A negative value keeps none.
	MaxIdleConns int

	// MaxIdleConnDuration is how long an idle connection is kept. Zero means DefaultMaxIdleConnDuration. A
	// negative value means no limit.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how long a connection may be used after it was opened. Zero or a negative value means
	// no limit. The first call after that time is the last one on the connection, and its request says so with
	// Connection: close (RFC 9112 §9.6).
	MaxConnDuration time.Duration

	// MaxConnWaitTimeout is how long a call waits for a connection when all MaxConns are in use. With zero the
	// call fails at once with ErrNoFreeConns. With a negative value it waits until its own deadline or its
	// context ends the call. Waiting calls get connections in the order in which they came.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy chooses which idle connection is used next. The default is LIFO. With an unknown value,
	// a call that finds an idle connection fails with ErrConnPoolStrategyNotImpl.
	ConnPoolStrategy ConnPoolStrategyType

	// ReadTimeout limits the time from the start of an attempt to the end of its response. Zero or a negative
	// value means no limit other than the deadline of the call. While a large body is sent the time does not
	// run; it starts when the body has been sent. A call may take a sixteenth longer, but at most one second
	// longer.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write a request. Zero or a negative value means no limit other than the
	// deadline of the call. Writing may take a sixteenth longer, but at most one second longer.
	WriteTimeout time.Duration

	// TLSHandshakeTimeout limits a TLS handshake, including one with an https proxy. Zero means ten seconds, or
	// WriteTimeout if that is shorter. A negative value means no limit other than the deadline of the call. If
	// the time runs out, the call fails with ErrTLSHandshakeTimeout.
	TLSHandshakeTimeout time.Duration

	// ExpectContinueTimeout is how long a request with Expect: 100-continue waits for a 100 response before it
	// sends its body (RFC 9110 §10.1.1). Zero means one second. With a negative value the body is sent without
	// waiting.
	ExpectContinueTimeout time.Duration

	// ReadBufferSize is the initial size of the buffer for responses, in bytes. Zero or a negative value means
	// 4096. The buffer grows for larger heads, up to MaxResponseHeaderBytes. If that field is not set,
	// ReadBufferSize also limits response heads.
	ReadBufferSize int

	// WriteBufferSize is the size of the buffer that AcquireWriter returns, in bytes. It has no effect on
	// calls.
	//
	// Deprecated: requests are assembled in a buffer that grows to their size.
	WriteBufferSize int

	// MaxResponseHeaderBytes limits the head of a response, in bytes. Zero or a negative value means
	// ReadBufferSize, and 4096 if that is not set either, as in fasthttp. The error for a larger head is an
	// *ErrSmallBuffer that names the limit.
	MaxResponseHeaderBytes int

	// MaxResponseBodySize limits response bodies that are read into memory, in bytes. Zero means
	// DefaultMaxResponseBodySize. A negative value means no limit. The error for a larger body is
	// ErrBodyTooLarge. Streams are not limited.
	MaxResponseBodySize int

	// StreamResponseBody makes calls return as soon as the head of the response has arrived. The body is then a
	// stream, see [Response.BodyStream]. It occupies its connection until it is read to its end or closed with
	// CloseBodyStream. [Response.StreamBody] does the same for a single call.
	StreamResponseBody bool

	// OnInterim is called with each interim response except 101, such as 103 (Early Hints). resp is valid until
	// the function returns. Nil ignores interim responses.
	OnInterim func(resp *Response)

	// MaxIdemponentCallAttempts limits how often a request is sent in all, if RetryIfErr asks for retries. Zero
	// or a negative value means DefaultMaxIdemponentCallAttempts. With 1 no request is sent twice, regardless
	// of all other settings.
	MaxIdemponentCallAttempts int

	// RetryIf decides whether a request that failed is sent again, without knowing the error.
	//
	// Deprecated: use RetryIfErr, which takes precedence.
	RetryIf RetryIfFunc

	// RetryIfErr decides whether a request that failed is sent again. If it is nil, a request is sent again
	// once, under two conditions: the connection had been used before and ended before the response began, and
	// SafeToRetry reports that a retry does no harm.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream decides whether a request that failed is sent again. It also gets the address of the
	// server. It takes precedence over RetryIfErr.
	//
	// Deprecated: use RetryIfErr.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// DetailedErrors makes every error name the method, the URL and the phase of the call. A call returns a *ClosedError if
	// the connection closes before the response begins, and RetryIfErr gets one, too. Other errors are a *CallError, such
	// as one around ErrTimeout. By default a call returns the errors that programs for fasthttp compare with == as they are,
	// and RetryIfErr gets io.EOF for a closed connection.
	DetailedErrors bool

	// Transport makes each attempt of a call. The default is DefaultTransport.
	Transport RoundTripper

	// DisablePathNormalizing sends paths as they were given, including dot segments.
	DisablePathNormalizing bool

	// DisableHeaderNamesNormalizing makes ResponseHeader.All and other loops over response headers show names
	// as they were received. It does not change the names in requests, see [RequestHeader.DisableNormalizing].
	DisableHeaderNamesNormalizing bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: errors never contain bytes of a message.
	SecureErrorLogMessage bool

	trace   *ClientTrace // of all calls, for PipelineClient
	once    sync.Once
	initErr error
	set     *clientSettings
	pool    connPool
	janitor *janitor // shared with the other hosts of a Client
	addrs   []string
	nextAdr atomic.Uint32
	tls     *clientTLS // shared with the other hosts of a Client
	pending atomic.Int64
	users   atomic.Int64 // calls of the Client that has it
	key     string       // by which the Client has it
}

// init fills in the defaults at the first call.
func (c *HostClient) init() error {
	c.once.Do(func() {
		c.set = c.resolve()
		c.addrs, c.initErr = c.splitAddrs()
		c.pool.host = c
		c.pool.lock.p = &c.pool
		c.pool.max = orDefault(c.MaxConns, DefaultMaxConnsPerHost)
		if c.janitor == nil {
			c.janitor = &janitor{}
		}
		if c.tls == nil {
			c.tls = &clientTLS{}
		}
		if err := c.Protocols.check(); err != nil {
			c.initErr = err
		}
	})
	return c.initErr
}

// Do sends req and reads the response into resp, which may be nil if it is not needed. It does not follow
// redirects; see DoRedirects. The call may take as long as req.SetTimeout, ReadTimeout and WriteTimeout allow.
//
// After Do has returned, resp and its bytes belong to the caller. req may be used again; only a body stream is
// used up. After an error, the contents of resp are undefined.
//
// A request whose body is a stream or larger than 64 KiB is sent while Do waits for the response. If the server
// refuses the request with a status of 300 or above, or ends its response early, Do stops sending. A request
// with Expect: 100-continue waits up to ExpectContinueTimeout before it sends its body.
//
// After a 101 response, or a 2xx response to CONNECT, the connection is closed unless the body is a stream (see
// StreamResponseBody). Then [Response.BodyStream] returns the connection as an io.ReadWriteCloser, which the
// caller must close. It outlives the context and the deadline of the call. Do not assert that it is a net.Conn:
// with HTTP/2 it is one stream of a shared connection (RFC 8441).
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext does the same as Do, but ends the call when ctx is done. That applies to every phase: waiting for a
// connection, lookup, dial, handshake, writing and reading, including the body of a stream. The error is
// ErrTimeout if a deadline has passed. Otherwise it wraps the error of ctx.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout does the same as Do, but fails with ErrTimeout if the call takes longer than timeout.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	own := req.timeout
	defer func() { req.timeout = own }()
	return c.do(context.Background(), req.limit(timeout), req, resp)
}

// DoDeadline does the same as Do, but fails with ErrTimeout at the deadline. The zero time means no deadline.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

// PendingRequests returns the number of calls in flight.
func (c *HostClient) PendingRequests() int { return int(c.pending.Load()) }

// LastUseTime returns when a connection was last opened or returned to the pool. It is the zero time before the
// first connection.
func (c *HostClient) LastUseTime() time.Time {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.pool.usedAt.time()
}

// ConnsCount returns the number of open connections.
func (c *HostClient) ConnsCount() int {
	open, _ := c.pool.counts()
	return open
}

// IdleConnsCount returns the number of idle connections.
func (c *HostClient) IdleConnsCount() int {
	_, idle := c.pool.counts()
	return idle
}

// CloseIdleConnections closes the idle connections. Connections in use stay open.
func (c *HostClient) CloseIdleConnections() {
	if c.init() == nil {
		c.pool.closeIdle(momentNow())
	}
}

// SetMaxConns changes the limit that MaxConns has set. It may be called at any time. Connections that exceed
// the new limit are closed when they become idle. Zero or a negative value means DefaultMaxConnsPerHost.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	if c.init() == nil {
		c.pool.setMax(orDefault(newMaxConns, DefaultMaxConnsPerHost))
	}
}

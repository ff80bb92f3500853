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

// HostClient sends requests to one host, over connections that it keeps. Addr has to
// be set; the zero value of every other field is the default.
//
// All methods may be called concurrently. Fields must not be changed after the first
// call, and a HostClient must not be copied. docs/design/0004-client.md says how calls
// are made, and when a request may be sent twice.
//
// Requests go to Addr, whatever the host in their URI, which goes into the Host field.
//
// If a function that is set here panics, or ends its goroutine, the connection is closed
// and the panic goes on to the caller. What runs elsewhere, as a Dial that must not take
// longer than the call may, panics where the call is made; when that has ended already
// the panic is lost. A panic of a Resolver is a *PanicError, and one of a body stream
// an *ErrBodyStreamWritePanic.
type HostClient struct {
	_ noCopy

	// Addr is where to connect to: host:port, or several of them with commas between,
	// of which each new connection takes the next. The port may be missing if it is
	// 80, or 443 with IsTLS. "unix:" and a path is a unix socket, see TCPDialer.
	Addr string

	// IsTLS makes connections speak TLS.
	IsTLS bool

	// IsProxy says that Addr is a proxy that is asked for whole URIs (RFC 9112 §3.2.2).
	// The target and the Host of requests, which both have to be set, are sent as they
	// are in the header.
	IsProxy bool

	// TLSConfig configures TLS; nil means the default configuration. The client uses a clone whose
	// ServerName is the host of the address unless it is set. The configuration must not be changed
	// once it has been used: sessions that were made under it may be resumed.
	//
	// Without a ClientSessionCache the client remembers sessions for each configuration. It
	// remembers none if VerifyPeerCertificate is set and VerifyConnection is not, since the
	// former is not called for resumed sessions.
	TLSConfig *tls.Config

	// Name is the User-Agent of requests that have none; "gallop" by default.
	Name string

	// NoDefaultUserAgentHeader leaves it out if Name is empty.
	NoDefaultUserAgentHeader bool

	// DialContext makes connections. The network is "tcp". It takes precedence over
	// DialTimeout, and that over Dial. By default connections are made by a TCPDialer
	// that the process shares.
	//
	// DialContext runs on a goroutine of its own. Its context ends when the call does that needs the
	// connection, but a call that ends does not wait for it. If another connection becomes idle first,
	// the call takes that one, and the new connection is kept for another call.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialTimeout makes connections within the time there is for the call. With it, and with
	// Dial, Addr may also be empty, or the path of a socket: they get it as it is, without a
	// port that is missing. With IsTLS they may return a connection that speaks TLS already, which
	// is known by its method Handshake() error, and its certificate theirs to check.
	DialTimeout DialFuncWithTimeout

	// Dial makes connections. One that takes longer than the call may is closed when
	// it is there.
	Dial DialFunc

	// DialDualStack makes the default dialer use IPv4 and IPv6. By default it uses IPv4 only,
	// as in fasthttp, and refuses IPv6 addresses. It has no effect on connections that
	// DialContext, DialTimeout or Dial make.
	DialDualStack bool

	// Proxy returns the proxy for a new connection to target, or nil to connect directly. See
	// ProxyDialer.URL for the schemes of proxies. target has only a scheme, "http" or "https",
	// and a host with a port. The usual function is ProxyRulesFromEnvironment().Proxy. nil uses
	// no proxy.
	//
	// Proxy is called when a connection is made, and not for calls over one that is open. Other
	// calls may use the connection later. ctx has the values of the context of the call that needs
	// the connection, and ends with that call. Proxy may be called concurrently.
	//
	// With Proxy set, DialContext connects to the proxy, and DialTimeout and Dial are not used.
	// TLSConfig, without its ServerName, is also used for https proxies.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Protocols is the set of protocols to use. nil means those that this version of the module
	// recommends. Calls fail with an error that is errors.ErrUnsupported if the set has a protocol
	// that this version does not support. The value must not be changed after the first call.
	Protocols *Protocols

	// HTTP2 configures HTTP/2. nil means the defaults. It has no effect unless HTTP/2 is used.
	HTTP2 *HTTP2Config

	// MaxConns limits the number of connections; DefaultMaxConnsPerHost by default. Calls beyond
	// it fail or wait, see MaxConnWaitTimeout. With HTTP/1 this also limits calls in flight,
	// because a connection has one at a time. With HTTP/2 it does not.
	MaxConns int

	// MaxIdleConns is how many of them are kept while they are not used; MaxConns by
	// default, none if negative.
	MaxIdleConns int

	// MaxIdleConnDuration is for how long; DefaultMaxIdleConnDuration by default, for
	// ever if negative.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how old a connection may become; any age by default. The first
	// call beyond that is the last one on it, and says so (RFC 9112 §9.6).
	MaxConnDuration time.Duration

	// MaxConnWaitTimeout is how long a call waits for a connection if all MaxConns are in use. By
	// default it does not wait and fails with ErrNoFreeConns. If negative, it waits as long as the call
	// may take, by its deadline and its context. Connections go to waiting calls in the order in
	// which they came.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy is which idle connection is used next: LIFO by default. With another
	// value than LIFO and FIFO, a call that finds an idle connection fails with ErrConnPoolStrategyNotImpl.
	ConnPoolStrategy ConnPoolStrategyType

	// ReadTimeout is how long it may take from the beginning of a call to the end of
	// its answer. WriteTimeout is how long it may take to write the request. Both may
	// last a sixteenth longer, at most a second. There is no limit by default, but
	// for the deadline of the call. While a large body is sent ReadTimeout does not
	// run; it then begins when it was sent.
	ReadTimeout  time.Duration
	WriteTimeout time.Duration

	// TLSHandshakeTimeout is how long a TLS handshake may take, with an https proxy as well. The default is ten seconds,
	// or WriteTimeout if that is shorter. A negative value means no limit of its own. Beyond it, a call fails with
	// ErrTLSHandshakeTimeout.
	TLSHandshakeTimeout time.Duration

	// ExpectContinueTimeout is how long a request with Expect: 100-continue waits for the server's leave before
	// it sends its body (RFC 9110 §10.1.1). The default is one second. With a negative value it does not wait.
	ExpectContinueTimeout time.Duration

	// ReadBufferSize is the size of the buffer that responses are read into, in bytes. The
	// default is 4096. The buffer grows for larger heads, up to MaxResponseHeaderBytes. If
	// that is not set, ReadBufferSize limits heads too.
	ReadBufferSize int

	// WriteBufferSize is only used by AcquireWriter.
	//
	// Deprecated: requests are put together in a buffer that grows to their size.
	WriteBufferSize int

	// MaxResponseHeaderBytes is how large the head of a response may be, in bytes. The
	// default is ReadBufferSize, and 4096 if that is not set either, as in fasthttp. A larger
	// head is an *ErrSmallBuffer that names the limit.
	MaxResponseHeaderBytes int

	// MaxResponseBodySize is how large the body of an answer may be that is read into
	// memory, in bytes: DefaultMaxResponseBodySize by default, any size if negative. A
	// larger one is ErrBodyTooLarge. Bodies that are streams are not limited.
	MaxResponseBodySize int

	// StreamResponseBody makes calls return when the head of the answer is there. The
	// body is then a stream, on a connection that it holds until it is read to its end
	// or closed: see Response.BodyStream and CloseBodyStream. Response.StreamBody does
	// it for a single call.
	StreamResponseBody bool

	// OnInterim is called with the head of each interim answer (1xx, but 101), as 103
	// (Early Hints). It holds as long as the function runs.
	OnInterim func(resp *Response)

	// MaxIdemponentCallAttempts limits how often a request is sent in all if RetryIfErr asks for
	// more than the default; DefaultMaxIdemponentCallAttempts by default. With 1 nothing is sent
	// twice, whatever else is set.
	MaxIdemponentCallAttempts int

	// RetryIf decides whether a request that failed may be sent again.
	//
	// Deprecated: use RetryIfErr, which takes precedence.
	RetryIf RetryIfFunc

	// RetryIfErr decides whether a request that failed is sent again. By default a request is sent
	// again once, if its connection had been used before and ended before the response began, and if
	// SafeToRetry says that no harm is done.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is RetryIfErr with the address of the server.
	//
	// Deprecated: use RetryIfErr. RetryIfErrUpstream takes precedence over it.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// DetailedErrors makes every error name the method, the URL and the phase of the call. A call returns a *ClosedError if
	// the connection closes before the response begins, and RetryIfErr gets one, too. Other errors are a *CallError, such
	// as one around ErrTimeout. By default a call returns the errors that programs for fasthttp compare with == as they are,
	// and RetryIfErr gets io.EOF for a closed connection.
	DetailedErrors bool

	// Transport makes a single attempt; DefaultTransport by default.
	Transport RoundTripper

	// DisablePathNormalizing sends paths as they were given, dot segments included.
	DisablePathNormalizing bool

	// DisableHeaderNamesNormalizing makes ResponseHeader.All and its kin show the names of received
	// fields as they came. A call leaves the names in the request as they are; see
	// RequestHeader.DisableNormalizing.
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

// Do sends req and reads the answer to it into resp, which may be nil if nobody
// wants it. Redirects are not followed, see DoRedirects. It takes as long as
// req.SetTimeout, ReadTimeout and WriteTimeout allow.
//
// Afterwards resp is the caller's, and its bytes are its own; req may be used again,
// but that its body, if it was a stream, is used up. After an error resp says nothing.
//
// A request whose body is a stream or larger than 64 KiB is sent while the answer
// is awaited. An answer that refuses it (a status from 300 on), or ends, before it was
// sent stops it. One with Expect: 100-continue waits up to ExpectContinueTimeout for leave to send
// its body.
//
// After a 101, or a 2xx response to CONNECT, the connection is closed unless the body is a stream
// (see StreamResponseBody). Then Response.BodyStream returns the connection as an
// io.ReadWriteCloser, which the caller must close. It outlives the context and the deadline of the
// call. Do not assert that it is a net.Conn: with HTTP/2 it is one stream of a shared connection
// (RFC 8441).
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext is Do that ends when ctx does: waiting for a connection, lookup, dial,
// handshake, writing and reading, the body of a stream included. The error is ErrTimeout
// for a deadline, and otherwise wraps what ctx says.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout is Do that fails with ErrTimeout after timeout.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	own := req.timeout
	defer func() { req.timeout = own }()
	return c.do(context.Background(), req.limit(timeout), req, resp)
}

// DoDeadline is Do that fails with ErrTimeout at the deadline. The zero time means no deadline.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

// PendingRequests returns how many calls are being made.
func (c *HostClient) PendingRequests() int { return int(c.pending.Load()) }

// LastUseTime returns when a connection was last made or given back; the zero time if
// there was none.
func (c *HostClient) LastUseTime() time.Time {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.pool.usedAt.time()
}

// ConnsCount returns how many connections there are.
func (c *HostClient) ConnsCount() int {
	open, _ := c.pool.counts()
	return open
}

// IdleConnsCount returns how many of them are idle.
func (c *HostClient) IdleConnsCount() int {
	_, idle := c.pool.counts()
	return idle
}

// CloseIdleConnections closes the connections that are idle.
func (c *HostClient) CloseIdleConnections() {
	if c.init() == nil {
		c.pool.closeIdle(momentNow())
	}
}

// SetMaxConns changes MaxConns. It may be called at any time; connections beyond it
// are closed when they become idle.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	if c.init() == nil {
		c.pool.setMax(orDefault(newMaxConns, DefaultMaxConnsPerHost))
	}
}

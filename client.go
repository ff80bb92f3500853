package gallop

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/pool"
	"github.com/gallop-http/gallop/internal/target"
)

// Doer makes HTTP calls. Client, HostClient, PipelineClient and LBClient implement Doer. Types that wrap one of these
// clients can implement Doer too. Client-side middleware is a function of the form
//
//	func(next Doer) Doer
//
// DoContext sends req and reads the response into resp. The argument resp may be nil if the caller does not need the
// response. DoContext must return promptly once ctx is done. After DoContext has returned, it must not use req or resp.
// A response body that is a stream is the only exception. Several goroutines may call DoContext at once, each with its
// own request.
type Doer interface {
	// DoContext sends req and reads the response into resp.
	DoContext(ctx context.Context, req *Request, resp *Response) error
}

var (
	_ Doer = (*Client)(nil)
	_ Doer = (*HostClient)(nil)
	_ Doer = (*PipelineClient)(nil)
	_ Doer = (*LBClient)(nil)
)

// Client sends requests to any host, over HTTP or HTTPS depending on the URI's scheme. For each host with open
// connections, a Client keeps one HostClient. The zero value is ready to use.
//
// All methods may be called concurrently. Do not change fields after the first call, and do not copy a Client.
// Connection limits apply to each host separately.
type Client struct {
	_ noCopy

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

	// DialTimeout opens connections. The function's timeout argument is the time left for the call, or DefaultDialTimeout
	// if the call has no deadline.
	//
	// For a request with an https URI, the function may return a connection that already uses TLS. If the connection has a
	// method Handshake() error, the client assumes that the connection uses TLS. A function that returns a TLS connection
	// must verify the server's certificate itself.
	DialTimeout DialFuncWithTimeout

	// Dial opens connections. The function has no timeout argument. If the call times out while Dial is running, the call
	// fails. The client then closes the connection as soon as Dial returns. See DialTimeout for TLS.
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
	// If Proxy is set, DialContext connects to the proxy, and DialTimeout and Dial are not used. For https proxies, the
	// client also uses TLSConfig, but ignores its ServerName.
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
	// Over HTTP/2, one connection carries many calls. Requests with an Upgrade header always use HTTP/1.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults.
	HTTP2 *HTTP2Config

	// TLSConfig configures TLS. Nil means the default configuration. The client uses a clone of the configuration. If
	// ServerName is empty, the client uses the host in the server's address as the server name. Do not change the
	// configuration after its first use, because the client can resume TLS sessions from before the change.
	//
	// If ClientSessionCache is nil, the client has its own cache of TLS sessions for each configuration. The client caches
	// no sessions if VerifyPeerCertificate is set without VerifyConnection: crypto/tls does not call VerifyPeerCertificate
	// for resumed sessions.
	TLSConfig *tls.Config

	// MaxConnsPerHost limits the open connections to each host. Zero or a negative value means DefaultMaxConnsPerHost.
	// When the limit is reached, calls that need a new connection fail or wait; see MaxConnWaitTimeout. With HTTP/1,
	// MaxConnsPerHost also limits the calls in flight to a host, because an HTTP/1 connection carries one call at a time.
	// With HTTP/2, MaxConnsPerHost does not limit the calls in flight.
	MaxConnsPerHost int

	// MaxIdleConnsPerHost limits the idle connections that are kept for each host. Zero means MaxConnsPerHost. A
	// negative value means that no idle connections are kept.
	MaxIdleConnsPerHost int

	// MaxIdleConnDuration is how long an idle connection is kept. Zero means DefaultMaxIdleConnDuration. A
	// negative value means no limit.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is the maximum age of a connection. Zero or a negative value means no limit. When a connection
	// exceeds its maximum age, the next request on this connection is sent with Connection: close (RFC 9112 §9.6).
	MaxConnDuration time.Duration

	// MaxConnWaitTimeout is how long a call waits for a connection when MaxConnsPerHost connections are in use. Zero
	// means that the call fails at once with ErrNoFreeConns. With a negative value, the call waits until its deadline
	// passes or its context is done. The call that has waited longest gets the next free connection.
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

	// RetryIfErr decides whether a failed request is sent again. If RetryIfErr is nil, a request is retried at most once,
	// and only if SafeToRetry returns true. Without RetryIfErr, a request is retried only if it was sent on a reused
	// connection that closed before the response began.
	RetryIfErr RetryIfErrFunc

	// RetryIf decides whether a failed request is sent again. The function does not get the error.
	//
	// Deprecated: use RetryIfErr, which takes precedence.
	RetryIf RetryIfFunc

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

	// Jar stores the cookies that servers set, and sends them with later requests. If Jar is nil, the client stores no
	// cookies and adds none to requests.
	Jar *CookieJar

	// MaxRedirects is how many redirects Do, DoContext, DoTimeout and DoDeadline follow. With zero or a negative value,
	// the client does not follow redirects: the call returns the redirect response itself. See [Client.DoRedirects].
	MaxRedirects int

	// AllowRedirectToPlain allows redirects from https to http, where anybody on the network path can read and change
	// the traffic. By default, a redirect from https to http fails with ErrRedirectToPlain.
	AllowRedirectToPlain bool

	// DisablePathNormalizing makes the client send paths unchanged, including dot segments.
	DisablePathNormalizing bool

	// DisableHeaderNamesNormalizing makes iterators over response headers, such as ResponseHeader.All, yield the names
	// exactly as the server sent them. DisableHeaderNamesNormalizing does not affect requests; see
	// [RequestHeader.DisableNormalizing].
	DisableHeaderNamesNormalizing bool

	// WriteBufferSize is the size of the buffer that [HostClient.AcquireWriter] returns, in bytes. WriteBufferSize has no
	// effect on calls.
	//
	// Deprecated: requests are assembled in a buffer that grows to their size.
	WriteBufferSize int

	// ConfigureClient is called with each new HostClient before its first use. The function may change the HostClient's
	// fields. If ConfigureClient returns an error, the call fails with that error.
	ConfigureClient func(hc *HostClient) error

	mu      sync.RWMutex
	plain   map[string]*HostClient // by host:port as URIs have it
	secured map[string]*HostClient
	janitor pool.Janitor
	tls     clientTLS
}

// Do sends req to the host in its URI and reads the response into resp, which may be nil. Do follows up to
// MaxRedirects redirects. See [HostClient.Do].
func (c *Client) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext does the same as Do, but cancels the call when ctx is done. See [HostClient.DoContext].
func (c *Client) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout does the same as Do, but fails with ErrTimeout if the call takes longer than timeout.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	own := req.timeout
	defer func() { req.timeout = own }()
	return c.do(context.Background(), req.limit(timeout), req, resp)
}

// DoDeadline does the same as Do, but fails with ErrTimeout if the call has not ended by the deadline. The zero time
// means no deadline.
func (c *Client) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

func (c *Client) do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	if c.MaxRedirects <= 0 {
		return c.call(ctx, deadline, req, resp)
	}
	return doRedirects(ctx, req, resp, (*singleCalls)(c).rules(c.MaxRedirects),
		func(ctx context.Context, req *Request, resp *Response) error {
			return c.call(ctx, deadline, req, resp)
		})
}

// call makes one call, with the cookies of the jar.
func (c *Client) call(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	if err := req.settleURI(); err != nil {
		return c.failed(ctx, req, err, phasePrepare)
	}
	if c.Jar == nil {
		return c.callHost(ctx, deadline, req, resp)
	}
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	return c.Jar.roundTrip(req, resp, func() error { return c.callHost(ctx, deadline, req, resp) })
}

func (c *Client) callHost(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	hc, err := c.hostFor(&req.uri)
	if err != nil {
		return c.failed(ctx, req, err, phasePrepare)
	}
	defer hc.users.Add(-1)
	return hc.do(ctx, deadline, req, resp)
}

// hostFor returns the HostClient for uri, and counts one more call of it.
func (c *Client) hostFor(uri *URI) (*HostClient, error) {
	isTLS := uri.isHTTPS()
	if !isTLS && !bytes.Equal(uri.Scheme(), schemeHTTP) {
		return nil, errScheme
	}
	if len(uri.Host()) == 0 {
		return nil, errNoHost
	}
	c.mu.RLock()
	hc := c.hosts(isTLS)[string(uri.Host())]
	if hc != nil {
		hc.users.Add(1)
	}
	c.mu.RUnlock()
	if hc != nil {
		return hc, nil
	}
	hc, isNew, err := c.addHost(string(uri.Host()), isTLS)
	if isNew {
		c.janitor.Watch(&hc.pool)
	}
	return hc, err
}

func (c *Client) hosts(isTLS bool) map[string]*HostClient {
	if isTLS {
		return c.secured
	}
	return c.plain
}

// addHost returns the HostClient for a host, which it makes if there is none still.
func (c *Client) addHost(host string, isTLS bool) (hc *HostClient, isNew bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hc = c.hosts(isTLS)[host]; hc != nil {
		hc.users.Add(1)
		return hc, false, nil
	}
	if !target.ValidHost(withoutZone([]byte(host))) { // Addr could mean something else by it: several, or a path
		return nil, false, errSentHost
	}
	if c.plain == nil {
		c.plain, c.secured = make(map[string]*HostClient), make(map[string]*HostClient)
	}
	hc = c.newHost(host, isTLS)
	if c.ConfigureClient != nil {
		if err = c.ConfigureClient(hc); err != nil {
			return nil, false, err
		}
	}
	if err = hc.init(); err != nil {
		return nil, false, err
	}
	hc.users.Add(1)
	c.hosts(isTLS)[host] = hc
	return hc, true, nil
}

func (c *Client) newHost(host string, isTLS bool) *HostClient {
	hc := &HostClient{
		Addr: AddMissingPort(strings.TrimSuffix(host, ":"), isTLS), IsTLS: isTLS,
		janitor: &c.janitor, tls: &c.tls,
		key: host,
	}
	hc.forget = func() bool { return c.forget(hc) }
	clientOptions().copy(hc, c)
	return hc
}

// forget drops hc if nobody uses it, and reports whether it did.
func (c *Client) forget(hc *HostClient) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if open, _ := hc.pool.Counts(); open > 0 || hc.users.Load() > 0 {
		return false
	}
	for _, isTLS := range []bool{false, true} { // ConfigureClient may have changed hc.IsTLS
		if hosts := c.hosts(isTLS); hosts[hc.key] == hc {
			delete(hosts, hc.key)
		}
	}
	return true
}

// CloseIdleConnections closes the idle connections to all hosts.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.all() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns the number of open connections to all hosts.
func (c *Client) ConnsCount() (n int) {
	for _, hc := range c.all() {
		n += hc.ConnsCount()
	}
	return n
}

// IdleConnsCount returns the number of idle connections to all hosts.
func (c *Client) IdleConnsCount() (n int) {
	for _, hc := range c.all() {
		n += hc.IdleConnsCount()
	}
	return n
}

func (c *Client) all() (hosts []*HostClient) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, isTLS := range []bool{false, true} {
		for _, hc := range c.hosts(isTLS) {
			hosts = append(hosts, hc)
		}
	}
	return hosts
}

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

	"github.com/gallop-http/gallop/internal/target"
)

// Doer makes HTTP calls. Client, HostClient, PipelineClient and LBClient are Doers, and so may be
// anything that wraps one. Client-side middleware is a function of the form
//
//	func(next Doer) Doer
//
// DoContext sends req and reads the response into resp, which may be nil if the caller does not need
// it. It returns at the latest when ctx is done. It must not keep req or resp after it has returned,
// unless the response body is a stream. It may be called concurrently, with different requests.
type Doer interface {
	DoContext(ctx context.Context, req *Request, resp *Response) error
}

var (
	_ Doer = (*Client)(nil)
	_ Doer = (*HostClient)(nil)
	_ Doer = (*PipelineClient)(nil)
	_ Doer = (*LBClient)(nil)
)

// Client sends requests to whatever host is in their URI, http or https. It keeps a
// HostClient for each of them while that has connections. The zero value is ready.
//
// All methods may be called concurrently. Fields must not be changed after the first
// call, and a Client must not be copied. Those that are not described here are as in
// HostClient, each host for itself. What methods do is described there, too.
type Client struct {
	_ noCopy

	// Name is the User-Agent of requests that have none; "gallop" by default.
	Name                     string
	NoDefaultUserAgentHeader bool

	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	DialTimeout DialFuncWithTimeout
	Dial        DialFunc

	// DialDualStack makes the default dialer use IPv4 and IPv6. By default it uses IPv4 only,
	// as in fasthttp. See HostClient.DialDualStack.
	DialDualStack bool

	// Proxy chooses the proxy for new connections, see HostClient.Proxy. The usual one is
	// ProxyRulesFromEnvironment().Proxy. nil uses no proxy.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Protocols is the set of protocols to use. nil means those that this version of the module
	// recommends. Calls fail with an error that is errors.ErrUnsupported if the set has a protocol
	// that this version does not support. The value must not be changed after the first call.
	Protocols *Protocols

	// HTTP2 configures HTTP/2. nil means the defaults. It has no effect unless HTTP/2 is used.
	HTTP2 *HTTP2Config

	// TLSConfig configures TLS, see HostClient.TLSConfig. It must not be changed once it has been
	// used.
	TLSConfig *tls.Config

	// MaxConnsPerHost limits the connections to a host, and MaxIdleConnsPerHost how many of them
	// are kept while idle, none if negative. See HostClient.MaxConns.
	MaxConnsPerHost     int
	MaxIdleConnsPerHost int
	MaxIdleConnDuration time.Duration
	MaxConnDuration     time.Duration

	// MaxConnWaitTimeout is how long a call waits for a connection if a host has MaxConnsPerHost. By
	// default it does not wait and fails with ErrNoFreeConns. If negative, it waits as long as the call
	// may take.
	MaxConnWaitTimeout time.Duration
	ConnPoolStrategy   ConnPoolStrategyType

	ReadTimeout            time.Duration
	WriteTimeout           time.Duration
	TLSHandshakeTimeout    time.Duration
	ExpectContinueTimeout  time.Duration
	ReadBufferSize         int
	MaxResponseHeaderBytes int
	MaxResponseBodySize    int
	StreamResponseBody     bool
	OnInterim              func(resp *Response)

	MaxIdemponentCallAttempts int
	RetryIfErr                RetryIfErrFunc

	// RetryIf and RetryIfErrUpstream are other forms of RetryIfErr.
	//
	// Deprecated: use RetryIfErr.
	RetryIf            RetryIfFunc
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// DetailedErrors makes every error name the method, the URL and the phase of the call. A call returns a *ClosedError if
	// the connection closes before the response begins, and RetryIfErr gets one, too. Other errors are a *CallError, such
	// as one around ErrTimeout. By default a call returns the errors that programs for fasthttp compare with == as they are,
	// and RetryIfErr gets io.EOF for a closed connection.
	DetailedErrors bool

	Transport RoundTripper

	// Jar keeps the cookies that servers set, and sends them back. nil keeps none.
	Jar *CookieJar

	// MaxRedirects is how many redirects Do, DoContext, DoTimeout and DoDeadline follow,
	// as DoRedirects does; none by default.
	MaxRedirects int

	// AllowRedirectToPlain lets redirects lead from https to http, where everybody on the
	// way can read and change what is sent. They are ErrRedirectToPlain by default.
	AllowRedirectToPlain bool

	DisablePathNormalizing        bool
	DisableHeaderNamesNormalizing bool

	// WriteBufferSize has no effect on calls.
	//
	// Deprecated: see HostClient.WriteBufferSize.
	WriteBufferSize int

	// ConfigureClient is called with the HostClient for a host before that is used, and
	// may change its fields. Its error is that of the call.
	ConfigureClient func(hc *HostClient) error

	mu      sync.RWMutex
	plain   map[string]*HostClient // by host:port as URIs have it
	secured map[string]*HostClient
	janitor janitor
	tls     clientTLS
}

// Do sends req to the host in its URI and reads the answer into resp, as HostClient.Do
// does.
func (c *Client) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext is Do that ends when ctx does. See HostClient.DoContext.
func (c *Client) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout is Do that fails with ErrTimeout after timeout.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	own := req.timeout
	defer func() { req.timeout = own }()
	return c.do(context.Background(), req.limit(timeout), req, resp)
}

// DoDeadline is Do that fails with ErrTimeout at the deadline. The zero time means no deadline.
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
		c.janitor.watch(&hc.pool)
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
		c.janitor.forget = c.forget
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
	hc.pool.watched = true
	c.hosts(isTLS)[host] = hc
	return hc, true, nil
}

func (c *Client) newHost(host string, isTLS bool) *HostClient {
	return &HostClient{
		Addr: AddMissingPort(strings.TrimSuffix(host, ":"), isTLS), IsTLS: isTLS, TLSConfig: c.TLSConfig,
		Name: c.Name, NoDefaultUserAgentHeader: c.NoDefaultUserAgentHeader,
		DialContext: c.DialContext, DialTimeout: c.DialTimeout, Dial: c.Dial, DialDualStack: c.DialDualStack,
		Proxy: c.Proxy, Protocols: c.Protocols, HTTP2: c.HTTP2,
		MaxConns: c.MaxConnsPerHost, MaxIdleConns: c.MaxIdleConnsPerHost,
		MaxIdleConnDuration: c.MaxIdleConnDuration, MaxConnDuration: c.MaxConnDuration,
		MaxConnWaitTimeout: c.MaxConnWaitTimeout, ConnPoolStrategy: c.ConnPoolStrategy,
		ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout,
		TLSHandshakeTimeout: c.TLSHandshakeTimeout, ExpectContinueTimeout: c.ExpectContinueTimeout,
		ReadBufferSize: c.ReadBufferSize, WriteBufferSize: c.WriteBufferSize,
		MaxResponseHeaderBytes: c.MaxResponseHeaderBytes, MaxResponseBodySize: c.MaxResponseBodySize,
		StreamResponseBody: c.StreamResponseBody, OnInterim: c.OnInterim,
		MaxIdemponentCallAttempts: c.MaxIdemponentCallAttempts,
		RetryIf:                   c.RetryIf, RetryIfErr: c.RetryIfErr, RetryIfErrUpstream: c.RetryIfErrUpstream,
		DetailedErrors:                c.DetailedErrors,
		Transport:                     c.Transport,
		DisablePathNormalizing:        c.DisablePathNormalizing,
		DisableHeaderNamesNormalizing: c.DisableHeaderNamesNormalizing,
		janitor:                       &c.janitor, tls: &c.tls,
		key: host,
	}
}

// forget drops the HostClient of p if nobody uses it, and reports whether it did.
func (c *Client) forget(p *connPool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	hc := p.host
	if open, _ := p.counts(); open > 0 || hc.users.Load() > 0 {
		return false
	}
	for _, isTLS := range []bool{false, true} { // ConfigureClient may have changed hc.IsTLS
		if hosts := c.hosts(isTLS); hosts[hc.key] == hc {
			delete(hosts, hc.key)
		}
	}
	return true
}

// CloseIdleConnections closes the connections to all hosts that are idle.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.all() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns how many connections there are.
func (c *Client) ConnsCount() (n int) {
	for _, hc := range c.all() {
		n += hc.ConnsCount()
	}
	return n
}

// IdleConnsCount returns how many of them are idle.
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

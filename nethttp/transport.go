package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpguts"
)

// NewTransport returns a new Transport that takes its proxies from the environment, see http.ProxyFromEnvironment. Each
// Transport has its own connections, so a program should make one and share it.
func NewTransport() *Transport { return &Transport{Proxy: http.ProxyFromEnvironment} }

// Transport is an http.RoundTripper, for the Transport of an http.Client, over gallop's
// HostClient. The zero value is ready to use. It may be used by many goroutines; fields must
// not be changed after the first call. It speaks HTTP/1.1; see the field Protocols.
//
//	transport.go           which host a call goes to, and over which proxy
//	transport_call.go      a call and its end
//	transport_request.go   how a request is sent
//	transport_response.go  how the answer is handed out
//	transport_tunnel.go    proxies that are asked for a tunnel, and DialTLSContext
//	transport_limits.go    ResponseHeaderTimeout and MaxIdleConns
//	transport_protocols.go Protocols and HTTP2
//	transport_schemes.go   RegisterProtocol, and Clone
//	transport_errors.go    errors as net/http has them
//	transport_trace.go     httptrace
//
// Fields that http.Transport has too mean the same, except where something is said.
// Redirects, cookies and Timeout are the http.Client's. A response body has to be read to
// its end or closed, as always.
type Transport struct {
	// Proxy returns the proxy for a request, nil for none: http, https, socks5, socks5h.
	Proxy func(*http.Request) (*url.URL, error)

	// ProxyConnectHeader is sent with each CONNECT to a proxy. Proxy-Authorization is that of the proxy's URL if this
	// has credentials.
	ProxyConnectHeader http.Header

	// GetProxyConnectHeader returns what is sent with a CONNECT for target, a host:port, instead of
	// ProxyConnectHeader. If it returns an error, the call fails with that.
	GetProxyConnectHeader func(ctx context.Context, proxyURL *url.URL, target string) (http.Header, error)

	// OnProxyConnectResponse is called with the response of a proxy to a CONNECT, before its status is looked at. The
	// response has no body. If OnProxyConnectResponse returns an error, the call fails with that.
	OnProxyConnectResponse func(ctx context.Context, proxyURL *url.URL, connectReq *http.Request, connectRes *http.Response) error

	// DialContext makes connections, also to proxies.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialTLSContext makes TLS connections for https requests without a proxy. DialContext, TLSClientConfig and
	// TLSHandshakeTimeout are then not used for them. If it returns a *tls.Conn, its handshake is done if
	// it was not; any other connection is expected to be past its handshake.
	DialTLSContext func(ctx context.Context, network, addr string) (net.Conn, error)

	TLSClientConfig *tls.Config

	// TLSHandshakeTimeout is how long a TLS handshake may take; 10 seconds by default, any time if negative.
	TLSHandshakeTimeout time.Duration

	// ResponseHeaderTimeout is how long the header of the response may take to come after the request was written with its
	// body. There is no limit by default. The call fails with an error whose Timeout method returns true.
	ResponseHeaderTimeout time.Duration

	// ExpectContinueTimeout is how long a request with "Expect: 100-continue" waits for the server's leave before it
	// sends its body; one second by default. If it is negative, the request does not wait.
	ExpectContinueTimeout time.Duration

	DisableKeepAlives  bool
	DisableCompression bool

	// MaxConnsPerHost is how many connections there may be to a host; no limit by default.
	MaxConnsPerHost int

	// MaxIdleConns is how many connections are kept, to all hosts, while nobody uses them; no limit by default. Beyond it,
	// the hosts that were used least recently lose theirs.
	MaxIdleConns int

	// MaxIdleConnsPerHost is how many connections to a host are kept while nobody uses them; 100 by default, none if negative.
	MaxIdleConnsPerHost int

	// IdleConnTimeout is for how long; 90 seconds by default, for ever if negative.
	IdleConnTimeout time.Duration

	// MaxResponseHeaderBytes is the size of the largest response head that is accepted, in bytes. The default is 256 KiB.
	MaxResponseHeaderBytes int

	// Protocols is the set of protocols to use. nil means the protocols that this version of the module recommends. That is
	// HTTP/1 now, and a later version will add HTTP/2 over TLS; see gallop.Protocols. This version supports HTTP/1 only: for a
	// set that contains anything else, or that does not contain HTTP/1, RoundTrip returns an error that is gallop.ErrProtocols
	// and errors.ErrUnsupported to errors.Is.
	Protocols *http.Protocols

	// HTTP2 configures HTTP/2. It has no effect in this version.
	HTTP2 *http.HTTP2Config

	// ForceAttemptHTTP2 has no effect. It exists for programs that set it on an http.Transport, where it keeps HTTP/2 enabled
	// beside a TLSClientConfig or a dial function of their own. Here these fields do not change which protocols are used.
	ForceAttemptHTTP2 bool

	// ConfigureHost is called with the HostClient for a host before that is used, and
	// may change fields that are not described here. It may be nil.
	ConfigureHost func(*gallop.HostClient)

	schemes atomic.Pointer[map[string]http.RoundTripper] // by RegisterProtocol
	mu      sync.RWMutex
	hosts   map[hostKey]*host
	pruneAt int // how many hosts there are when those without connections are forgotten
}

// hostKey is by what connections differ.
type hostKey struct {
	scheme, addr string
	proxy        string // whose URL
}

var (
	errNoURL    = errors.New("nethttp: nil Request.URL")
	errNoHeader = errors.New("nethttp: nil Request.Header")
	errNoHost   = errors.New("nethttp: no Host in request URL")
)

const (
	defaultMaxIdle = 100

	defaultMaxResponseHead = 256 << 10
	defaultIdleTimeout     = 90 * time.Second
	noConnLimit            = 1 << 30
	minPruned              = 256
)

// host makes the calls to one host, or to all that a proxy is asked for with whole URIs.
type host struct {
	client  *gallop.HostClient
	asked   *url.URL // the proxy that is asked for whole URIs, or nil
	leadsTo string   // where connections are made to, in ASCII: to the proxy if there is one
	ownDial bool     // the transport, or ConfigureHost, brings functions that connect
}

// hostFor returns who makes calls to the host of r.
func (t *Transport) hostFor(r *http.Request) (h *host, err error) {
	u := r.URL
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, &net.AddrError{Err: "unsupported protocol scheme", Addr: u.Scheme}
	}
	if u.Host == "" {
		return nil, errNoHost
	}
	var proxy *url.URL
	if t.Proxy != nil {
		if proxy, err = t.Proxy(r); err != nil {
			return nil, err
		}
	}
	key := hostKey{scheme: u.Scheme, addr: u.Host}
	if proxy != nil {
		key.proxy = proxy.String()
	}
	if isAsked(u, proxy) {
		key.addr = "" // all of these hosts share the connections to the proxy
	}
	if h = t.known(key); h != nil {
		return h, nil
	}
	return t.add(key, u, proxy), nil
}

// isAsked reports whether proxy, which may be nil, is asked for the whole URI of u, and not for a tunnel.
func isAsked(u, proxy *url.URL) bool {
	return proxy != nil && u.Scheme == "http" && (proxy.Scheme == "http" || proxy.Scheme == "https")
}

func (t *Transport) known(key hostKey) *host {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hosts[key]
}

func (t *Transport) add(key hostKey, u, proxy *url.URL) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hosts[key]; h != nil {
		return h
	}
	if t.hosts == nil {
		t.hosts = map[hostKey]*host{}
	}
	t.prune()
	h := t.newHost(u, proxy)
	t.hosts[key] = h
	return h
}

// prune forgets hosts that nobody talks to, when there have become many. t is locked.
func (t *Transport) prune() {
	if len(t.hosts) < max(t.pruneAt, minPruned) {
		return
	}
	for key, h := range t.hosts {
		if h.client.ConnsCount() == 0 && h.client.PendingRequests() == 0 {
			delete(t.hosts, key)
		}
	}
	t.pruneAt = 2 * len(t.hosts)
}

func (t *Transport) newHost(u, proxy *url.URL) *host {
	hc := &gallop.HostClient{
		Addr:                     addrOf(u),
		IsTLS:                    u.Scheme == "https",
		TLSConfig:                t.TLSClientConfig,
		DialContext:              marked(t.DialContext),
		DialDualStack:            true,
		NoDefaultUserAgentHeader: true,
		MaxConns:                 orDefault(max(t.MaxConnsPerHost, 0), noConnLimit),
		MaxIdleConns:             t.maxIdlePerHost(),
		MaxIdleConnDuration:      orDefault(t.IdleConnTimeout, defaultIdleTimeout),
		MaxConnWaitTimeout:       -1, // as long as the call may take
		MaxResponseHeaderBytes:   orDefault(t.MaxResponseHeaderBytes, defaultMaxResponseHead),
		Protocols:                protocolsOf(t.Protocols),
		HTTP2:                    http2Of(t.HTTP2),
		TLSHandshakeTimeout:      t.TLSHandshakeTimeout,
		ExpectContinueTimeout:    t.ExpectContinueTimeout,
		StreamResponseBody:       true,
		DetailedErrors:           true, // for mayRepeat
	}
	h := &host{client: hc, leadsTo: asciiAddr(u), ownDial: t.DialContext != nil}
	if proxy != nil {
		h.leadsTo = asciiAddr(proxy)
	}
	switch {
	case isAsked(u, proxy):
		h.asked = proxy
		hc.Addr, hc.IsTLS, hc.IsProxy = addrOf(proxy), proxy.Scheme == "https", true
	case proxy != nil:
		t.tunnelThrough(hc, proxy)
	case hc.IsTLS && t.DialTLSContext != nil:
		hc.IsTLS, hc.DialContext, h.ownDial = false, t.dialTLS, true
	}
	before := hc.DialContext != nil
	if t.ConfigureHost != nil {
		t.ConfigureHost(hc)
	}
	h.ownDial = h.ownDial || !before && hc.DialContext != nil || hc.DialTimeout != nil || hc.Dial != nil
	return h
}

// maxIdlePerHost returns how many connections are kept for a host. With -1 also one is closed that a call did not
// announce to be its last.
func (t *Transport) maxIdlePerHost() int {
	if t.keepsNone() {
		return -1
	}
	n := orDefault(t.MaxIdleConnsPerHost, defaultMaxIdle)
	if t.MaxIdleConns > 0 {
		n = min(n, t.MaxIdleConns)
	}
	return n
}

// keepsNone reports whether each connection is for one call.
func (t *Transport) keepsNone() bool { return t.DisableKeepAlives || t.MaxIdleConnsPerHost < 0 }

// orDefault is v if it is not zero, else the default.
func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// addrOf returns where to connect to for u.
func addrOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		switch port = "80"; u.Scheme {
		case "https":
			port = "443"
		case "socks5", "socks5h":
			port = "1080"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// asciiAddr is addrOf in ASCII (RFC 5891), if u can be written in it.
func asciiAddr(u *url.URL) string {
	addr := addrOf(u)
	if ascii, err := httpguts.PunycodeHostPort(addr); err == nil {
		return ascii
	}
	return addr
}

// CloseIdleConnections closes the connections that nobody uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, h := range t.hosts {
		h.client.CloseIdleConnections()
	}
}

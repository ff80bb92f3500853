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

// NewTransport returns a new Transport that takes its proxies from the environment: see http.ProxyFromEnvironment. Each
// Transport has its own connections, so a program should create one Transport and share it.
func NewTransport() *Transport {
	return &Transport{Proxy: http.ProxyFromEnvironment}
}

// The files of Transport:
//
//	transport.go           which host a call goes to, and over which proxy
//	transport_call.go      a call and its end
//	transport_request.go   how a request is sent
//	transport_response.go  how the response is returned
//	transport_tunnel.go    proxies that connect through a tunnel, and DialTLSContext
//	transport_limits.go    ResponseHeaderTimeout and MaxIdleConns
//	transport_protocols.go Protocols and HTTP2
//	transport_schemes.go   RegisterProtocol, and Clone
//	transport_errors.go    errors of the types that net/http returns
//	transport_trace.go     httptrace

// Transport is an http.RoundTripper on top of gallop's HostClient. Set a Transport as the field Transport of an http.Client,
// which handles redirects, cookies and the Timeout. The zero value is ready to use. A Transport may be used concurrently. Do
// not change its fields after the first call. A Transport speaks HTTP/1.1, and HTTP/2 over TLS. See the field Protocols.
//
// A field with the same name as a field of http.Transport has the same meaning, unless its comment says otherwise. Read
// each response body to its end or close it.
//
// An error of RoundTrip names the phase of the call and the address of the server. An http.Client adds the method and the URL.
// Failed dials and TLS handshakes have the types that net/http returns, such as *net.OpError and
// *tls.CertificateVerificationError. If a response body is cut off, Read returns io.ErrUnexpectedEOF itself, so a comparison
// with == works.
type Transport struct {
	// Proxy returns the URL of the proxy for a request, or nil to connect directly. The URL's scheme must be http,
	// https, socks5 or socks5h. If Proxy is nil, no proxy is used.
	Proxy func(*http.Request) (*url.URL, error)

	// ProxyConnectHeader is sent with each CONNECT to a proxy. Credentials in the proxy's URL become the
	// Proxy-Authorization header, replacing any value in ProxyConnectHeader.
	ProxyConnectHeader http.Header

	// GetProxyConnectHeader returns the header to send with a CONNECT for target, a host:port. The returned header
	// replaces ProxyConnectHeader. If GetProxyConnectHeader returns an error, the call fails with this error.
	GetProxyConnectHeader func(ctx context.Context, proxyURL *url.URL, target string) (http.Header, error)

	// OnProxyConnectResponse is called with a proxy's response to a CONNECT, before the Transport checks the status of the
	// response. The response has no body. If OnProxyConnectResponse returns an error, the call fails with this error.
	OnProxyConnectResponse func(ctx context.Context, proxyURL *url.URL, connectReq *http.Request, connectRes *http.Response) error

	// DialContext makes connections to servers and proxies. By default, gallop's dialer makes the connections, over
	// IPv4 and IPv6.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// DialTLSContext makes TLS connections for https requests that use no proxy. For such requests, DialTLSContext replaces
	// DialContext, TLSClientConfig and TLSHandshakeTimeout. If DialTLSContext returns a *tls.Conn, the Transport completes the
	// handshake. If the connection has any other type, DialTLSContext must complete the handshake itself.
	DialTLSContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSClientConfig configures TLS. nil means the default configuration. Do not change the configuration after the
	// first call.
	TLSClientConfig *tls.Config

	// TLSHandshakeTimeout is how long a TLS handshake may take. The default is 10 seconds. A negative value means no limit.
	TLSHandshakeTimeout time.Duration

	// ResponseHeaderTimeout limits the time between the last byte of the request and the end of the response header. When this
	// time is over, the call fails with an error whose Timeout method returns true. Zero means no limit.
	ResponseHeaderTimeout time.Duration

	// ExpectContinueTimeout is how long the Transport waits for a 100 response before it sends the body of a request with
	// "Expect: 100-continue". The default is one second. If the value is negative, the body is sent without waiting.
	ExpectContinueTimeout time.Duration

	// DisableKeepAlives makes the Transport use each connection for only one request.
	DisableKeepAlives bool

	// DisableCompression stops the Transport from asking for gzip. By default, the Transport asks for gzip and
	// decompresses the response body, unless the request has an Accept-Encoding or Range header.
	DisableCompression bool

	// MaxConnsPerHost limits the number of connections to a host. Zero means no limit. If the limit is reached, further
	// calls wait for a connection.
	MaxConnsPerHost int

	// MaxIdleConns limits the number of idle connections to all hosts together. Zero means no limit. Beyond the limit, the
	// Transport closes idle connections to the hosts that were used least recently.
	MaxIdleConns int

	// MaxIdleConnsPerHost limits the number of idle connections to a host. The default is 100. A negative value means
	// that no idle connection is kept.
	MaxIdleConnsPerHost int

	// IdleConnTimeout is how long an idle connection is kept. The default is 90 seconds. A negative value means no limit.
	IdleConnTimeout time.Duration

	// MaxResponseHeaderBytes limits the size of a response's status line and header in bytes. The default is 256 KiB.
	MaxResponseHeaderBytes int

	// Protocols is the set of protocols to use. See gallop.Client.Protocols. If the set has no protocol for a request,
	// RoundTrip returns an error that wraps gallop.ErrProtocols and errors.ErrUnsupported.
	Protocols *http.Protocols

	// HTTP2 configures HTTP/2 connections.
	HTTP2 *http.HTTP2Config

	// ForceAttemptHTTP2 has no effect. By default, an http.Transport with a TLSClientConfig or a dial function does not use
	// HTTP/2, so programs set ForceAttemptHTTP2. In this Transport, TLSClientConfig and dial functions do not affect which
	// protocols are used.
	//
	// Deprecated: use Protocols.
	ForceAttemptHTTP2 bool

	// ConfigureHost is called with the HostClient for a host before the first request to this host. The function can change
	// settings that Transport has no field for. ConfigureHost may be nil.
	ConfigureHost func(*gallop.HostClient)

	schemes atomic.Pointer[map[string]http.RoundTripper] // by RegisterProtocol
	mu      sync.RWMutex
	hosts   map[hostKey]*host
	pruneAt int // how many hosts there are when those without connections are forgotten
}

// hostKey identifies the host for calls that may share connections.
type hostKey struct {
	scheme, addr string
	proxy        string // URL of the proxy, or empty
}

var (
	errNoURL    = errors.New("nethttp: Request.URL is nil")
	errNoHeader = errors.New("nethttp: Request.Header is nil")
	errNoHost   = errors.New("nethttp: no Host in request URL")
)

const (
	defaultMaxIdle = 100

	defaultMaxResponseHead = 256 << 10
	defaultIdleTimeout     = 90 * time.Second
	noConnLimit            = 1 << 30
	minPruned              = 256
)

// host makes the calls to one host. For a proxy that gets whole URIs, it makes the calls to all hosts behind the proxy.
type host struct {
	client  *gallop.HostClient
	asked   *url.URL // the proxy that gets whole URIs, or nil
	leadsTo string   // where connections are made to, in ASCII: to the proxy if there is one
	ownDial bool     // the transport, or ConfigureHost, brings functions that connect
}

// hostFor returns the host that makes the calls for r.
func (t *Transport) hostFor(r *http.Request) (h *host, err error) {
	u := r.URL
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, schemeError(u)
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

// isAsked reports whether proxy, which may be nil, gets the whole URI of u instead of a CONNECT.
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

// prune removes hosts without connections and calls once there are many hosts. t is locked.
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

// maxIdlePerHost returns how many idle connections to a host are kept. With -1, a connection is closed after its call even
// if the request did not say "Connection: close".
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

// keepsNone reports whether each connection is used for one call only.
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

// CloseIdleConnections closes the connections that are idle. Calls in flight are not affected.
func (t *Transport) CloseIdleConnections() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, h := range t.hosts {
		h.client.CloseIdleConnections()
	}
}

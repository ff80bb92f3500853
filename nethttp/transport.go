package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// DefaultTransport is a Transport with the proxies of the environment.
var DefaultTransport http.RoundTripper = &Transport{Proxy: http.ProxyFromEnvironment}

// Transport is an http.RoundTripper, for the Transport of an http.Client, over gallop's
// HostClient. The zero value is ready to use. It may be used by many goroutines; fields must
// not be changed after the first call. It speaks HTTP/1.1.
//
//	transport.go           which host a call goes to, and over which proxy
//	transport_call.go      a call and its end
//	transport_request.go   how a request is sent
//	transport_response.go  how the answer is handed out
//	transport_errors.go    errors as net/http has them
//	transport_trace.go     httptrace
//
// Fields that http.Transport has too mean the same, except where something is said.
// Redirects, cookies and Timeout are the http.Client's. A response body has to be read to
// its end or closed, as always.
type Transport struct {
	// Proxy returns the proxy for a request, nil for none: http, https, socks5, socks5h.
	Proxy func(*http.Request) (*url.URL, error)

	// DialContext makes connections, also to proxies.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	TLSClientConfig    *tls.Config
	DisableKeepAlives  bool
	DisableCompression bool

	// MaxConnsPerHost is how many connections there may be to a host; no limit by default.
	MaxConnsPerHost int

	// MaxIdleConnsPerHost is how many of them are kept while nobody uses them; 100 by default, none if negative.
	MaxIdleConnsPerHost int

	// IdleConnTimeout is for how long; 90 seconds by default, for ever if negative.
	IdleConnTimeout time.Duration

	// MaxResponseHeaderBytes is 256 KiB by default.
	MaxResponseHeaderBytes int

	// ConfigureHost is called with the HostClient for a host before that is used, and
	// may change fields that are not described here. It may be nil.
	ConfigureHost func(*gallop.HostClient)

	mu      sync.RWMutex
	hosts   map[hostKey]*gallop.HostClient
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
	defaultMaxIdle     = 100
	defaultIdleTimeout = 90 * time.Second
	noConnLimit        = 1 << 30
	minPruned          = 256
)

// hostFor returns who makes calls to the host of r, and whether as a proxy that is
// asked for whole URIs.
func (t *Transport) hostFor(r *http.Request) (hc *gallop.HostClient, proxy *url.URL, err error) {
	u := r.URL
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, &net.AddrError{Err: "unsupported protocol scheme", Addr: u.Scheme}
	}
	if u.Host == "" {
		return nil, nil, errNoHost
	}
	if t.Proxy != nil {
		if proxy, err = t.Proxy(r); err != nil {
			return nil, nil, err
		}
	}
	key := hostKey{scheme: u.Scheme, addr: u.Host}
	asked := proxy != nil && u.Scheme == "http" && (proxy.Scheme == "http" || proxy.Scheme == "https")
	if proxy != nil {
		key.proxy = proxy.String()
	}
	if asked {
		key.addr = "" // all of these hosts share the connections to the proxy
	}
	hc = t.known(key)
	if hc == nil {
		hc = t.add(key, u, proxy, asked)
	}
	if !asked {
		proxy = nil
	}
	return hc, proxy, nil
}

func (t *Transport) known(key hostKey) *gallop.HostClient {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hosts[key]
}

func (t *Transport) add(key hostKey, u, proxy *url.URL, asked bool) *gallop.HostClient {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hc := t.hosts[key]; hc != nil {
		return hc
	}
	if t.hosts == nil {
		t.hosts = map[hostKey]*gallop.HostClient{}
	}
	t.prune()
	hc := t.newHost(u, proxy, asked)
	t.hosts[key] = hc
	return hc
}

// prune forgets hosts that nobody talks to, when there have become many. t is locked.
func (t *Transport) prune() {
	if len(t.hosts) < max(t.pruneAt, minPruned) {
		return
	}
	for key, hc := range t.hosts {
		if hc.ConnsCount() == 0 && hc.PendingRequests() == 0 {
			delete(t.hosts, key)
		}
	}
	t.pruneAt = 2 * len(t.hosts)
}

func (t *Transport) newHost(u, proxy *url.URL, asked bool) *gallop.HostClient {
	hc := &gallop.HostClient{
		Addr:                     addrOf(u),
		IsTLS:                    u.Scheme == "https",
		TLSConfig:                t.TLSClientConfig,
		DialContext:              marked(t.DialContext),
		NoDefaultUserAgentHeader: true,
		MaxConns:                 orDefault(max(t.MaxConnsPerHost, 0), noConnLimit),
		MaxIdleConns:             orDefault(t.MaxIdleConnsPerHost, defaultMaxIdle),
		MaxIdleConnDuration:      orDefault(t.IdleConnTimeout, defaultIdleTimeout),
		MaxConnWaitTimeout:       -1, // as long as the call may take
		MaxResponseHeaderBytes:   t.MaxResponseHeaderBytes,
		StreamResponseBody:       true,
		DetailedErrors:           true, // for mayRepeat
	}
	switch {
	case asked:
		hc.Addr, hc.IsTLS, hc.IsProxy = addrOf(proxy), proxy.Scheme == "https", true
	case proxy != nil:
		hc.Proxy = func(bool, string) (*url.URL, error) { return proxy, nil }
	}
	if t.ConfigureHost != nil {
		t.ConfigureHost(hc)
	}
	return hc
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
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// CloseIdleConnections closes the connections that nobody uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, hc := range t.hosts {
		hc.CloseIdleConnections()
	}
}

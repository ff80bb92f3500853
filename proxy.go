package gallop

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/target"
)

// How proxies are organised: proxy.go has the dialer, proxy_env.go which proxy it
// takes, proxy_tunnel.go the connection while it becomes a tunnel, and proxy_connect.go
// and proxy_socks5.go what is said to make it one.

// defaultProxyTimeout is how long a dial through a proxy may take if nothing else is said.
const defaultProxyTimeout = 10 * time.Second

// ProxyDialer makes connections through proxies: its DialContext, Dial and
// DialTimeout are for the fields of HostClient with those names. Every connection is a
// tunnel, for http as for https. The proxy resolves names. Unix sockets are
// dialed without a proxy. The zero value uses the proxies of the environment, for plain HTTP.
//
// All methods may be called concurrently. Fields must not be changed after the first
// call. A dial that fails returns an *ErrDialWithUpstream, with a *ProxyError in it if
// there was a proxy.
type ProxyDialer struct {
	// URL is the proxy for all connections. nil means that Proxy chooses. Its scheme is
	//   - http, for CONNECT (RFC 9110 §9.3.6),
	//   - https, for the same over TLS to the proxy,
	//   - socks5 or socks5h, for SOCKS 5 (RFC 1928).
	//
	// The user information is sent to the proxy as Basic credentials (RFC 7617), or
	// those of RFC 1929.
	URL *url.URL

	// Proxy chooses the proxy if URL is nil, and returns nil to connect directly. target has
	// only a scheme, which is Scheme, and a host with a port. ctx is that of the dial. nil means
	// the rules that the environment had at the first dial of the process.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Scheme is the scheme of the target that Proxy gets, such as "https". The default is "http".
	Scheme string

	// Authorization is the Proxy-Authorization for CONNECT, instead of what the URL
	// says.
	Authorization string

	// TLSConfig is for https proxies. ServerName is the host of the proxy unless set.
	TLSConfig *tls.Config

	// Connect connects to the proxy, and to what is dialed without one. nil is the
	// DialContext of the TCPDialer that Dial uses.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSHandshakeTimeout is how long the TLS handshake with an https proxy may take. If it is not positive, only
	// Timeout limits it.
	TLSHandshakeTimeout time.Duration

	// ConnectHeader is called with the header of each CONNECT before it is sent, and may add fields. The header
	// belongs to ConnectHeader as long as that runs. target is the host:port that the proxy is asked for. If
	// ConnectHeader returns an error, the dial fails with that. It may be nil.
	ConnectHeader func(ctx context.Context, target string, h *RequestHeader) error

	// OnConnectResponse is called with the response to each CONNECT, also with one that refuses. resp may be used as
	// long as OnConnectResponse runs. If it returns an error, the dial fails with that. It may be nil.
	OnConnectResponse func(ctx context.Context, target string, resp *ResponseHeader) error

	// Timeout is how long a dial may take, all in all, if DialTimeout does not say
	// otherwise. 0 is 10 seconds, negative is for ever.
	Timeout time.Duration

	tls    clientTLS
	shared *clientTLS // instead of tls, of the client that dials
}

// ProxyError says that a proxy did not do what it was asked for.
type ProxyError struct {
	Proxy      string // host:port
	StatusCode int    // of the refusal of an HTTP proxy, or 0
	Err        error  // what else was wrong, or nil
}

// Error names the proxy and the reason. It has no credentials, and no bytes of what
// the proxy said.
func (e *ProxyError) Error() string {
	text := "gallop: proxy " + strconv.Quote(e.Proxy) + ": "
	if e.Err == nil {
		return text + "responded with " + strconv.Itoa(e.StatusCode) + " " + StatusMessage(e.StatusCode)
	}
	return text + errorText(e.Err)
}

// HTTPStatus returns StatusCode, the status with which the proxy refused. It is 0 if the proxy did not refuse, and for SOCKS
// proxies. The server behind the proxy has not seen the request.
func (e *ProxyError) HTTPStatus() int { return e.StatusCode }

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// Dial connects to addr, which is host:port, within Timeout.
func (d *ProxyDialer) Dial(addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), "tcp", addr)
}

// DialTimeout connects to addr within timeout.
func (d *ProxyDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialWithin(context.Background(), timeout, "tcp", addr)
}

// DialContext connects to addr within Timeout and as long as ctx allows. The network
// is for what is dialed without a proxy.
func (d *ProxyDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case d.Timeout < 0:
		return d.dial(ctx, network, addr)
	case d.Timeout == 0:
		return d.dialWithin(ctx, defaultProxyTimeout, network, addr)
	}
	return d.dialWithin(ctx, d.Timeout, network, addr)
}

func (d *ProxyDialer) dialWithin(ctx context.Context, timeout time.Duration, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return d.dial(ctx, network, addr)
}

// dial connects to addr as long as ctx allows.
func (d *ProxyDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, isPath := unixPath(addr); network == "unix" || isPath {
		return d.connect(ctx, network, addr)
	}
	p, err := d.choose(ctx, addr)
	if err != nil {
		return nil, &ErrDialWithUpstream{Upstream: addr, wrapErr: err}
	}
	if p == nil {
		return d.connect(ctx, network, addr)
	}
	nc, err := d.through(ctx, p, addr)
	if err != nil {
		return nil, &ErrDialWithUpstream{Upstream: addr, wrapErr: proxyError(ctx, p, err)}
	}
	return nc, nil
}

// proxyError puts the name of the proxy on what went wrong there.
func proxyError(ctx context.Context, p *proxyServer, err error) error {
	if e, ok := err.(*ProxyError); ok {
		e.Proxy = p.addr
		return e
	}
	return &ProxyError{Proxy: p.addr, Err: dialError(ctx, err)}
}

// choose returns the proxy for addr, or nil if there is none.
func (d *ProxyDialer) choose(ctx context.Context, addr string) (*proxyServer, error) {
	if d.URL != nil {
		return parseProxy(d.URL)
	}
	proxy := d.Proxy
	if proxy == nil {
		proxy = environmentRules().Proxy
	}
	u, err := proxy(ctx, proxyTarget(cmp.Or(d.Scheme, "http"), addr))
	if u == nil || err != nil {
		return nil, err
	}
	return parseProxy(u)
}

// proxyTarget returns what a Proxy function is asked about.
func proxyTarget(scheme, addr string) *url.URL { return &url.URL{Scheme: scheme, Host: addr} }

func (d *ProxyDialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.Connect != nil {
		return d.Connect(ctx, network, addr)
	}
	return defaultDialer.dialContext(ctx, network, addr)
}

// through makes a tunnel to addr.
func (d *ProxyDialer) through(ctx context.Context, p *proxyServer, addr string) (net.Conn, error) {
	hello, err := d.greeting(p, addr)
	if err != nil {
		return nil, err
	}
	raw, err := d.connect(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	t := &tunnel{nc: raw, ctx: ctx, hooks: d}
	if p.scheme == "https" {
		if t.nc, err = cmp.Or(d.shared, &d.tls).handshake(ctx, raw, p.addr, d.TLSConfig, d.TLSHandshakeTimeout); err != nil {
			return nil, err
		}
	}
	done := false
	defer func() {
		if !done { // also if a callback panics
			t.nc.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	err = hello(t)
	if !stop() {
		err = ctx.Err()
	}
	if done = err == nil; !done {
		return nil, err
	}
	return t.conn(), nil
}

// greeting returns what makes a connection to the proxy a tunnel to addr. What cannot
// be asked for is an error before anything is sent.
func (d *ProxyDialer) greeting(p *proxyServer, addr string) (func(*tunnel) error, error) {
	to, err := parseTunnelTarget(addr)
	if err != nil {
		return nil, err
	}
	if p.scheme == "socks5" {
		err := checkSocksPassword(p.user, p.password)
		return func(t *tunnel) error { return t.socks5(to, p.user, p.password) }, err
	}
	authorization, err := d.authorization(p)
	return func(t *tunnel) error { return t.connect(to, authorization) }, err
}

// proxyServer is what a proxy's URL says.
type proxyServer struct {
	scheme         string // http, https or socks5
	addr           string // host:port
	user, password string
}

// parseProxy reads the URL of a proxy.
func parseProxy(u *url.URL) (*proxyServer, error) {
	p := &proxyServer{scheme: u.Scheme}
	port := u.Port()
	byDefault := ""
	switch u.Scheme {
	case "http":
		byDefault = "80"
	case "https":
		byDefault = "443"
	case "socks5", "socks5h":
		p.scheme, byDefault = "socks5", "1080"
	default:
		return nil, errProxyScheme
	}
	if port == "" {
		port = byDefault
	}
	p.addr = net.JoinHostPort(u.Hostname(), port)
	if _, _, err := splitDialAddr(p.addr); err != nil {
		return nil, errProxyURL
	}
	p.user = u.User.Username()
	p.password, _ = u.User.Password()
	return p, nil
}

// tunnelTarget is what a proxy is asked to connect to: an address, or else a name.
type tunnelTarget struct {
	name string
	ip   netip.Addr
	port uint16
}

// parseTunnelTarget reads host:port. What it returns is safe to be sent to a proxy:
// of a name it is known that it has no byte but those of RFC 3986 §3.2.2, without
// sub-delims and escapes.
func parseTunnelTarget(addr string) (to tunnelTarget, err error) {
	host, port, err := splitDialAddr(addr)
	if err != nil {
		return to, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return to, errProxyTarget
		}
		return tunnelTarget{ip: ip.Unmap(), port: port}, nil
	}
	name, _, ok := target.ParseAuthority([]byte(addr))
	if !ok || string(name) != host || len(host) > 255 {
		return to, errProxyTarget
	}
	return tunnelTarget{name: host, port: port}, nil
}

// String returns the authority form of the target (RFC 9112 §3.2.3).
func (to tunnelTarget) String() string {
	if to.name == "" {
		return netip.AddrPortFrom(to.ip, to.port).String()
	}
	return net.JoinHostPort(to.name, strconv.Itoa(int(to.port)))
}

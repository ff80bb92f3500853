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

// ProxyDialer opens connections through proxies. The methods DialContext, Dial and DialTimeout can be assigned to the
// HostClient fields with the same names. Every connection is a tunnel, even for plain HTTP, and the proxy resolves the
// names. Unix sockets are dialed directly. The zero value uses the proxies that the environment variables specify for
// plain HTTP.
//
// All methods may be called concurrently. Do not change fields after the first call. If a dial fails, the error is an
// *ErrDialWithUpstream. If a dial through a proxy fails, the *ErrDialWithUpstream wraps a *ProxyError.
type ProxyDialer struct {
	// URL is the proxy for all connections. If URL is nil, the Proxy field chooses the proxy. The URL's scheme is one
	// of these:
	//
	//   - http: CONNECT (RFC 9110 §9.3.6)
	//   - https: CONNECT, with TLS to the proxy
	//   - socks5 or socks5h: SOCKS 5 (RFC 1928)
	//
	// The user name and password in the URL are sent to the proxy. HTTP and HTTPS proxies receive Basic credentials
	// (RFC 7617). SOCKS proxies receive the name and password according to RFC 1929.
	URL *url.URL

	// Proxy chooses the proxy if URL is nil. The function returns nil for a direct connection. target contains only a
	// scheme, taken from the Scheme field, and a host with a port. ctx is the dial's context. If Proxy is nil, the
	// dialer uses the environment variables as they were at the process's first dial.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Scheme is the scheme of the target that Proxy gets, such as "https". The default is "http".
	Scheme string

	// Authorization is the Proxy-Authorization header to send with CONNECT, in place of the credentials in the URL.
	// If Authorization is empty, the credentials in the URL are sent.
	Authorization string

	// TLSConfig configures TLS to https proxies. Nil means the default configuration. If ServerName is empty, the
	// proxy's host is used as the server name.
	TLSConfig *tls.Config

	// Connect opens TCP connections to proxies, and to targets that are dialed directly. Nil means the DialContext
	// method of the TCPDialer that Dial uses.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSHandshakeTimeout limits the TLS handshake with an https proxy. If TLSHandshakeTimeout is zero or negative,
	// only Timeout limits the handshake.
	TLSHandshakeTimeout time.Duration

	// ConnectHeader is called with the header of each CONNECT request before the request is sent, and may add
	// headers. target is the host:port that the proxy is asked to connect to. h is valid until the function returns.
	// If the function returns an error, the dial fails with that error. If ConnectHeader is nil, no headers are
	// added.
	ConnectHeader func(ctx context.Context, target string, h *RequestHeader) error

	// OnConnectResponse is called with the response to each CONNECT request, including refusals. resp is valid until
	// the function returns. If the function returns an error, the dial fails with that error. OnConnectResponse may be
	// nil.
	OnConnectResponse func(ctx context.Context, target string, resp *ResponseHeader) error

	// Timeout limits a whole dial, including the handshakes with the proxy. Zero means 10 seconds. With a negative
	// value, only the context limits a dial. DialTimeout uses its timeout argument instead of Timeout.
	Timeout time.Duration

	tls    clientTLS
	shared *clientTLS // instead of tls, of the client that dials
}

// ProxyError says why a proxy did not open a tunnel.
type ProxyError struct {
	// Proxy is the address of the proxy, as host:port.
	Proxy string

	// StatusCode is the status code with which an HTTP proxy refused the tunnel. If the dial failed for a different
	// reason, StatusCode is 0.
	StatusCode int

	// Err says why there is no tunnel. If StatusCode is not 0, Err is nil.
	Err error
}

// Error returns a text with the proxy and the reason. The text contains neither credentials nor bytes that the proxy
// sent.
func (e *ProxyError) Error() string {
	text := "gallop: proxy " + strconv.Quote(e.Proxy) + ": "
	if e.Err == nil {
		return text + "responded with " + strconv.Itoa(e.StatusCode) + " " + StatusMessage(e.StatusCode)
	}
	return text + errorText(e.Err)
}

// HTTPStatus returns StatusCode, the status code with which an HTTP proxy refused the tunnel. If the proxy refused the
// tunnel, the server behind the proxy has not seen the request.
func (e *ProxyError) HTTPStatus() int { return e.StatusCode }

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// Dial connects to addr, which has the form host:port, within Timeout.
func (d *ProxyDialer) Dial(addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), "tcp", addr)
}

// DialTimeout connects to addr, which has the form host:port, within timeout. If timeout is zero or negative,
// the dial fails.
func (d *ProxyDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialWithin(context.Background(), timeout, "tcp", addr)
}

// DialContext connects to addr within Timeout, and gives up when ctx is done. network applies to direct
// connections only.
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

// greeting returns the function that turns a connection to the proxy into a tunnel to addr. It returns an
// error, before anything is sent, if addr or the credentials cannot be sent to the proxy.
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

// parseTunnelTarget parses host:port. The result is safe to send to a proxy. A name consists of unreserved
// characters only; the sub-delims and escapes that RFC 3986 §3.2.2 also allows are refused.
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

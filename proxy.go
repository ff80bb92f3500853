package gallop

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/http1"
)

// defaultProxyTimeout is the default of ProxyDialer.Timeout.
const defaultProxyTimeout = 10 * time.Second

// ProxyDialer opens connections through proxies. The methods DialContext, Dial and DialTimeout can be assigned to the
// HostClient fields with the same names. Every connection through a proxy is a tunnel, even for plain HTTP, and the
// proxy resolves host names. Unix sockets are dialed directly. The zero value uses the proxy that the environment
// variables specify for plain HTTP.
//
// All methods may be called concurrently. Do not change fields after the first call. If a dial fails, the error is an
// *ErrDialWithUpstream. If a dial through a proxy fails, the *ErrDialWithUpstream wraps a *ProxyError.
type ProxyDialer struct {
	// URL is the proxy for all connections. If URL is nil, the function in the Proxy field chooses the proxy. The URL's
	// scheme is one of these:
	//
	//   - http: CONNECT (RFC 9110 §9.3.6)
	//   - https: CONNECT, with TLS to the proxy
	//   - socks5 or socks5h: SOCKS 5 (RFC 1928)
	//
	// The user name and password in the URL are sent to the proxy. HTTP and HTTPS proxies receive Basic credentials
	// (RFC 7617). SOCKS proxies receive the name and password according to RFC 1929.
	URL *url.URL

	// Proxy chooses the proxy if URL is nil. The function returns nil for a direct connection. The argument target
	// contains only a scheme, which comes from the Scheme field, and a host with a port. The argument ctx is the dial's
	// context. If Proxy is nil, the dialer uses the environment variables. The process reads the environment variables
	// only once, when a dial needs them for the first time.
	Proxy func(ctx context.Context, target *url.URL) (*url.URL, error)

	// Scheme is the scheme of the target that Proxy gets, such as "https". The default is "http".
	Scheme string

	// Authorization is the Proxy-Authorization header to send with CONNECT, instead of the credentials in the URL. If
	// Authorization is empty, the credentials in the URL are sent.
	Authorization string

	// TLSConfig configures TLS to https proxies. Nil means the default configuration. If ServerName is empty, the
	// proxy's host is used as the server name.
	TLSConfig *tls.Config

	// Connect opens TCP connections to proxies, and to targets that are dialed directly. Nil means the DialContext method
	// of the TCPDialer that the function Dial uses.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSHandshakeTimeout limits the TLS handshake with an https proxy. If TLSHandshakeTimeout is zero or negative,
	// only Timeout limits the handshake.
	TLSHandshakeTimeout time.Duration

	// ConnectHeader is called with the header of each CONNECT request before the request is sent, and may add headers. The
	// argument target is the host:port that the proxy is asked to connect to. The argument h is valid until the function
	// returns. If the function returns an error, the dial fails with that error. If ConnectHeader is nil, no headers are
	// added.
	ConnectHeader func(ctx context.Context, target string, h *RequestHeader) error

	// OnConnectResponse is called with the response to each CONNECT request, including refusals. The argument resp is
	// valid until the function returns. If the function returns an error, the dial fails with that error.
	// OnConnectResponse may be nil.
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
// tunnel, the target server has not seen the request.
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
	return contextDial(d.dial).within(context.Background(), timeout, "tcp", addr)
}

// DialContext connects to addr within Timeout, and gives up when ctx is done. The argument network matters only for
// direct connections.
func (d *ProxyDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return contextDial(d.dial).limited(ctx, d.Timeout, defaultProxyTimeout, network, addr)
}

// dial connects to addr as long as ctx allows.
func (d *ProxyDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, isPath := dial.UnixPath(addr); network == "unix" || isPath {
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
func proxyError(ctx context.Context, p *dial.Proxy, err error) error {
	if e, ok := err.(*ProxyError); ok {
		e.Proxy = p.Addr
		return e
	}
	return &ProxyError{Proxy: p.Addr, Err: dialError(ctx, err)}
}

// choose returns the proxy for addr, or nil if there is none.
func (d *ProxyDialer) choose(ctx context.Context, addr string) (*dial.Proxy, error) {
	if d.URL != nil {
		return dial.ParseProxy(d.URL)
	}
	proxy := d.Proxy
	if proxy == nil {
		proxy = environmentRules().Proxy
	}
	u, err := proxy(ctx, proxyTarget(cmp.Or(d.Scheme, "http"), addr))
	if u == nil || err != nil {
		return nil, err
	}
	return dial.ParseProxy(u)
}

// proxyTarget returns what a Proxy function is asked about.
func proxyTarget(scheme, addr string) *url.URL { return &url.URL{Scheme: scheme, Host: addr} }

func (d *ProxyDialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return dialFuncs{context: d.Connect, dualStack: true}.dial(ctx, network, addr)
}

// through opens a tunnel to addr.
func (d *ProxyDialer) through(ctx context.Context, p *dial.Proxy, addr string) (net.Conn, error) {
	hello, err := d.greeting(ctx, p, addr)
	if err != nil {
		return nil, err
	}
	raw, err := d.connect(ctx, "tcp", p.Addr)
	if err != nil {
		return nil, err
	}
	t := &dial.Tunnel{Conn: raw}
	if p.Scheme == "https" {
		if t.Conn, err = cmp.Or(d.shared, &d.tls).handshake(ctx, raw, p.Addr, d.TLSConfig, nil, d.TLSHandshakeTimeout); err != nil {
			return nil, err
		}
	}
	done := false
	defer func() {
		if !done { // also if a callback panics
			t.Conn.Close()
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
	return t.Finish(), nil
}

// greeting returns the function that turns a connection to the proxy into a tunnel to addr. It returns an
// error, before anything is sent, if addr or the credentials cannot be sent to the proxy.
func (d *ProxyDialer) greeting(ctx context.Context, p *dial.Proxy, addr string) (func(*dial.Tunnel) error, error) {
	to, err := dial.ParseTarget(addr)
	if err != nil {
		return nil, err
	}
	if p.Scheme == "socks5" {
		err := dial.CheckSocksPassword(p.User, p.Password)
		return func(t *dial.Tunnel) error { return t.Socks5(to, p.User, p.Password) }, err
	}
	authorization, err := p.Authorization(d.Authorization)
	return func(t *dial.Tunnel) error { return d.askConnect(ctx, t, to, authorization) }, err
}

// askConnect asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6).
func (d *ProxyDialer) askConnect(ctx context.Context, t *dial.Tunnel, to dial.Target, authorization string) error {
	request, err := d.connectRequest(ctx, to, authorization)
	if err != nil {
		return err
	}
	if _, err = t.Conn.Write(request); err != nil {
		return err
	}
	for range maxInterim + 1 {
		var h ResponseHeader
		if err := t.ReadHead(&h.head); err != nil {
			return parseError(err)
		}
		h.detach()
		if status := h.StatusCode(); status >= 200 || status == StatusSwitchingProtocols {
			return d.judge(ctx, to, &h)
		}
	}
	return errInterim
}

// judge returns nil if the proxy has agreed to the tunnel.
func (d *ProxyDialer) judge(ctx context.Context, to dial.Target, h *ResponseHeader) error {
	if d.OnConnectResponse != nil {
		if err := d.OnConnectResponse(ctx, to.String(), h); err != nil {
			return err
		}
	}
	if status := h.StatusCode(); status/100 != 2 {
		return &ProxyError{StatusCode: status}
	}
	return nil
}

// connectRequest returns a CONNECT request, with what ConnectHeader adds.
func (d *ProxyDialer) connectRequest(ctx context.Context, to dial.Target, authorization string) ([]byte, error) {
	if d.ConnectHeader == nil {
		return dial.AppendConnect(nil, to, authorization), nil
	}
	var h RequestHeader
	if authorization != "" {
		h.Set("Proxy-Authorization", authorization)
	}
	if err := d.ConnectHeader(ctx, to.String(), &h); err != nil {
		return nil, err
	}
	request := bytes.TrimSuffix(dial.AppendConnect(nil, to, ""), []byte("\r\n"))
	for name, value := range h.All() {
		if !dial.IsOfConnect(name) {
			request = http1.AppendField(request, name, value)
		}
	}
	return append(request, "\r\n"...), nil
}

// ProxyRules choose the proxy for a connection. The fields correspond to the environment variables HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY. The Proxy method may be called concurrently. Do not change fields after the first call to
// Proxy.
type ProxyRules struct {
	// HTTPProxy is the proxy for http targets. The value is a URL, or the host:port of an HTTP proxy. If HTTPProxy is
	// empty, connections for http use no proxy.
	HTTPProxy string

	// HTTPSProxy is the proxy for https targets. The value is a URL, or the host:port of an HTTP proxy. If HTTPSProxy
	// is empty, connections for https use no proxy.
	HTTPSProxy string

	// NoProxy is a comma-separated list of hosts that are dialed directly. An entry is a name, an IP address or a prefix
	// such as 10.0.0.0/8. A name also matches its subdomains. A name or an address can include a port. The entry "*" means
	// all hosts. Localhost and loopback addresses are always dialed directly.
	NoProxy string

	cgi bool // HTTP_PROXY may be a field of a request

	once   sync.Once
	choose func(*url.URL) (*url.URL, error)
	broken error // a proxy is no URL
}

// ProxyRulesFromEnvironment returns the rules in the environment variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY. If a
// variable such as HTTP_PROXY is not set, the variable with the same name in lower case is used.
//
// In a CGI program, HTTP_PROXY is not trusted, because a client can set the variable with a Proxy header. In a CGI
// program, a dial that needs HTTP_PROXY fails.
func ProxyRulesFromEnvironment() *ProxyRules {
	env := dial.ProxyRulesFromEnvironment()
	return &ProxyRules{HTTPProxy: env.HTTPProxy, HTTPSProxy: env.HTTPSProxy, NoProxy: env.NoProxy, cgi: env.CGI}
}

// environmentRules are those that the environment had when they were asked for first.
var environmentRules = sync.OnceValue(ProxyRulesFromEnvironment)

// Proxy returns the URL of the proxy for the target, or nil for a direct connection. The method uses only the scheme
// and the host of the target. If a proxy in the rules is invalid, the method returns an error, so that a dial does not
// bypass the proxy by mistake. The method ignores its context. The method can be used as the Proxy field of Client,
// HostClient and ProxyDialer.
func (r *ProxyRules) Proxy(_ context.Context, target *url.URL) (*url.URL, error) {
	r.once.Do(func() {
		rules := dial.ProxyRules{HTTPProxy: r.HTTPProxy, HTTPSProxy: r.HTTPSProxy, NoProxy: r.NoProxy, CGI: r.cgi}
		r.choose, r.broken = rules.Chooser()
	})
	if r.broken != nil {
		return nil, r.broken
	}
	return r.choose(target)
}

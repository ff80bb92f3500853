// Package fasthttpproxy provides the names of github.com/valyala/fasthttp/fasthttpproxy. It is built on gallop's
// ProxyDialer. New programs should set gallop.Client.Proxy instead.
package fasthttpproxy

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// Dialer connects through the proxies that Config chooses. It dials the proxies with TCPDialer.
type Dialer struct {
	gallop.TCPDialer
	httpproxy.Config

	// DialDualStack allows IPv4 and IPv6 in the functions of GetDialFunc and GetDialFuncForTLS, also for connecting
	// to the proxy. By default they use only IPv4.
	DialDualStack bool

	// Timeout limits the time for connecting to the proxy. 0 means the timeout of TCPDialer.
	Timeout time.Duration

	// ConnectTimeout limits the time that the proxy then takes to open a tunnel. 0 means 10 seconds for both
	// together.
	ConnectTimeout time.Duration
}

// DialerFunc is a function with the method Dial.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls f.
func (f DialerFunc) Dial(network, addr string) (net.Conn, error) { return f(network, addr) }

// Dial connects to addr without a proxy. The network must be "tcp", "tcp4" or "tcp6".
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	return d.connect(context.Background(), network, addr)
}

func (d *Dialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	return d.TCPDialer.DialContext(ctx, network, addr)
}

// GetDialFunc returns a function that connects through proxies. If useEnv is true, the proxies come from the current
// environment, otherwise from Config. The function assumes HTTPS for port 443 and HTTP for all other ports.
func (d *Dialer) GetDialFunc(useEnv bool) (gallop.DialFunc, error) {
	return d.dialFunc(useEnv, func(addr string) string {
		if strings.HasSuffix(addr, ":443") {
			return "https"
		}
		return "http"
	})
}

// GetDialFuncForTLS is like [Dialer.GetDialFunc], but isTLS says whether the connections are for HTTPS.
func (d *Dialer) GetDialFuncForTLS(useEnv, isTLS bool) (gallop.DialFunc, error) {
	scheme := "http"
	if isTLS {
		scheme = "https"
	}
	return d.dialFunc(useEnv, func(string) string { return scheme })
}

func (d *Dialer) dialFunc(useEnv bool, scheme func(addr string) string) (gallop.DialFunc, error) {
	config := &d.Config
	if useEnv {
		config = httpproxy.FromEnvironment()
	}
	choose := config.ProxyFunc()
	if config.NoProxy == "" && (config.HTTPProxy == config.HTTPSProxy || scheme(":80") == scheme(":443")) {
		// If there is only one proxy, it is also used for this machine.
		proxy, err := choose(&url.URL{Scheme: scheme(":443"), Host: "example.com"})
		if err == nil && proxy != nil {
			err = check(proxy)
		}
		if err != nil {
			return nil, err
		}
		choose = func(*url.URL) (*url.URL, error) { return proxy, nil }
	}
	network := "tcp4"
	if d.DialDualStack {
		network = "tcp"
	}
	connect := func(ctx context.Context, _, addr string) (net.Conn, error) { return d.connect(ctx, network, addr) }
	return func(addr string) (net.Conn, error) {
		proxy, err := choose(&url.URL{Scheme: scheme(addr), Host: addr})
		switch {
		case err != nil:
			return nil, err
		case proxy == nil:
			return d.Dial(network, addr)
		}
		through := gallop.ProxyDialer{URL: proxy, Connect: connect, Timeout: d.allInAll()}
		return through.Dial(addr)
	}, nil
}

// allInAll returns the limit for a whole dial through a proxy, as a ProxyDialer.Timeout.
func (d *Dialer) allInAll() time.Duration {
	if d.ConnectTimeout <= 0 {
		return 0
	}
	if d.Timeout <= 0 {
		return gallop.DefaultDialTimeout + d.ConnectTimeout
	}
	return d.Timeout + d.ConnectTimeout
}

// check refuses a URL whose kind of proxy is not supported.
func check(u *url.URL) error {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	_, err := proxy.FromURL(u, nil) // its error says why
	return err
}

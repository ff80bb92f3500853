// Package fasthttpproxy has the names of github.com/valyala/fasthttp/fasthttpproxy for gallop's ProxyDialer. New
// programs set gallop.Client.Proxy instead.
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

// Dialer dials through the proxies that Config chooses, and dials them with TCPDialer.
type Dialer struct {
	gallop.TCPDialer
	httpproxy.Config

	// DialDualStack makes the functions of GetDialFunc and GetDialFuncForTLS use IPv4 and IPv6, to the proxy as well. By
	// default they use IPv4 only.
	DialDualStack bool

	// Timeout is how long it may take to connect to the proxy. 0 is that of TCPDialer.
	Timeout time.Duration

	// ConnectTimeout is how long the proxy may then take to make a tunnel. 0 is 10 seconds, the connecting included.
	ConnectTimeout time.Duration
}

// DialerFunc is a function with the method Dial.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls f.
func (f DialerFunc) Dial(network, addr string) (net.Conn, error) { return f(network, addr) }

// Dial connects to addr without a proxy. The network is "tcp", "tcp4" or "tcp6".
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

// GetDialFunc returns a function that dials through the proxies of the environment, as it is now, or else of
// Config. It takes https to be spoken on port 443 and nowhere else.
func (d *Dialer) GetDialFunc(useEnv bool) (gallop.DialFunc, error) {
	return d.dialFunc(useEnv, func(addr string) string {
		if strings.HasSuffix(addr, ":443") {
			return "https"
		}
		return "http"
	})
}

// GetDialFuncForTLS is GetDialFunc for those who know whether https is spoken.
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
		// One proxy for everything, and that is for this machine too.
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

// allInAll is how long a dial through a proxy may take, as ProxyDialer.Timeout has it.
func (d *Dialer) allInAll() time.Duration {
	if d.ConnectTimeout <= 0 {
		return 0
	}
	if d.Timeout <= 0 {
		return gallop.DefaultDialTimeout + d.ConnectTimeout
	}
	return d.Timeout + d.ConnectTimeout
}

// check refuses a proxy of a kind that there is none of.
func check(u *url.URL) error {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	_, err := proxy.FromURL(u, nil) // which says why not
	return err
}

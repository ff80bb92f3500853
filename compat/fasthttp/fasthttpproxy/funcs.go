package fasthttpproxy

import (
	"net"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpproxy"
)

// FasthttpHTTPDialer returns a function that connects through an HTTP proxy. The proxy is host:port or
// user:password@host:port.
func FasthttpHTTPDialer(proxy string) gallop.DialFunc { return through(proxy, 0, false) }

// FasthttpHTTPDialerTimeout is like [FasthttpHTTPDialer], with the timeout for the connection and again for the
// tunnel.
func FasthttpHTTPDialerTimeout(proxy string, timeout time.Duration) gallop.DialFunc {
	return through(proxy, timeout, false)
}

// FasthttpHTTPDialerDualStack dials through an HTTP proxy over IPv4 or IPv6. See [FasthttpHTTPDialer].
func FasthttpHTTPDialerDualStack(proxy string) gallop.DialFunc { return through(proxy, 0, true) }

// FasthttpHTTPDialerDualStackTimeout dials through an HTTP proxy over IPv4 or IPv6. See [FasthttpHTTPDialerTimeout].
func FasthttpHTTPDialerDualStackTimeout(proxy string, timeout time.Duration) gallop.DialFunc {
	return through(proxy, timeout, true)
}

// FasthttpSocksDialer returns a function that connects through a SOCKS 5 proxy, given as a URL.
func FasthttpSocksDialer(proxyAddr string) gallop.DialFunc { return through(proxyAddr, 0, false) }

// FasthttpSocksDialerDualStack dials through a SOCKS 5 proxy over IPv4 or IPv6. See [FasthttpSocksDialer].
func FasthttpSocksDialerDualStack(proxyAddr string) gallop.DialFunc {
	return through(proxyAddr, 0, true)
}

// FasthttpProxyHTTPDialer returns a function that connects through the proxies of the current environment.
func FasthttpProxyHTTPDialer() gallop.DialFunc { return FasthttpProxyHTTPDialerTimeout(0) }

// FasthttpProxyHTTPDialerTimeout is like [FasthttpProxyHTTPDialer], with the timeout for the connection and again for
// the tunnel.
func FasthttpProxyHTTPDialerTimeout(timeout time.Duration) gallop.DialFunc {
	d := &Dialer{Timeout: timeout, ConnectTimeout: timeout}
	return orFail(d.GetDialFunc(true))
}

func through(proxy string, timeout time.Duration, dualStack bool) gallop.DialFunc {
	config := httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy}
	d := &Dialer{Config: config, Timeout: timeout, ConnectTimeout: timeout, DialDualStack: dualStack}
	return orFail(d.GetDialFunc(false))
}

// orFail returns dial, or a function that always returns err if err is not nil.
func orFail(dial gallop.DialFunc, err error) gallop.DialFunc {
	if err != nil {
		return func(string) (net.Conn, error) { return nil, err }
	}
	return dial
}

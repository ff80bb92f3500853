package fasthttpproxy

import (
	"net"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpproxy"
)

// FasthttpHTTPDialer dials through an HTTP proxy, which is host:port with user:password@ in front or without.
func FasthttpHTTPDialer(proxy string) gallop.DialFunc { return through(proxy, 0, false) }

// FasthttpHTTPDialerTimeout is FasthttpHTTPDialer with a timeout for the connection and another one for the tunnel.
func FasthttpHTTPDialerTimeout(proxy string, timeout time.Duration) gallop.DialFunc {
	return through(proxy, timeout, false)
}

// FasthttpHTTPDialerDualStack dials through an HTTP proxy over IPv4 or IPv6. See [FasthttpHTTPDialer].
func FasthttpHTTPDialerDualStack(proxy string) gallop.DialFunc { return through(proxy, 0, true) }

// FasthttpHTTPDialerDualStackTimeout dials through an HTTP proxy over IPv4 or IPv6. See [FasthttpHTTPDialerTimeout].
func FasthttpHTTPDialerDualStackTimeout(proxy string, timeout time.Duration) gallop.DialFunc {
	return through(proxy, timeout, true)
}

// FasthttpSocksDialer dials through a SOCKS 5 proxy, which is a URL.
func FasthttpSocksDialer(proxyAddr string) gallop.DialFunc { return through(proxyAddr, 0, false) }

// FasthttpSocksDialerDualStack dials through a SOCKS 5 proxy over IPv4 or IPv6. See [FasthttpSocksDialer].
func FasthttpSocksDialerDualStack(proxyAddr string) gallop.DialFunc {
	return through(proxyAddr, 0, true)
}

// FasthttpProxyHTTPDialer dials through the proxies of the environment, as it is now.
func FasthttpProxyHTTPDialer() gallop.DialFunc { return FasthttpProxyHTTPDialerTimeout(0) }

// FasthttpProxyHTTPDialerTimeout is FasthttpProxyHTTPDialer with a timeout for the connection and another one for the tunnel.
func FasthttpProxyHTTPDialerTimeout(timeout time.Duration) gallop.DialFunc {
	d := &Dialer{Timeout: timeout, ConnectTimeout: timeout}
	return orFail(d.GetDialFunc(true))
}

func through(proxy string, timeout time.Duration, dualStack bool) gallop.DialFunc {
	config := httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy}
	d := &Dialer{Config: config, Timeout: timeout, ConnectTimeout: timeout, DialDualStack: dualStack}
	return orFail(d.GetDialFunc(false))
}

// orFail returns a function that says what was wrong if there is none that dials.
func orFail(dial gallop.DialFunc, err error) gallop.DialFunc {
	if err != nil {
		return func(string) (net.Conn, error) { return nil, err }
	}
	return dial
}

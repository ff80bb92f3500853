package gallop

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

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

	// NoProxy lists the hosts that are dialed directly, separated by commas. An entry is a name, an IP address
	// or a prefix such as 10.0.0.0/8. A name also matches its subdomains. A name or an address can include a port. "*"
	// means all hosts. Localhost and loopback addresses are always dialed directly.
	NoProxy string

	cgi bool // HTTP_PROXY may be a field of a request

	once   sync.Once
	choose func(*url.URL) (*url.URL, error)
	broken error // a proxy is no URL
}

// ProxyRulesFromEnvironment returns the rules in HTTP_PROXY, HTTPS_PROXY and NO_PROXY. If one of the variables is not
// set, its lowercase form is used: http_proxy, https_proxy or no_proxy.
//
// In a CGI program, HTTP_PROXY is not trusted, because the variable can contain the value of a request's Proxy header.
// A dial in a CGI program fails if it needs HTTP_PROXY.
func ProxyRulesFromEnvironment() *ProxyRules {
	env := httpproxy.FromEnvironment()
	return &ProxyRules{HTTPProxy: env.HTTPProxy, HTTPSProxy: env.HTTPSProxy, NoProxy: env.NoProxy, cgi: env.CGI}
}

// environmentRules are those that the environment had when they were asked for first.
var environmentRules = sync.OnceValue(ProxyRulesFromEnvironment)

// Proxy returns the URL of the proxy for target, or nil for a direct connection. The method uses only the scheme and
// the host of target. If a proxy in the rules is invalid, the method returns an error, so that nothing is dialed
// directly by mistake. The method ignores its context. The method can be used as the Proxy field of Client, HostClient
// and ProxyDialer.
func (r *ProxyRules) Proxy(_ context.Context, target *url.URL) (*url.URL, error) {
	r.once.Do(func() {
		env := httpproxy.Config{HTTPProxy: r.HTTPProxy, HTTPSProxy: r.HTTPSProxy, NoProxy: r.NoProxy, CGI: r.cgi}
		r.choose = env.ProxyFunc()
		if !isProxyURL(r.HTTPProxy) || !isProxyURL(r.HTTPSProxy) {
			r.broken = errProxyURL
		}
	})
	if r.broken != nil {
		return nil, r.broken
	}
	return r.choose(target)
}

// isProxyURL reports whether s is "", a URL with a host, or a host alone. Package
// httpproxy would take other things for no proxy, or for something odd.
func isProxyURL(s string) bool {
	if s == "" {
		return true
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != ""
}

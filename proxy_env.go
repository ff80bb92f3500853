package gallop

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// ProxyRules choose a proxy by what is dialed, in the way of the environment
// variables of the same names. Fields must not be changed after the first call of
// Proxy, which may be called concurrently.
type ProxyRules struct {
	// HTTPProxy is the proxy for plain HTTP: a URL, or host:port of an HTTP proxy.
	// Empty is none.
	HTTPProxy string

	// HTTPSProxy is that for https.
	HTTPSProxy string

	// NoProxy is what is dialed without a proxy: names, which stand for those
	// below them too, IP addresses and prefixes such as 10.0.0.0/8, all of them perhaps
	// with a port, with commas between them; or "*". Localhost and
	// loopback addresses always are.
	NoProxy string

	cgi bool // HTTP_PROXY may be a field of a request

	once   sync.Once
	choose func(*url.URL) (*url.URL, error)
	broken error // a proxy is no URL
}

// ProxyRulesFromEnvironment returns the rules in HTTP_PROXY, HTTPS_PROXY and NO_PROXY,
// or in http_proxy, https_proxy and no_proxy, which take precedence.
//
// In a CGI program HTTP_PROXY is not trusted, since it may be the field Proxy of a
// request; a dial that needs it fails.
func ProxyRulesFromEnvironment() *ProxyRules {
	env := httpproxy.FromEnvironment()
	return &ProxyRules{HTTPProxy: env.HTTPProxy, HTTPSProxy: env.HTTPSProxy, NoProxy: env.NoProxy, cgi: env.CGI}
}

// environmentRules are those that the environment had when they were asked for first.
var environmentRules = sync.OnceValue(ProxyRulesFromEnvironment)

// Proxy returns the URL of the proxy for target, or nil if there is none. It uses only the scheme
// and the host of target. If a proxy in the rules is not valid, Proxy returns an error, so that
// nothing is dialed directly by mistake. Proxy has the type of the fields of Client, HostClient and
// ProxyDialer with that name. It ignores the context.
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

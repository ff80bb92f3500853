package dial

import (
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// ProxyRules are the values of the environment variables that choose a proxy.
type ProxyRules struct {
	HTTPProxy, HTTPSProxy, NoProxy string

	CGI bool // HTTPProxy may come from a header of a request
}

// ProxyRulesFromEnvironment reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or their lowercase forms.
func ProxyRulesFromEnvironment() ProxyRules {
	env := httpproxy.FromEnvironment()
	return ProxyRules{HTTPProxy: env.HTTPProxy, HTTPSProxy: env.HTTPSProxy, NoProxy: env.NoProxy, CGI: env.CGI}
}

// Chooser returns a function that returns the proxy for a target, or nil for a direct connection. The error is
// ErrProxyURL if a proxy is malformed.
func (r ProxyRules) Chooser() (choose func(target *url.URL) (*url.URL, error), err error) {
	env := httpproxy.Config{HTTPProxy: r.HTTPProxy, HTTPSProxy: r.HTTPSProxy, NoProxy: r.NoProxy, CGI: r.CGI}
	if !isProxyURL(r.HTTPProxy) || !isProxyURL(r.HTTPSProxy) {
		err = ErrProxyURL
	}
	return env.ProxyFunc(), err
}

// isProxyURL reports whether s is empty, a URL with a host, or a host alone. Package httpproxy would silently use no
// proxy for some other values, and misread others.
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

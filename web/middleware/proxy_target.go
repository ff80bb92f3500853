package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// proxyTarget is one of Targets. It puts the host and the path of the target's URL into each request.
type proxyTarget struct {
	client gallop.Doer
	host   string // as in the Host header
	base   string // the path of the URL, without a slash at its end
	whole  string // the scheme and the host, if client needs whole URIs, or ""
}

// maxProxyAttempts is how many targets get a request at most.
const maxProxyAttempts = 3

// proxyConns is the default of HostClient.MaxConns: the server's own limit on requests also limits the connections to targets.
const proxyConns = 1 << 30

// maxProxyHeader is the default of HostClient.MaxResponseHeaderBytes.
const maxProxyHeader = 256 << 10

// balanced returns the client for all targets, and how many of them may get one request. With Target, it also sets the default of Client.
func (o *Proxy) balanced() (client gallop.Doer, attempts int) {
	if o.Target != nil {
		if o.Client == nil {
			o.Client = publicClient()
		}
		return chosenTarget{}, 1
	}
	balancer := &gallop.LBClient{Strategy: o.Strategy, HealthCheck: isHealthyTarget, Timeout: 24 * time.Hour}
	for _, text := range o.Targets {
		t, err := o.target(text)
		if err != nil {
			panic("middleware: Proxy: " + err.Error())
		}
		balancer.Clients = append(balancer.Clients, t)
	}
	if len(balancer.Clients) == 1 {
		return balancer.Clients[0].(*proxyTarget), 1
	}
	return balancer, min(len(balancer.Clients), maxProxyAttempts)
}

// publicClient returns the default client for URLs that may depend on clients.
func publicClient() *gallop.Client {
	return &gallop.Client{
		DialContext: PublicDialer{}.DialContext, NoDefaultUserAgentHeader: true, DetailedErrors: true,
		MaxConnsPerHost: proxyConns, MaxResponseHeaderBytes: maxProxyHeader, DisablePathNormalizing: true,
	}
}

// chosenTarget sends each request to the target that Proxy.Target has chosen.
type chosenTarget struct{}

// DoContext implements gallop.Doer.
func (chosenTarget) DoContext(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	return ctx.Value(callKey{}).(*proxyCall).target.DoContext(ctx, req, resp)
}

// findTarget calls Proxy.Target.
func (x *proxyCall) findTarget() error {
	text, err := x.p.Target(x.c)
	if err != nil {
		return err
	}
	if x.target, err = x.p.target(text); err != nil {
		return proxyFailure(gallop.StatusBadGateway, &ProxyError{Method: string(x.to.Header.Method()), Path: x.path, Err: err})
	}
	return nil
}

// target makes a target of a URL.
func (o *Proxy) target(text string) (*proxyTarget, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("the target %q is no URL such as \"http://127.0.0.1:9000\"", text)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, fmt.Errorf("the target %q has more than a scheme, a host and a path", u.Redacted())
	case leavesPrefix(u.EscapedPath()):
		return nil, fmt.Errorf("the target %q has the segment \"..\"", text)
	}
	t := &proxyTarget{client: o.Client, host: u.Host, base: strings.TrimRight(u.EscapedPath(), "/")}
	if o.Client != nil {
		t.whole = u.Scheme + "://" + u.Host
		return t, nil
	}
	hc := &gallop.HostClient{
		Addr: gallop.AddMissingPort(u.Host, u.Scheme == "https"), IsTLS: u.Scheme == "https",
		DialDualStack: true, NoDefaultUserAgentHeader: true, DetailedErrors: true,
		MaxConns: proxyConns, MaxResponseHeaderBytes: maxProxyHeader, DisablePathNormalizing: true,
	}
	if o.ConfigureClient != nil {
		o.ConfigureClient(hc)
	}
	t.client = hc
	return t, nil
}

// DoContext implements gallop.Doer.
func (t *proxyTarget) DoContext(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	x := ctx.Value(callKey{}).(*proxyCall)
	host := x.host
	if host == "" {
		host = t.host
	}
	if t.whole == "" {
		req.Header.SetRequestURI(t.base + x.path)
		req.Header.SetHost(host)
	} else {
		req.SetRequestURI(t.whole + t.base + x.path)
		req.URI().DisablePathNormalizing = true
		req.UseHostHeader = true
		req.Header.SetHost(host)
	}
	err := t.client.DoContext(ctx, req, resp)
	if err != nil && context.Cause(ctx) == (slowTarget{}) {
		return slowTarget{} // which is a failure of the target, unlike a canceled call
	}
	return err
}

// DoDeadline implements gallop.BalancingClient. The balancer calls DoContext instead.
func (t *proxyTarget) DoDeadline(*gallop.Request, *gallop.Response, time.Time) error {
	return errors.ErrUnsupported
}

// PendingRequests implements gallop.BalancingClient. The balancer counts the requests itself.
func (t *proxyTarget) PendingRequests() int { return 0 }

// isHealthyTarget reports whether a call is no reason to send fewer requests to the target.
func isHealthyTarget(_ *gallop.Request, resp *gallop.Response, err error) bool {
	if err != nil {
		var body clientBodyError
		return errors.As(err, &body)
	}
	switch resp.StatusCode() {
	case gallop.StatusBadGateway, gallop.StatusServiceUnavailable, gallop.StatusGatewayTimeout:
		return false
	}
	return true
}

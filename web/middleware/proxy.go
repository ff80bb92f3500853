package middleware

import (
	"errors"
	"fmt"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// The files of Proxy:
//
//	proxy.go           the settings, and one call from its begin to its end
//	proxy_target.go    targets, balancing and retries
//	proxy_path.go      which path the target gets
//	proxy_request.go   the headers of the request
//	proxy_body.go      the body of the request
//	proxy_response.go  the response
//	proxy_tunnel.go    upgraded connections
//	proxy_errors.go    errors and their statuses
//	proxy_watch.go     time limits

// Proxy passes requests on to other servers, the targets, and sends their responses to the client:
//
//	api := middleware.Proxy{Targets: []string{"http://10.0.0.5:9000", "http://10.0.0.6:9000"}}
//	app.All("/api/{path...}", api.Handler())
//
// Proxy streams in both directions: response bodies always, and request bodies if the server streams them. For large
// uploads, set Server.StreamRequestBody, or return StreamRequestBody from Server.HeaderReceived for the paths that are
// proxied. Without streaming, the server reads the whole body before the handler runs, up to its MaxRequestBodySize. To
// limit request bodies, use [BodyLimit].
//
// # Requests
//
// The target gets the path and the query exactly as the client sent them, after StripPrefix. Proxy responds with status
// 400 if a path segment is "..", also if parts of the segment or its slashes are percent-encoded. Such a path could lead
// the target out of the prefix that the route stands for. A path that begins with two slashes gets status 400, too.
//
// Proxy removes hop-by-hop headers (RFC 9110 §7.6.1) in both directions, including all headers that a Connection header
// names. It also removes request headers whose names contain an underscore, because many programs read X_User and X-User as the same
// header. Set headers for the target in ModifyRequest, so that a client cannot remove them with a Connection header.
//
// Forwarded, X-Real-IP and all headers that begin with X-Forwarded- never reach the target as the client sent them. Proxy sets
// them from what [web.Ctx.IP], [web.Ctx.Scheme] and [web.Ctx.Host] return. These methods use the headers of a request only if
// its sender is in web.Config.TrustedProxies.
//
// # Responses
//
// If the target sends an incomplete response body, Proxy breaks the client's response off, so that it does not look complete.
// Proxy passes on trailers and interim responses such as 103 (Early Hints). If a header was already set by
// middleware that runs before Proxy, it replaces the target's header with the same name. For Set-Cookie, Vary, Link and some
// other lists, the client gets both.
//
// # Errors
//
// If the target cannot be reached or its response is malformed, Proxy returns a web.Error with status 502 whose cause is a
// [ProxyError]. The status is 503 if all connections to the target are in use, 504 after Timeout, and 499 if
// the client has gone away. The client never sees the address of the target.
//
// Proxy sends a request again only if no target can have acted on it, or if the request is idempotent and the target closed
// the connection without a response. A request whose streamed body was partly read is never repeated.
type Proxy struct {
	// Targets are the URLs of the servers, such as "http://127.0.0.1:9000". A path in the URL is put in front of each
	// request's path. If there are several targets, Proxy balances the requests and sends fewer requests to targets that fail: see
	// gallop.LBClient. A target fails if it cannot be reached, exceeds Timeout, or responds with status 502, 503 or 504. Set either
	// Targets or Target.
	Targets []string

	// Target returns the URL of the target for each request. A path in the URL is put in front of the request's path. If Target
	// is set, Proxy connects only to public addresses, because the URL may depend on the client: see [PublicDialer]. To reach other
	// addresses, set Client. If Target returns an error, the handler returns the error. If the URL is not valid, the status is 502.
	Target func(c *web.Ctx) (url string, err error)

	// Strategy chooses among several targets. The zero value is gallop.LBLeastLoaded.
	Strategy gallop.LBStrategy

	// StripPrefix is removed from the beginning of each path, for example "/api". Proxy then tells the target about the prefix in
	// the header X-Forwarded-Prefix. A path without the prefix gets status 404. By default, nothing is removed.
	StripPrefix string

	// KeepHost sends the Host header of the client to the target. By default, the target gets the host of its own URL as the Host
	// header. In both cases X-Forwarded-Host has the host that the client asked for.
	KeepHost bool

	// ProxyHeaders selects the headers that tell the target about the client. The zero value, web.XForwarded, selects
	// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
	ProxyHeaders web.ProxyHeaders

	// Via is the name of this proxy in the Via header (RFC 9110 §7.6.3) of requests and responses. By default, Proxy adds no Via
	// header.
	Via string

	// Upgrades lists the protocols to which a connection may be upgraded. Nil means "websocket". A request for any other
	// upgrade is passed on as a normal request. An upgraded connection carries any bytes past the middleware, so never allow "h2c".
	Upgrades []string

	// ModifyRequest is called before a request is sent. Change the headers of the argument "to" as needed. A Host header that
	// ModifyRequest sets replaces the host of the target's URL. If ModifyRequest returns an error, the request is not sent, and the
	// handler returns the error. ModifyRequest may be called concurrently. It may be nil.
	ModifyRequest func(c *web.Ctx, to *gallop.Request) error

	// ModifyResponse is called with the target's response before the response is sent to the client. Change the status
	// and the headers as needed. The body is a stream. If ModifyResponse returns an error, the client does not get the target's response, and
	// the handler returns the error. ModifyResponse may be called concurrently. It may be nil.
	ModifyResponse func(c *web.Ctx, from *gallop.Response) error

	// Timeout is how long the target may make the proxy wait for the response header, including the time to connect. Time that the
	// client needs to send the request body does not count. Each part of a streamed request body that is sent to the target
	// restarts the time. Zero means 60 seconds. A negative value means no limit.
	Timeout time.Duration

	// IdleTimeout is how long the target may pause in the middle of a response body. It is also how long an upgraded connection may
	// carry no data. Zero means 5 minutes. A negative value means no limit.
	IdleTimeout time.Duration

	// MaxResponseBody is the maximum size of a response body in bytes. A response with a larger Content-Length gets status 502.
	// A larger body without Content-Length breaks off. Zero or a negative value means no limit.
	MaxResponseBody int64

	// ConfigureClient is called once for each of Targets, with the client that sends requests to the target. The function can set, for
	// example, TLSConfig, Protocols, MaxConns or DialContext. It may be nil.
	ConfigureClient func(hc *gallop.HostClient)

	// Client sends the requests instead of the clients that Proxy makes for each target. A Client can add
	// tracing, or be a gallop.Client that other code uses, too. The Client must not follow redirects. If Client is set, ConfigureClient has
	// no effect. By default, Proxy makes its own clients.
	Client gallop.Doer
}

const (
	defaultProxyTimeout = time.Minute
	defaultProxyIdle    = 5 * time.Minute
)

// Handler returns the handler. It handles every request itself and never calls the next handler. Handler panics if a setting is not
// valid.
func (o Proxy) Handler() web.Handler {
	p := o.proxy()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		return p.serve(c)
	}
}

// proxy holds the checked settings.
type proxy struct {
	Proxy
	client   gallop.Doer
	attempts int // at most, counted over all targets
}

// proxy checks the settings and fills in the defaults.
func (o Proxy) proxy() *proxy {
	switch {
	case len(o.Targets) == 0 == (o.Target == nil):
		panic("middleware: Proxy needs either Targets or the function Target")
	case o.StripPrefix != "" && (o.StripPrefix[0] != '/' || leavesPrefix(o.StripPrefix)):
		panic(fmt.Sprintf("middleware: Proxy has the StripPrefix %q: use a path such as \"/api\"", o.StripPrefix))
	case o.Via != "" && !isFieldToken(o.Via):
		panic(fmt.Sprintf("middleware: Proxy has the Via %q: use a name without spaces", o.Via))
	case o.ProxyHeaders > web.Forwarded:
		panic("middleware: Proxy has unknown ProxyHeaders")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultProxyTimeout
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultProxyIdle
	}
	if o.Upgrades == nil {
		o.Upgrades = []string{"websocket"}
	}
	for len(o.StripPrefix) > 0 && o.StripPrefix[len(o.StripPrefix)-1] == '/' {
		o.StripPrefix = o.StripPrefix[:len(o.StripPrefix)-1]
	}
	p := &proxy{Proxy: o}
	p.client, p.attempts = p.balanced()
	return p
}

// serve handles one request.
func (p *proxy) serve(c *web.Ctx) error {
	x := &proxyCall{p: p, c: c, to: gallop.AcquireRequest(), from: gallop.AcquireResponse()}
	defer x.end()
	if err := x.prepare(); err != nil {
		return err
	}
	x.begin()
	x.from.StreamBody = true
	err := x.send()
	x.answered()
	if err != nil {
		return x.explain(err)
	}
	return x.respond()
}

// prepare makes the request for the target.
func (x *proxyCall) prepare() error {
	if err := x.readTarget(); err != nil {
		return err
	}
	x.readUpgrade()
	x.copyRequestHeader()
	x.setForwarded()
	if err := x.countHops(); err != nil {
		return err
	}
	x.setBody()
	if x.p.ModifyRequest != nil {
		if err := x.p.ModifyRequest(x.c, x.to); err != nil {
			return err
		}
	}
	x.path, x.host = string(x.to.Header.RequestURI()), string(x.to.Header.Host())
	if x.p.Target != nil {
		return x.findTarget()
	}
	return nil
}

// send sends the request, again if that is safe and can help, and reads the header of the response.
func (x *proxyCall) send() error {
	for n := 1; ; n++ {
		err := x.p.client.DoContext(x.ctx, x.to, x.from)
		if err == nil || n >= x.p.attempts || x.ctx.Err() != nil || !gallop.SafeToRetry(x.to, err) || isTimeout(err) {
			return err
		}
		if x.body != nil && !x.to.IsBodyStream() { // the attempt has taken the body
			return err
		}
	}
}

// ErrProxyLoop is the cause of the [web.Error] that [Proxy] returns if a request has already come through the same proxy.
var ErrProxyLoop = errors.New("middleware: the request has already passed this proxy")

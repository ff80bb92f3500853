// Package rest is a client for JSON APIs. The package is also a base for packages that wrap one particular API.
//
//	client, err := rest.New("https://api.example.com/v1/",
//		rest.WithAuth(rest.Bearer(token)),
//		rest.WithTimeout(30*time.Second))
//	if err != nil {
//		return err
//	}
//	gopher, err := rest.Get[Gopher](ctx, client, "gophers/{name}", rest.SetPathValue("name", name))
//	if rest.StatusOf(err) == 404 {
//		return errNoSuchGopher
//	}
//
// # Clients and requests
//
// A [Client] talks to one API. Paths are relative to the client's base URL. Values of path parameters are escaped.
// [Get], [Post] and similar functions make one call each and decode the response into a type that you choose. For more
// control, create a [Request] with [Client.NewRequest] or [Client.Request]. [Client.Do] sends the Request and decodes
// the response. [Client.Open] sends the Request and returns the response before its body is read.
//
// # Errors
//
// If the status of a response is not 2xx, the call returns an error. [APIError] holds the status, the body and the
// message that the server sent. [RateLimitError], [AuthError] and [RedirectError] report rate limits, failed
// authentication and redirects that the client did not follow. [RequestError] means that no complete response arrived.
// [DecodeError] means that the body could not be decoded. [StatusOf] returns the HTTP status behind an error, or 0 if
// the error has no status.
//
// # What a client does by itself
//
//   - Rate limits: the client remembers the limits that the server announces and does not exceed them. See [RateLimit].
//   - Retries: after a network error or a response with status 408, 502, 503 or 504, the client repeats the request if
//     repeating it is safe. See [Retry].
//   - Redirects: the client follows up to 10 redirects. Credentials are not sent to another origin. See
//     [WithRedirects].
//   - Credentials: an [Auth] adds credentials to requests, and [Tokens] renews access tokens. See [WithAuth].
//   - Caching: off by default. [WithCache] adds a private cache in memory (RFC 9111).
//
// [PagesByLink], [PagesByNumber] and [PagesByCursor] iterate over lists that the API splits into pages. Requests go
// through a gallop.Client by default. [WithTransport] takes any http.RoundTripper instead.
package rest

// A call passes through these stages from top to bottom. docs/design/0009-rest.md gives the reasons for the order.
//
//	rate limit   ratelimit.go   refuses or delays requests that the server would refuse
//	retry        retry.go       repeats failed requests that are safe to repeat
//	check        check.go       turns responses that are not 2xx into errors
//	redirect     redirect.go    follows redirects, and drops credentials on the way to another origin
//	cache        cache.go       responds from memory (cache_store.go), or revalidates a stored response
//	auth         auth.go        adds the credentials for the origin
//	transport    transport.go   sends the request through a gallop.Client or an http.RoundTripper

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/codec"
	"golang.org/x/net/http/httpguts"
)

// Client makes requests to one API. Call [New] to make a Client. A Client is safe for concurrent use.
type Client struct {
	base         target
	headers      fields // sent with all requests to base.origin, like query and cookies
	query        fields
	cookies      fields
	params       fields // values for {name} in any path
	agent        string
	codec        codec.Codec
	accept       string // the media type of the codec
	maxBody      int64
	timeout      time.Duration
	maxRedirects int
	transport    transport
	auths        []*auth
	limits       limits
	retry        Retry
	cache        *cache // nil without WithCache
	before       []func(context.Context, *Request) error
	after        []func(*Request, *Response, error)
	logger       *slog.Logger // nil for no logging
	options      []Option     // the options that made the client, for Clone
	send         stage        // runs all stages
}

// stage is one step of an exchange. It calls the next stage, as often as it needs to.
type stage func(*exchange) (*Response, error)

// exchange is the state of a request while it is being sent.
type exchange struct {
	client     *Client
	req        *Request
	ctx        context.Context
	method     string
	to         target
	headers    fields   // all headers except the client's credentials
	body       *payload // nil if a redirect dropped the body
	credential string   // identifies the caller to the cache and the rate limits; see credentialOf

	acted bool         // the server processed the request and redirected to the result; later failures concern only the result
	auth  *AuthRequest // holds the headers that the auth stage adds; nil if it adds none
}

const (
	defaultAgent     = "gallop-rest"
	defaultMaxBody   = 64 << 20
	defaultRedirects = 10
)

// New returns a client for the API at baseURL. The baseURL is an http or https URL without credentials, query or
// fragment. The paths of requests are relative to baseURL, whether or not baseURL ends with a slash. New returns an
// error if baseURL or an option is unusable.
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, agent: defaultAgent, codec: codec.JSON{KeepHTML: true, IgnoreTrailing: true}, maxBody: defaultMaxBody, maxRedirects: defaultRedirects,
		retry: Retry{Max: defaultRetries},
	}
	for _, option := range options {
		if option == nil {
			continue
		}
		if err := option.apply(c); err != nil {
			return nil, err
		}
	}
	c.options = options
	c.accept, _, _ = strings.Cut(c.codec.ContentType(), ";")
	if c.transport == nil {
		c.transport = newGallopTransport(nil)
	}
	c.link()
	return c, nil
}

// Clone returns a client with the options of c, followed by the given options. The clone uses the transport of c
// unless an option sets another one. The clone starts with a copy of the rate limits that c remembers. Afterwards,
// each client keeps track of rate limits separately. Each client has its own cache.
func (c *Client) Clone(options ...Option) (*Client, error) {
	sameTransport := option(func(n *Client) error {
		n.transport = c.transport
		return nil
	})
	n, err := New(c.base.String(), slices.Concat([]Option{sameTransport}, c.options, options)...)
	if err != nil {
		return nil, err
	}
	c.limits.mu.Lock()
	defer c.limits.mu.Unlock()
	n.limits.buckets, n.limits.routes = maps.Clone(c.limits.buckets), maps.Clone(c.limits.routes)
	return n, nil
}

// link chains the stages.
func (c *Client) link() {
	send := c.observed(c.transport.roundTrip)
	send = c.authorized(send)
	if c.cache != nil {
		send = c.cached(send)
	}
	send = c.redirected(send)
	send = c.checked(send)
	send = c.retried(send)
	c.send = c.rateLimited(send)
}

// Do sends the request and stores the body of the response in v:
//
//   - If v is nil, the body is ignored.
//   - If v is an io.Writer, the client copies the body to v while the body arrives.
//   - Any other v must be a pointer, and the client's Codec decodes the body into the value. If the body is empty
//     or contains only white space, the value is not changed.
//
// If the status is not 2xx, the error is an [APIError], [RateLimitError], [AuthError] or [RedirectError]. If no
// complete response arrives, the error is a RequestError. If the body cannot be decoded, the error is a DecodeError. If
// a response arrived, the returned Response is non-nil, even if there is an error.
func (c *Client) Do(r *Request, v any) (*Response, error) {
	resp, err := c.Open(r)
	if err != nil {
		return resp, err
	}
	return resp, c.receive(&r.x, resp, v)
}

// Open sends the request and returns the response as soon as its header has arrived. The caller must close the Body.
// Open returns the same errors as [Client.Do]. If Open returns an error, there is no Body to close.
func (c *Client) Open(r *Request) (*Response, error) {
	if r.client != c {
		return nil, errNoClient
	}
	own := r.ctx
	resp, err := c.open(r)
	for _, f := range c.after {
		f(r, resp, err)
	}
	r.ctx = own
	if r.into != nil {
		*r.into = resp
	}
	return resp, err
}

// open does the work of Open, without the response hooks. It leaves the context of the call in r.
func (c *Client) open(r *Request) (resp *Response, err error) {
	if r.ctx == nil {
		return nil, errNoContext
	}
	own, cancel := r.ctx, context.CancelFunc(nil)
	defer func() {
		switch {
		case cancel == nil:
		case err != nil || resp.length == 0:
			cancel()
		default:
			resp.Body = &cancelledBody{resp.Body, cancel}
		}
	}()
	timeout := c.timeoutOf(r)
	r.limit(timeout, &cancel)
	limited := r.ctx
	for _, f := range c.before {
		if err := f(r.ctx, r); err != nil {
			return nil, err
		}
	}
	if now := c.timeoutOf(r); now != timeout { // a hook changed the timeout
		if cancel != nil && r.ctx == limited {
			cancel()
			r.ctx, cancel = own, nil
		}
		r.limit(now, &cancel)
	}
	if r.err != nil {
		return nil, r.unsent(r.err)
	}
	x, err := r.exchange()
	if err != nil {
		return nil, r.unsent(err)
	}
	defer r.ready.release()
	return c.send(x)
}

func (c *Client) timeoutOf(r *Request) time.Duration {
	if r.timeout != 0 {
		return r.timeout
	}
	return c.timeout
}

// limit sets a timeout of d, counted from now, if d is positive. The new cancel also calls the previous one.
func (r *Request) limit(d time.Duration, cancel *context.CancelFunc) {
	if d <= 0 || r.ctx == nil {
		return
	}
	before := *cancel
	r.ctx, *cancel = context.WithTimeout(r.ctx, d)
	if end := *cancel; before != nil {
		*cancel = func() {
			end()
			before()
		}
	}
}

// log writes a debug record about the exchange.
func (x *exchange) log(message string, attributes ...any) {
	if l := x.client.logger; l != nil && l.Enabled(x.ctx, slog.LevelDebug) {
		attributes = append([]any{"method", x.method, "url", redacted(x.to.String())}, attributes...)
		l.DebugContext(x.ctx, "rest: "+message, attributes...)
	}
}

// CloseIdleConnections closes the connections that are not in use. Calls in flight are not affected.
func (c *Client) CloseIdleConnections() { c.transport.closeIdle() }

// cancelledBody is a body that cancels a context when it is closed.
type cancelledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// exchange returns the exchange that sends r.
func (r *Request) exchange() (*exchange, error) {
	c := r.client
	switch {
	case r.ctx == nil:
		return nil, errNoContext
	case !httpguts.ValidHeaderFieldName(r.method): // methods are tokens, just like header names
		return nil, ErrMethod
	}
	to, err := c.base.resolve(r.path, &r.params, &c.params)
	if err != nil {
		return nil, err
	}
	to.query = c.queryOf(&to, &r.query)
	if err := r.ready.from(r); err != nil {
		return nil, err
	}
	r.x = exchange{client: c, req: r, ctx: r.ctx, method: r.method, to: to, body: &r.ready}
	x := &r.x
	x.setHeaders()
	x.credential = x.credentialOf()
	return x, nil
}

// queryOf returns the query for a target: its own, the parameters of the request, and any of the client's parameters
// that neither has.
func (c *Client) queryOf(to *target, own *fields) string {
	query := appendQuery(to.query, own)
	if len(c.query.names) == 0 || to.origin != c.base.origin {
		return query
	}
	var more fields
	for i, name := range c.query.names {
		if !hasParam(query, name) {
			more.add(name, c.query.values[i], sameName)
		}
	}
	return appendQuery(query, &more)
}

// setHeaders combines the headers of the request with those of the client.
func (x *exchange) setHeaders() {
	r, c := x.req, x.client
	n := len(r.headers.names) + len(c.headers.names) + 5
	room := roomFor(n)
	x.headers = fields{names: append(room.names, r.headers.names...), values: append(room.values, r.headers.values...)}
	if x.to.origin == c.base.origin {
		c.headers.each(foldName, func(name string, values []string) bool {
			if !x.has(name) {
				for _, value := range values {
					x.headers.add(name, value, foldName)
				}
			}
			return true
		})
	}
	x.setDefault("Accept", c.accept)
	x.setDefault("User-Agent", c.agent)
	x.setDefault("Content-Type", x.body.contentType)
	cookies := &r.cookies
	if x.to.origin == c.base.origin && len(c.cookies.names) > 0 {
		all := c.cookies.clone()
		for i, name := range cookies.names {
			all.set(name, cookies.values[i], sameName)
		}
		cookies = &all
	}
	if len(cookies.names) > 0 {
		x.headers.set("Cookie", joinCookies(x.headers.lines("Cookie"), cookies), foldName)
	}
}

func (x *exchange) setDefault(name, value string) {
	if value != "" && !x.has(name) {
		x.headers.add(name, value, foldName)
	}
}

func (x *exchange) has(name string) bool {
	_, ok := x.headers.get(name, foldName)
	return ok
}

// joinCookies returns the value of the Cookie header (RFC 6265 §4.2.1).
func joinCookies(before []string, cookies *fields) string {
	var b strings.Builder
	b.WriteString(strings.Join(before, "; "))
	for i, name := range cookies.names {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name + "=" + cookies.values[i])
	}
	return b.String()
}

// failed returns the error for an exchange that got no response.
func (x *exchange) failed(err error) error {
	if ended := x.ctx.Err(); ended != nil {
		err = ended
		if cause := context.Cause(x.ctx); !errors.Is(cause, ended) {
			err = errors.Join(ended, cause)
		}
	}
	return &RequestError{Method: x.method, URL: redacted(x.to.String()), Err: hideURL(err)}
}

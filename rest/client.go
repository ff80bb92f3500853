// Package rest is a client for APIs that speak JSON over HTTP, and what packages for one
// such API are built on.
//
//	client, err := rest.New("https://api.example.com/v1/", rest.WithAuth(rest.Bearer(token)))
//	gopher, err := rest.Get[Gopher](ctx, client, "gophers/{name}", rest.SetPathValue("name", name))
//
// A call goes through these stages, in this order, of which docs/design/0009-rest.md says why:
//
//	rate limit   ratelimit.go   refuses, or waits for, what the server would refuse
//	retry        retry.go       sends again what may be sent again
//	check        check.go       makes errors of answers that are no success
//	redirect     redirect.go    follows, without credentials where they do not belong
//	cache        cache.go       answers from memory (cache_store.go), or asks whether that still holds
//	auth         auth.go        adds the credentials of the origin
//	transport    transport.go   gallop's Client, or any http.RoundTripper
package rest

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

// Client makes requests to one API. It is made by New and may be used by many goroutines.
type Client struct {
	base         target
	headers      fields // of all requests to base.origin, as are
	query        fields
	cookies      fields
	params       fields // of all paths
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
	cache        *cache // or nil
	before       []func(context.Context, *Request) error
	after        []func(*Request, *Response, error)
	logger       *slog.Logger // or nil
	options      []Option     // that made it
	send         stage        // all of them
}

// stage is what an exchange goes through. It calls the next one, as often as it likes.
type stage func(*exchange) (*Response, error)

// exchange is a request on its way.
type exchange struct {
	client     *Client
	req        *Request
	ctx        context.Context
	method     string
	to         target
	headers    fields   // in full, but for credentials of the client
	body       *payload // nil if a redirect has dropped it
	credential string   // who is asking; see credentialOf

	acted bool         // a redirect has led to the answer of it: it was acted upon, and what fails is only that
	auth  *AuthRequest // with the headers that the auth stage adds, nil if there are none
}

const (
	defaultAgent     = "gallop-rest"
	defaultMaxBody   = 64 << 20
	defaultRedirects = 10
)

// New returns a client for the API whose paths are below baseURL: http or https, without
// credentials and query. Whether it ends in a slash makes no difference.
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

// Clone returns a client with the options of c and, behind them, these. The two have their transport in common,
// unless these say another, and the clone begins with what c knows about rate limits. From then on neither hears of
// the other; caches are apart.
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

// link puts the stages together.
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

// Do sends the request and makes v what the answer says: nothing if it is nil, written to it as it comes
// if it is an io.Writer, decoded by the client's Codec into what it points to otherwise. A body
// without anything but white space leaves v as it is.
//
// A status that is not 2xx is an error: APIError, RateLimitError, AuthError, RedirectError. No
// answer, or half of one, is a RequestError, and one that cannot be decoded a DecodeError.
// The Response is not nil whenever there was one.
func (c *Client) Do(r *Request, v any) (*Response, error) {
	resp, err := c.Open(r)
	if err != nil {
		return resp, err
	}
	return resp, c.receive(&r.x, resp, v)
}

// Open sends the request and returns the answer when its head is there. Its Body has to be
// closed. Errors are those of Do, and there is nothing to be closed then.
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

// open is Open without the response hooks. It leaves the context of the call in r.
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
	if now := c.timeoutOf(r); now != timeout { // a hook has set another one
		if cancel != nil && r.ctx == limited {
			cancel()
			r.ctx, cancel = own, nil
		}
		r.limit(now, &cancel)
	}
	if r.err != nil {
		return nil, r.err
	}
	x, err := r.exchange()
	if err != nil {
		return nil, err
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

// limit gives the call at most d from now on, if that is positive. cancel also ends what it ended before.
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

// log writes a record about the exchange.
func (x *exchange) log(message string, attributes ...any) {
	if l := x.client.logger; l != nil && l.Enabled(x.ctx, slog.LevelDebug) {
		attributes = append([]any{"method", x.method, "url", redacted(x.to.String())}, attributes...)
		l.DebugContext(x.ctx, "rest: "+message, attributes...)
	}
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.transport.closeIdle() }

// cancelledBody ends a context when it is closed.
type cancelledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// exchange makes of r what is sent.
func (r *Request) exchange() (*exchange, error) {
	c := r.client
	switch {
	case r.ctx == nil:
		return nil, errNoContext
	case !httpguts.ValidHeaderFieldName(r.method): // which is a token as well
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

// queryOf returns the query that a target has, with the parameters of the request, and those of the client that neither has.
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

// setHeaders puts the header fields of the request together with those of the client.
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

// joinCookies returns the value of a Cookie field (RFC 6265 §4.2.1).
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

// failed returns the error of an exchange that got no answer.
func (x *exchange) failed(err error) error {
	if ended := x.ctx.Err(); ended != nil {
		err = ended
		if cause := context.Cause(x.ctx); !errors.Is(cause, ended) {
			err = errors.Join(ended, cause)
		}
	}
	return &RequestError{x.method, redacted(x.to.String()), hideURL(err)}
}

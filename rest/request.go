package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is a request that you build with its setters. [Client.NewRequest] and [Client.Request] make a Request. You can send
// a Request several times, unless its body can be read only once. Setters return the request. If a setter gets an invalid
// argument, [Client.Do] returns an error that describes the first invalid argument. Only one goroutine at a time may use a
// Request. Do not copy a Request. Use Clone instead.
type Request struct {
	_       noCopy
	client  *Client
	ctx     context.Context
	method  string
	path    string
	headers fields
	query   fields
	form    fields
	cookies fields
	params  fields
	files   []file
	body    any
	ready   payload // what body is sent as
	err     error   // the first

	timeout   time.Duration // 0 is the client's
	redirects int           // how many and one; 0 is the client's

	into **Response      // where the response of a call goes, nil for nowhere
	page func(*Response) // what is told of each page

	x exchange // while it is sent
}

// noCopy makes go vet report copies of the struct that holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// RequestOption changes a request before it is sent. Functions such as [Get] take RequestOptions. A RequestOption can call
// every setter of [Request]:
//
//	rest.Get[Gopher](ctx, c, "gophers", func(r *rest.Request) { r.SetTimeout(time.Second).SetCookie("lang", "en") })
//
// A nil RequestOption is ignored.
type RequestOption func(r *Request)

// SetHeader returns an option that sets a header. See [Request.SetHeader].
func SetHeader(name, value string) RequestOption {
	return func(r *Request) { r.SetHeader(name, value) }
}

// SetQuery returns an option that sets a query parameter. See [Request.SetQuery].
func SetQuery(name, value string) RequestOption {
	return func(r *Request) { r.SetQuery(name, value) }
}

// SetQueryFrom returns an option that sets query parameters from a struct. See [Request.SetQueryFrom].
func SetQueryFrom(v any) RequestOption {
	return func(r *Request) { r.SetQueryFrom(v) }
}

// SetPathValue returns an option that sets a value in the path. See [Request.SetPathValue].
func SetPathValue(name, value string) RequestOption {
	return func(r *Request) { r.SetPathValue(name, value) }
}

// IntoResponse returns an option that stores the response of the call in the variable that the argument points to. Use
// IntoResponse to read the headers, links, cookies or rate limit. If there was no response, IntoResponse stores nil. If a
// function makes several calls, IntoResponse stores the response of the last call.
func IntoResponse(to **Response) RequestOption {
	return func(r *Request) {
		if r.into = to; to != nil {
			*to = nil
		}
	}
}

// EachPage returns an option that calls f with the response of each page, before the loop gets the elements of the page. When
// f runs, the client has already read the body of the response. The option works with PagesByLink, PagesByNumber and
// PagesByCursor. All other functions ignore the option.
func EachPage(f func(resp *Response)) RequestOption {
	return func(r *Request) { r.page = f }
}

// NewRequest returns a request that [Client.Do] sends.
//
// The path is relative to the base URL, with or without a leading slash. The path can have parameters: {name} stands for one
// segment and {name...} for several. Parameter values are escaped. A path with a segment ".." is an error, even if the
// segment is escaped. You can also pass a URL instead of a path. If the URL has a different origin than the base URL, the
// client's own headers and credentials are not sent.
//
// The body argument may be nil (no body), a []byte or an io.Reader. The client's Codec encodes a body of any other
// type. If a reader is also an io.ReaderAt and an io.Seeker, such as a file, retries and redirects can read it
// again. Each attempt reads from the position that the reader had before the first attempt. The client does not
// close readers.
func (c *Client) NewRequest(ctx context.Context, method, path string, body any, options ...RequestOption) (*Request, error) {
	r := &Request{client: c, ctx: ctx, method: method, path: path, body: body}
	for _, option := range options {
		if option != nil {
			option(r)
		}
	}
	if r.err == nil {
		r.err = r.check()
	}
	if r.err != nil {
		return nil, r.unsent(r.err)
	}
	if body != nil {
		if err := r.ready.from(r); err != nil {
			return nil, r.unsent(err)
		}
	}
	return r, nil
}

// check reports what is wrong with method and path as far as they are known.
func (r *Request) check() error {
	if r.ctx == nil {
		return errNoContext
	}
	if !httpguts.ValidHeaderFieldName(r.method) {
		return ErrMethod
	}
	path := r.path
	if strings.Contains(path, "{") { // values may still come
		before, _, _ := strings.Cut(path, "{")
		if climbs(before) {
			return ErrPathForbidden
		}
		return nil
	}
	_, err := r.client.base.resolve(path, &r.params, nil)
	return err
}

// Request returns an empty request. Use the request's setters to fill it in. The context of the request is
// context.Background, unless SetContext sets another one.
func (c *Client) Request() *Request { return &Request{client: c, ctx: context.Background()} }

// Clone returns a copy of the request. Setters of the copy do not change r, and setters of r do not change the copy. The
// original and the copy share the body. If the body can be read only once, you can send the original or the copy, but not
// both. Do not call Clone while r is being sent.
func (r *Request) Clone() *Request {
	return &Request{
		client: r.client, ctx: r.ctx, method: r.method, path: r.path,
		headers: r.headers.clone(), query: r.query.clone(), form: r.form.clone(), cookies: r.cookies.clone(), params: r.params.clone(),
		files: slices.Clone(r.files), body: r.body, ready: payload{spent: r.ready.spent}, err: r.err,
		timeout: r.timeout, redirects: r.redirects, into: r.into, page: r.page,
	}
}

// SetContext sets the context of the call. If the context is done, the call ends. The default is context.Background.
func (r *Request) SetContext(ctx context.Context) *Request {
	r.ctx = ctx
	return r
}

// SetHeader sets a header, replacing existing values and any value that the client would add.
func (r *Request) SetHeader(name, value string) *Request {
	if r.acceptsHeader(name, value) {
		r.headers.set(name, value, foldName)
	}
	return r
}

// AddHeader adds a header value, after any existing values with the same name.
func (r *Request) AddHeader(name, value string) *Request {
	if r.acceptsHeader(name, value) {
		r.headers.add(name, value, foldName)
	}
	return r
}

// DelHeader removes a header that was set on the request.
func (r *Request) DelHeader(name string) *Request {
	r.headers.del(name, foldName)
	return r
}

func (r *Request) acceptsHeader(name, value string) bool {
	if err := checkHeader(name, value); err != nil {
		r.fail(err)
		return false
	}
	return true
}

// checkHeader reports what is wrong with a header field.
func checkHeader(name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%w: a name that is no token (RFC 9110 §5.1)", ErrHeader)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("%w: the value of %s has a control character (RFC 9110 §5.5)", ErrHeader, name)
	}
	for _, own := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Host", "Trailer", "Upgrade", "Expect"} {
		if strings.EqualFold(name, own) {
			return fmt.Errorf("%w: %s is set by the transport", ErrHeader, own)
		}
	}
	return nil
}

func (r *Request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// SetQuery sets a query parameter, replacing any values that SetQuery or AddQuery set.
func (r *Request) SetQuery(name, value string) *Request {
	r.query.set(name, value, sameName)
	return r
}

// AddQuery adds a query parameter, after any existing parameters with the same name.
func (r *Request) AddQuery(name, value string) *Request {
	r.query.add(name, value, sameName)
	return r
}

// SetPathValue sets the value of {name} or {name...} in the path.
func (r *Request) SetPathValue(name, value string) *Request {
	r.params.set(name, value, sameName)
	return r
}

// SetCookie sets a cookie, replacing any earlier value of the cookie.
func (r *Request) SetCookie(name, value string) *Request {
	if err := checkCookie(name, value); err != nil {
		r.fail(err)
		return r
	}
	r.cookies.set(name, value, sameName)
	return r
}

func checkCookie(name, value string) error {
	if !httpguts.ValidHeaderFieldName(name) || strings.ContainsAny(value, "\";,\\ ") || !httpguts.ValidHeaderFieldValue(value) {
		return fmt.Errorf("%w: cookie %q (RFC 6265 §4.1.1)", ErrHeader, name)
	}
	return nil
}

// SetForm sets a field of the form. The form is the request's body, unless SetBody sets another body. The form is sent
// as application/x-www-form-urlencoded, or as multipart/form-data if it has files.
func (r *Request) SetForm(name, value string) *Request {
	r.form.set(name, value, sameName)
	return r
}

// AddForm adds a field to the form, after any existing fields with the same name. See [Request.SetForm].
func (r *Request) AddForm(name, value string) *Request {
	r.form.add(name, value, sameName)
	return r
}

// SetBody sets the body. See [Client.NewRequest] for the types that body may have.
func (r *Request) SetBody(body any) *Request {
	r.ready.release()
	r.ready.spent = false
	r.body = body
	return r
}

// SetBodyReader sets a body that the client reads from src. The size argument is the length of the body in bytes, or negative
// if the length is unknown. The Content-Type is application/octet-stream unless SetHeader sets another one.
func (r *Request) SetBodyReader(src io.Reader, size int64) *Request {
	if src == nil {
		r.fail(&EncodeError{Err: errors.New("a body without a reader")})
	}
	return r.SetBody(sized{src, size})
}

// sized is a reader whose length somebody has said.
type sized struct {
	io.Reader
	size int64
}

// Send sends the request with this method and path, and stores the body of the response in v. See [Client.Do].
func (r *Request) Send(method, path string, v any) (*Response, error) {
	return r.client.Do(r.SetTarget(method, path), v)
}

// SetTarget sets the method and the path. See [Client.NewRequest].
func (r *Request) SetTarget(method, path string) *Request {
	if r.method, r.path = method, path; !httpguts.ValidHeaderFieldName(method) {
		r.fail(ErrMethod)
	}
	return r
}

// Get sends the request with the method GET. See [Request.Send].
func (r *Request) Get(path string, v any) (*Response, error) { return r.Send("GET", path, v) }

// Head sends the request with the method HEAD. See [Request.Send].
func (r *Request) Head(path string) (*Response, error) { return r.Send("HEAD", path, nil) }

// Post sends the request with the method POST. See [Request.Send].
func (r *Request) Post(path string, v any) (*Response, error) { return r.Send("POST", path, v) }

// Put sends the request with the method PUT. See [Request.Send].
func (r *Request) Put(path string, v any) (*Response, error) { return r.Send("PUT", path, v) }

// Patch sends the request with the method PATCH. See [Request.Send].
func (r *Request) Patch(path string, v any) (*Response, error) { return r.Send("PATCH", path, v) }

// Delete sends the request with the method DELETE. See [Request.Send].
func (r *Request) Delete(path string, v any) (*Response, error) { return r.Send("DELETE", path, v) }

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is a request that is put together, by Client.NewRequest or Client.R, and then
// sent, as often as its body allows. Setters return the request; what is wrong with what they are given
// is the error of Do. One goroutine at a time may use it.
type Request struct {
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

	x exchange // while it is sent
}

// RequestOption changes a request.
type RequestOption func(*Request)

// SetHeader returns an option that is Request.SetHeader, for calls that make a request
// on the way. The others are the same.
func SetHeader(name, value string) RequestOption {
	return func(r *Request) { r.SetHeader(name, value) }
}

// SetQuery is as SetHeader.
func SetQuery(name, value string) RequestOption {
	return func(r *Request) { r.SetQuery(name, value) }
}

// SetPath is as SetHeader.
func SetPath(name, value string) RequestOption {
	return func(r *Request) { r.SetPath(name, value) }
}

// NewRequest returns a request that Do sends.
//
// path is below the base URL of the client, whether it begins with a slash or not. It may
// have parameters, {name} for a segment and {name...} for several, whose values are escaped and never make a URL of it.
// A segment ".." is refused, however it is written. It may also be a URL: the
// headers that the client adds to every request, and its credentials, are then only sent if
// that is of the same origin as the base URL.
//
// body is what is sent: nothing if it is nil, the bytes of a []byte or an io.Reader, and anything else
// encoded by the client's Codec. An io.Reader that is an io.ReaderAt and an io.Seeker, a file
// for one, can be sent again by retries and redirects, from where it was. Readers are not closed.
func (c *Client) NewRequest(ctx context.Context, method, path string, body any, options ...RequestOption) (*Request, error) {
	r := &Request{client: c, ctx: ctx, method: method, path: path, body: body}
	for _, option := range options {
		option(r)
	}
	if r.err == nil {
		r.err = r.check()
	}
	if r.err != nil {
		return nil, r.err
	}
	if body != nil {
		if err := r.ready.from(r); err != nil {
			return nil, err
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

// R returns a request that is still empty, for its setters.
func (c *Client) R() *Request { return &Request{client: c, ctx: context.Background()} }

// SetContext sets the context that ends the call. It is context.Background by default.
func (r *Request) SetContext(ctx context.Context) *Request {
	r.ctx = ctx
	return r
}

// SetHeader sets a header field. One that the client adds itself is replaced by it.
func (r *Request) SetHeader(name, value string) *Request {
	if r.acceptsHeader(name, value) {
		r.headers.set(name, value, foldName)
	}
	return r
}

// AddHeader adds a header field behind those with the same name.
func (r *Request) AddHeader(name, value string) *Request {
	if r.acceptsHeader(name, value) {
		r.headers.add(name, value, foldName)
	}
	return r
}

// DelHeader removes a header field that was set.
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
			return fmt.Errorf("%w: %s is the transport's", ErrHeader, own)
		}
	}
	return nil
}

func (r *Request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// SetQuery sets a query parameter.
func (r *Request) SetQuery(name, value string) *Request {
	r.query.set(name, value, sameName)
	return r
}

// AddQuery adds a query parameter behind those with the same name.
func (r *Request) AddQuery(name, value string) *Request {
	r.query.add(name, value, sameName)
	return r
}

// SetPath sets the value of {name} or {name...} in the path.
func (r *Request) SetPath(name, value string) *Request {
	r.params.set(name, value, sameName)
	return r
}

// SetCookie sets a cookie.
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

// SetForm sets a field of the form that is the body unless SetBody sets one: application/x-www-form-urlencoded,
// or multipart/form-data if it has files.
func (r *Request) SetForm(name, value string) *Request {
	r.form.set(name, value, sameName)
	return r
}

// AddForm adds a field of the form behind those with the same name.
func (r *Request) AddForm(name, value string) *Request {
	r.form.add(name, value, sameName)
	return r
}

// SetBody sets the body: see Client.NewRequest.
func (r *Request) SetBody(body any) *Request {
	r.ready.release()
	r.ready.spent = false
	r.body = body
	return r
}

// SetBodyReader sets a body of size bytes, of unknown size if it is negative, that is read
// from src. Its Content-Type is application/octet-stream unless SetHeader sets one.
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

// Send sends the request and makes v what the answer says: see Client.Do.
func (r *Request) Send(method, path string, v any) (*Response, error) {
	return r.client.Do(r.SetTarget(method, path), v)
}

// SetTarget sets method and path: see Client.NewRequest.
func (r *Request) SetTarget(method, path string) *Request {
	if r.method, r.path = method, path; !httpguts.ValidHeaderFieldName(method) {
		r.fail(ErrMethod)
	}
	return r
}

// Get is Send with this method. The others are the same.
func (r *Request) Get(path string, v any) (*Response, error) { return r.Send("GET", path, v) }

// Head is as Get.
func (r *Request) Head(path string) (*Response, error) { return r.Send("HEAD", path, nil) }

// Post is as Get.
func (r *Request) Post(path string, v any) (*Response, error) { return r.Send("POST", path, v) }

// Put is as Get.
func (r *Request) Put(path string, v any) (*Response, error) { return r.Send("PUT", path, v) }

// Patch is as Get.
func (r *Request) Patch(path string, v any) (*Response, error) { return r.Send("PATCH", path, v) }

// Delete is as Get.
func (r *Request) Delete(path string, v any) (*Response, error) { return r.Send("DELETE", path, v) }

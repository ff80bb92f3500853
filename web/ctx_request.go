package web

import (
	"iter"

	"github.com/gallop-http/gallop"
)

// Method returns the method.
func (c *Ctx) Method() string { return methodText(c.request.Method()) }

// methodText makes a string of a method without new memory for the usual ones.
func methodText(method []byte) string {
	switch string(method) {
	case gallop.MethodGet:
		return gallop.MethodGet
	case gallop.MethodHead:
		return gallop.MethodHead
	case gallop.MethodPost:
		return gallop.MethodPost
	case gallop.MethodPut:
		return gallop.MethodPut
	case gallop.MethodPatch:
		return gallop.MethodPatch
	case gallop.MethodDelete:
		return gallop.MethodDelete
	case gallop.MethodOptions:
		return gallop.MethodOptions
	}
	return string(method)
}

// Path returns the path as routes see it: decoded but for %2F, without dot segments, and with one
// slash for several.
func (c *Ctx) Path() string { return string(c.request.Path()) }

// PathBytes is Path as a view.
func (c *Ctx) PathBytes() []byte { return c.request.Path() }

// Params returns the value of a parameter of the route, "" if it has none of the name.
func (c *Ctx) Params(name string) string { return string(c.ParamsBytes(name)) }

// ParamsBytes is Params as a view.
func (c *Ctx) ParamsBytes(name string) []byte {
	if c.route == nil {
		return nil
	}
	i := c.route.param(name)
	if i < 0 {
		return nil
	}
	if i < c.route.ofHost {
		return c.values[i].in(c.lowHost)
	}
	return c.values[i].in(c.path)
}

// Query returns the first value of a parameter of the query, or the default if there is no
// such parameter or it is empty.
func (c *Ctx) Query(name string, otherwise ...string) string {
	return textOr(c.QueryBytes(name), otherwise)
}

// QueryBytes is Query as a view, nil if there is no such parameter.
func (c *Ctx) QueryBytes(name string) []byte { return c.request.QueryArgs().Peek(name) }

// Queries returns all parameters of the query, of each the first value.
func (c *Ctx) Queries() map[string]string {
	args := c.request.QueryArgs()
	all := make(map[string]string, args.Len())
	for name, value := range args.All() {
		if _, there := all[string(name)]; !there {
			all[string(name)] = string(value)
		}
	}
	return all
}

// Cookies returns the value of a cookie, or the default if the request has none of the name or
// it is empty.
func (c *Ctx) Cookies(name string, otherwise ...string) string {
	return textOr(c.CookiesBytes(name), otherwise)
}

// CookiesBytes is Cookies as a view, nil if there is no such cookie.
func (c *Ctx) CookiesBytes(name string) []byte { return c.request.Request.Header.Cookie(name) }

// ReqHeader returns the first value of a header of the request, or the default if there is no such header or it is empty.
// Case does not matter in the name.
func (c *Ctx) ReqHeader(name string, otherwise ...string) string {
	return textOr(c.ReqHeaderBytes(name), otherwise)
}

// ReqHeaderBytes returns the first value of a header of the request as a view, nil if there is no such header.
func (c *Ctx) ReqHeaderBytes(name string) []byte { return c.request.Request.Header.Peek(name) }

// Headers returns an iterator over the headers of the request, in the order of the request. A name with several lines is yielded
// once for each line. The strings may be kept.
func (c *Ctx) Headers() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for name, value := range c.request.Request.Header.All() {
			if !yield(string(name), string(value)) {
				return
			}
		}
	}
}

// Body returns the body as it was received: a view. It is limited by the server's
// MaxRequestBodySize.
func (c *Ctx) Body() []byte { return c.request.PostBody() }

func textOr(value []byte, otherwise []string) string {
	if len(value) == 0 && len(otherwise) > 0 {
		return otherwise[0]
	}
	return string(value)
}

package web

import (
	"iter"

	"github.com/gallop-http/gallop"
)

// Method returns the method of the request, such as "GET". Methods are case-sensitive.
func (c *Ctx) Method() string { return methodText(c.request.Method()) }

// methodText returns a method as a string. It does not allocate for common methods.
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

// Path returns the path that the router compares with the patterns of routes. Percent-encoded characters are decoded, except %2F.
// Dot segments are resolved, and several slashes in a row become one.
func (c *Ctx) Path() string { return string(c.request.Path()) }

// PathBytes returns the path as a slice that is valid only until the handler returns. See [Ctx.Path].
func (c *Ctx) PathBytes() []byte { return c.request.Path() }

// Params returns the value of a parameter of the route's path or host. The method returns "" if the route has no parameter of this
// name. To convert the value to another type, call the function [Params].
func (c *Ctx) Params(name string) string { return string(c.ParamsBytes(name)) }

// ParamsBytes returns the value of a parameter as a slice that is valid only until the handler returns. ParamsBytes returns nil if
// the route has no parameter of this name. See [Ctx.Params].
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

// Query returns the first value of a query parameter. If the value is missing or empty, Query returns the default, or "" if no
// default was given. To convert the value to another type, call the function [Query].
func (c *Ctx) Query(name string, otherwise ...string) string {
	return textOr(c.QueryBytes(name), otherwise)
}

// QueryBytes returns the first value of a query parameter as a slice that is valid only until the handler returns. QueryBytes
// returns nil if there is no such parameter.
func (c *Ctx) QueryBytes(name string) []byte { return c.request.QueryArgs().Peek(name) }

// Queries returns the query parameters as a map from names to values. If a parameter has several values, the map holds the first
// value.
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

// Cookies returns the value of a cookie of the request. If the value is missing or empty, Cookies returns the default, or "" if no
// default was given.
func (c *Ctx) Cookies(name string, otherwise ...string) string {
	return textOr(c.CookiesBytes(name), otherwise)
}

// CookiesBytes returns the value of a cookie of the request as a slice that is valid only until the handler returns. CookiesBytes
// returns nil if there is no such cookie.
func (c *Ctx) CookiesBytes(name string) []byte { return c.request.Request.Header.Cookie(name) }

// ReqHeader returns the first value of a request header. If the value is missing or empty, ReqHeader returns the default, or "" if
// no default was given. The case of the name does not matter.
func (c *Ctx) ReqHeader(name string, otherwise ...string) string {
	return textOr(c.ReqHeaderBytes(name), otherwise)
}

// ReqHeaderBytes returns the first value of a request header as a slice that is valid only until the handler returns.
// ReqHeaderBytes returns nil if there is no such header.
func (c *Ctx) ReqHeaderBytes(name string) []byte { return c.request.Request.Header.Peek(name) }

// Headers returns an iterator over the names and values of the request headers, in the order of the request. If a header has
// several lines, the iterator yields each line separately.
func (c *Ctx) Headers() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for name, value := range c.request.Request.Header.All() {
			if !yield(string(name), string(value)) {
				return
			}
		}
	}
}

// Body returns the body exactly as the server received it. The slice is valid only until the handler returns. The server's
// MaxRequestBodySize limits the size of the body. To decompress a body, call [Ctx.BodyUncompressed].
func (c *Ctx) Body() []byte { return c.request.PostBody() }

func textOr(value []byte, otherwise []string) string {
	if len(value) == 0 && len(otherwise) > 0 {
		return otherwise[0]
	}
	return string(value)
}

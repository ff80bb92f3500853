package gallop

import (
	"io"
	"mime/multipart"
	"time"
)

// The methods below read ctx.Request. The byte slices that they return are views, valid
// until the handler returns.

// Method returns the method as it was received. The default is GET.
func (ctx *RequestCtx) Method() []byte { return ctx.Request.Header.Method() }

// IsGet reports whether the method is GET.
func (ctx *RequestCtx) IsGet() bool { return ctx.Request.Header.IsGet() }

// IsPost reports whether the method is POST.
func (ctx *RequestCtx) IsPost() bool { return ctx.Request.Header.IsPost() }

// IsPut reports whether the method is PUT.
func (ctx *RequestCtx) IsPut() bool { return ctx.Request.Header.IsPut() }

// IsDelete reports whether the method is DELETE.
func (ctx *RequestCtx) IsDelete() bool { return ctx.Request.Header.IsDelete() }

// IsConnect reports whether the method is CONNECT.
func (ctx *RequestCtx) IsConnect() bool { return ctx.Request.Header.IsConnect() }

// IsOptions reports whether the method is OPTIONS.
func (ctx *RequestCtx) IsOptions() bool { return ctx.Request.Header.IsOptions() }

// IsTrace reports whether the method is TRACE.
func (ctx *RequestCtx) IsTrace() bool { return ctx.Request.Header.IsTrace() }

// IsPatch reports whether the method is PATCH.
func (ctx *RequestCtx) IsPatch() bool { return ctx.Request.Header.IsPatch() }

// IsHead reports whether the method is HEAD.
func (ctx *RequestCtx) IsHead() bool { return ctx.Request.Header.IsHead() }

// IsQuery reports whether the method is QUERY, which is safe like GET but has a body.
func (ctx *RequestCtx) IsQuery() bool { return string(ctx.Method()) == "QUERY" }

// RequestURI returns the request target as it was received.
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// URI returns the request target as a URI. Its host comes from the target, or else from the Host header.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// Path returns the normalized path of the target: percent-decoded, without dot segments, and with repeated slashes
// merged into one. Use it for routing and access checks. See [URI.Path].
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the requested host in lower case, including the port if there is one. The host comes from the target,
// or else from the Host header (RFC 9112 §3.2.2).
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// QueryArgs returns the arguments in the target's query.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments of a form in the body. The result is empty if the body is not a form.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// Referer returns the value of the Referer header.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the value of the User-Agent header.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// PostBody returns the body of the request and reads it into memory if needed. If reading fails, the result is empty,
// and the server responds with the error.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// RequestBodyStream returns the request body as a stream if Server.StreamRequestBody is set, or if the request
// expects 100 (Continue). In the latter case, the first Read sends 100. RequestBodyStream returns nil if the request
// has no body, or if the body is already in memory; see PostBody. A request with Content-Length: 0 has a body.
func (ctx *RequestCtx) RequestBodyStream() io.Reader { return ctx.Request.BodyStream() }

// IsBodyStream reports whether the body of the response is a stream.
func (ctx *RequestCtx) IsBodyStream() bool { return ctx.Response.IsBodyStream() }

// IfModifiedSince reports whether lastModified is later than the time in If-Modified-Since. It also returns true if
// the header is missing or invalid (RFC 9110 §13.1.3).
func (ctx *RequestCtx) IfModifiedSince(lastModified time.Time) bool {
	since, err := ParseHTTPDate(ctx.Request.Header.Peek(HeaderIfModifiedSince))
	return err != nil || lastModified.Truncate(time.Second).After(since)
}

// FormValueFunc returns the value of key in the query or in a form of the request. See [Server.FormValueFunc].
type FormValueFunc func(ctx *RequestCtx, key string) []byte

// FormValue returns the first value for key, or nil. It looks in the query, then in a form in the body, then in a
// multipart form. Server.FormValueFunc replaces this order.
func (ctx *RequestCtx) FormValue(key string) []byte {
	if f := ctx.config().FormValueFunc; f != nil {
		return f(ctx, key)
	}
	if v := ctx.QueryArgs().Peek(key); len(v) > 0 {
		return v
	}
	if v := ctx.PostArgs().Peek(key); len(v) > 0 {
		return v
	}
	return ctx.multipartValue(key)
}

// NetHttpFormValueFunc is a FormValueFunc that searches in net/http's order: a form in the body of POST, PUT or PATCH
// comes before the query.
func NetHttpFormValueFunc(ctx *RequestCtx, key string) []byte {
	if ctx.IsPost() || ctx.IsPut() || ctx.IsPatch() {
		if v := ctx.PostArgs().Peek(key); len(v) > 0 {
			return v
		}
		if v := ctx.multipartValue(key); len(v) > 0 {
			return v
		}
	}
	if v := ctx.QueryArgs().Peek(key); len(v) > 0 {
		return v
	}
	return nil
}

func (ctx *RequestCtx) multipartValue(key string) []byte {
	form, err := ctx.MultipartForm()
	if err != nil || len(form.Value[key]) == 0 {
		return nil
	}
	return []byte(form.Value[key][0])
}

// FormFile returns the first uploaded file for key in a multipart form. The error is ErrMissingFile if there is none.
func (ctx *RequestCtx) FormFile(key string) (*multipart.FileHeader, error) {
	form, err := ctx.MultipartForm()
	if err != nil {
		return nil, err
	}
	if files := form.File[key]; len(files) > 0 {
		return files[0], nil
	}
	return nil, ErrMissingFile
}

// MultipartForm returns the multipart form in the body. The form's files are removed when the handler has returned.
// The error is ErrNoMultipartForm if the body has another type.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) {
	return ctx.Request.MultipartForm()
}

// MultipartFormWithLimit returns the multipart form of a body that has at most maxBodySize bytes after decompression.
// See [Request.MultipartFormWithLimit].
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// SetUserValue stores value under key, so that other handlers of this request can read it. If value is an io.Closer,
// it is closed when the handler has returned.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// UserValue returns the value that SetUserValue stored under key, or nil.
func (ctx *RequestCtx) UserValue(key any) any { return ctx.Request.UserValue(key) }

// RemoveUserValue removes the value stored under key without closing it.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// ResetUserValues removes all user values. It closes each value that is an io.Closer.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

package gallop

import (
	"io"
	"mime/multipart"
	"time"
)

// The methods below read ctx.Request. What they return as bytes are views that hold
// until the handler returns.

// Method returns the method as it was received. It is GET if there is none.
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

// IsQuery reports whether the method is QUERY, a GET with a body.
func (ctx *RequestCtx) IsQuery() bool { return string(ctx.Method()) == "QUERY" }

// RequestURI returns the request target as it was received.
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// URI returns the target as a URI, with the host from the target or from Host.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// Path returns the path of the target as routers, guards and FS have to see it:
// percent-decoded, without dot segments and with one slash for several. See [URI.Path].
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the host that is asked for, in lower case, with the port if there is
// one: that of the target, if it has one, else Host (RFC 9112 §3.2.2).
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// QueryArgs returns the arguments in the query of the target.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments of a form in the body, none if the body is none.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// Referer returns the Referer field.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the User-Agent field.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// PostBody returns the body of the request, read into memory if that has not been
// done. If it cannot be read it is empty, and the server answers what is wrong.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// RequestBodyStream returns the body as a stream with Server.StreamRequestBody, and
// also for a request that expects 100 (Continue), which the first Read sends. It is nil
// without a body, which is not one of zero bytes, and if that is in memory already: see
// PostBody.
func (ctx *RequestCtx) RequestBodyStream() io.Reader { return ctx.Request.BodyStream() }

// IsBodyStream reports whether the body of the response is a stream.
func (ctx *RequestCtx) IsBodyStream() bool { return ctx.Response.IsBodyStream() }

// IfModifiedSince reports whether lastModified is later than If-Modified-Since says,
// or that says nothing, or nothing valid (RFC 9110 §13.1.3).
func (ctx *RequestCtx) IfModifiedSince(lastModified time.Time) bool {
	since, err := ParseHTTPDate(ctx.Request.Header.Peek(HeaderIfModifiedSince))
	return err != nil || lastModified.Truncate(time.Second).After(since)
}

// FormValueFunc looks a key up in the forms of a request.
type FormValueFunc func(ctx *RequestCtx, key string) []byte

// FormValue returns the first value that the request has for key: in the query of
// the target, in a form in the body, in a multipart form, in this order, or as
// Server.FormValueFunc says. It is nil if there is none.
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

// NetHttpFormValueFunc is a [FormValueFunc] with the order of net/http: forms in the
// body of POST, PUT and PATCH come before the query.
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

// FormFile returns the uploaded file of a multipart form. The error is ErrMissingFile
// if there is none.
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

// MultipartForm returns the multipart form in the body. Its files are removed when
// the handler has returned. The error is ErrNoMultipartForm for another body.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) {
	return ctx.Request.MultipartForm()
}

// MultipartFormWithLimit is MultipartForm for a body of at most maxBodySize bytes after
// decompression.
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// SetUserValue keeps value under key with the request, for other handlers. A value
// that is an io.Closer is closed when the handler has returned.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// UserValue returns what SetUserValue has kept under key, nil if nothing.
func (ctx *RequestCtx) UserValue(key any) any { return ctx.Request.UserValue(key) }

// RemoveUserValue forgets what is kept under key.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// ResetUserValues forgets all user values, and closes those that can be.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

// VisitUserValues calls visitor for each user value whose key is a string.
func (ctx *RequestCtx) VisitUserValues(visitor func([]byte, any)) {
	ctx.Request.VisitUserValues(visitor)
}

// VisitUserValuesAll calls visitor for each user value.
func (ctx *RequestCtx) VisitUserValuesAll(visitor func(any, any)) {
	ctx.Request.VisitUserValuesAll(visitor)
}

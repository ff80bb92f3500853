package gallop

import (
	"io"
	"mime/multipart"
	"time"
)

// The methods below read ctx.Request. The byte slices that they return are views, valid
// until the handler returns.

// Method returns the HTTP method of the request, exactly as the client sent it. The default is GET.
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

// RequestURI returns the request target, exactly as the client sent it.
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// URI returns the request target as a URI. If the target has no host, the URI has the host from the Host header.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// Path returns the normalized path of the request target. Normalizing decodes percent-encoding, removes dot segments,
// and merges repeated slashes into one slash. Use the normalized path for routing and access checks. See [URI.Path].
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the requested host in lower case, including the port if there is one. If the request target has no host,
// Host returns the host from the Host header (RFC 9112 §3.2.2).
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// QueryArgs returns the arguments in the query of the request target.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments of the form in the request body. If the body is not a URL-encoded form, the result is
// empty.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// Referer returns the value of the Referer header.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the value of the User-Agent header.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// PostBody returns the body of the request. If the body is a stream, PostBody first reads the whole body into memory.
// If reading fails, the result is empty, and the server sends an error response.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// RequestBodyStream returns the request body as a stream if Server.StreamRequestBody or RequestConfig.StreamRequestBody is
// set, or if the request has the header Expect: 100-continue. If the request has this header, the server sends 100
// (Continue) at the first call of Read. RequestBodyStream returns nil if the request has no body, or if the body is already
// in memory (see PostBody). A request with Content-Length: 0 has an empty body, so the result for this request is not nil.
func (ctx *RequestCtx) RequestBodyStream() io.Reader { return ctx.Request.BodyStream() }

// IsBodyStream reports whether the body of the response is a stream.
func (ctx *RequestCtx) IsBodyStream() bool { return ctx.Response.IsBodyStream() }

// IfModifiedSince reports whether lastModified is later than the time in the If-Modified-Since header. If the header is
// missing or invalid, IfModifiedSince returns true (RFC 9110 §13.1.3).
func (ctx *RequestCtx) IfModifiedSince(lastModified time.Time) bool {
	since, err := ParseHTTPDate(ctx.Request.Header.Peek(HeaderIfModifiedSince))
	return err != nil || lastModified.Truncate(time.Second).After(since)
}

// FormValueFunc returns the value for key from the query or from a form in the request body. See
// [Server.FormValueFunc].
type FormValueFunc func(ctx *RequestCtx, key string) []byte

// FormValue returns the first value for the key. FormValue searches the query first, then a URL-encoded form in the
// body, and then a multipart form. If there is no value for the key, the result is nil. To change the order of the
// search, set Server.FormValueFunc.
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

// NetHttpFormValueFunc is a FormValueFunc that searches in the order of net/http. For POST, PUT and PATCH requests,
// NetHttpFormValueFunc searches a form in the body first, and then the query.
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

// FormFile returns the first uploaded file for the key in a multipart form. If the form has no file for the key, the
// error is ErrMissingFile.
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

// MultipartForm returns the multipart form in the body. After the handler has returned, the server deletes the form's
// temporary files. If the body is not a multipart form, the error is ErrNoMultipartForm.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) {
	return ctx.Request.MultipartForm()
}

// MultipartFormWithLimit returns the multipart form in the body. If the decompressed body has more than maxBodySize
// bytes, MultipartFormWithLimit returns an error. See [Request.MultipartFormWithLimit].
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// SetUserValue stores a value under a key, so that other handlers of this request can read it. If the value is an
// io.Closer, the server closes the value after the handler has returned.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// UserValue returns the value that SetUserValue stored under the key. If there is no such value, the result is nil.
func (ctx *RequestCtx) UserValue(key any) any { return ctx.Request.UserValue(key) }

// RemoveUserValue removes the value that is stored under the key. RemoveUserValue does not close the value, even if the
// value is an io.Closer.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// ResetUserValues removes all user values, and closes each value that is an io.Closer.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

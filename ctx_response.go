package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/target"
)

// SetStatusCode sets the status code of the response. See [ResponseHeader.SetStatusCode].
func (ctx *RequestCtx) SetStatusCode(statusCode int) { ctx.Response.SetStatusCode(statusCode) }

// SetContentType sets the Content-Type of the response.
func (ctx *RequestCtx) SetContentType(contentType string) {
	ctx.Response.Header.SetContentType(contentType)
}

// SetConnectionClose makes the server close the connection after the response. Over HTTP/2, the server sends a GOAWAY
// frame, so that the client opens no more streams. The server then closes the connection when all open streams have
// ended.
func (ctx *RequestCtx) SetConnectionClose() { ctx.Response.SetConnectionClose() }

// SetBody sets the response body to a copy of the argument.
func (ctx *RequestCtx) SetBody(body []byte) { ctx.Response.SetBody(body) }

// SetBodyString sets the response body to a copy of the argument.
func (ctx *RequestCtx) SetBodyString(body string) { ctx.Response.SetBodyString(body) }

// ResetBody makes the response body empty.
func (ctx *RequestCtx) ResetBody() { ctx.Response.ResetBody() }

// Write appends p to the response body. The error is always nil.
func (ctx *RequestCtx) Write(p []byte) (int, error) {
	ctx.Response.AppendBody(p)
	return len(p), nil
}

// WriteString appends s to the response body. The error is always nil.
func (ctx *RequestCtx) WriteString(s string) (int, error) {
	ctx.Response.AppendBodyString(s)
	return len(s), nil
}

// SetBodyStream sets the response body to the first bodySize bytes of bodyStream. If bodySize is negative, the body is
// the whole stream. The server reads bodyStream after the handler has returned. If bodyStream is an io.Closer, the
// server closes bodyStream after the last read.
func (ctx *RequestCtx) SetBodyStream(bodyStream io.Reader, bodySize int) {
	ctx.Response.SetBodyStream(bodyStream, bodySize)
}

// SetBodyStreamWriter sets the response body to the data that sw writes. The server calls sw after the handler has
// returned, so sw must not use ctx. When sw calls Flush on its writer, the server immediately sends the data written so
// far.
func (ctx *RequestCtx) SetBodyStreamWriter(sw StreamWriter) { ctx.Response.SetBodyStreamWriter(sw) }

// Success sets the Content-Type of the response, and sets the response body to a copy of the argument body.
func (ctx *RequestCtx) Success(contentType string, body []byte) {
	ctx.SetContentType(contentType)
	ctx.SetBody(body)
}

// SuccessString sets the Content-Type and the body of the response.
func (ctx *RequestCtx) SuccessString(contentType, body string) {
	ctx.SetContentType(contentType)
	ctx.SetBodyString(body)
}

// Error replaces the whole response: the status is statusCode, and the body is the plain text msg.
func (ctx *RequestCtx) Error(msg string, statusCode int) {
	ctx.Response.Reset()
	ctx.SetStatusCode(statusCode)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(msg)
}

// NotFound replaces the whole response with a 404 (Not Found).
func (ctx *RequestCtx) NotFound() { ctx.Error(StatusMessage(StatusNotFound), StatusNotFound) }

// NotModified turns the response into a 304 (Not Modified) without a body. NotModified removes all headers except
// Cache-Control, Content-Location, Date, ETag, Expires and Vary (RFC 9110 §15.4.5).
func (ctx *RequestCtx) NotModified() {
	ctx.Response.ResetBody()
	h := &ctx.Response.Header
	for _, name := range [...]string{HeaderContentType, HeaderContentLength, HeaderContentEncoding, HeaderContentRange, HeaderContentLanguage} {
		h.Del(name)
	}
	h.SetNoDefaultContentType(true)
	ctx.SetStatusCode(StatusNotModified)
}

// Redirect turns the response into a redirect to uri. A relative uri is resolved against the URI of the request. The
// status is statusCode if statusCode is 301, 302, 303, 307 or 308. For any other statusCode, the status is 302 (Found).
func (ctx *RequestCtx) Redirect(uri string, statusCode int) {
	u := AcquireURI()
	defer ReleaseURI(u)
	ctx.URI().CopyTo(u)
	u.Update(uri)
	if len(u.Host()) == 0 { // an HTTP/1.0 client need not say where it is
		ctx.redirect(appendReference(nil, u), statusCode)
		return
	}
	ctx.redirect(u.FullURI(), statusCode)
}

// appendReference appends u as a reference without scheme and host, which begins
// with one slash: two would be followed by a host (RFC 3986 §4.2).
func appendReference(dst []byte, u *URI) []byte {
	path := u.RequestURI()
	if len(path) > 1 && path[1] == '/' {
		dst = append(dst, "/."...)
	}
	dst = append(dst, path...)
	if len(u.hash) > 0 {
		dst = target.AppendSafeQuery(append(dst, '#'), u.hash)
	}
	return dst
}

// RedirectBytes does the same as [RequestCtx.Redirect], but takes a []byte.
func (ctx *RequestCtx) RedirectBytes(uri []byte, statusCode int) {
	ctx.Redirect(string(uri), statusCode)
}

func (ctx *RequestCtx) redirect(uri []byte, statusCode int) {
	if !StatusCodeIsRedirect(statusCode) {
		statusCode = StatusFound
	}
	ctx.Response.Header.set(UnsafeBytes(HeaderLocation), uri)
	ctx.SetStatusCode(statusCode)
}

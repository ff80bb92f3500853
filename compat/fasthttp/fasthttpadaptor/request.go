package fasthttpadaptor

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/gallop-http/gallop"
)

// ConvertRequest makes r the request in ctx. r may be kept: nothing in it is a view. Its context stays what it was.
// It fails if the body cannot be read. forServer says that it is for a handler, and not for a client, which must not set RequestURI.
func ConvertRequest(ctx *gallop.RequestCtx, r *http.Request, forServer bool) error {
	target := string(ctx.RequestURI())
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return err
	}
	body := bytes.Clone(ctx.PostBody())
	if err := ctx.Request.BodyErr(); err != nil {
		return err
	}
	r.Method, r.URL, r.Host = string(ctx.Method()), u, string(ctx.Host())
	if r.RequestURI = ""; forServer {
		r.RequestURI = target
	}
	r.Proto = string(ctx.Request.Header.Protocol())
	r.ProtoMajor, r.ProtoMinor = version(r.Proto)
	r.RemoteAddr, r.TLS = ctx.RemoteAddr().String(), ctx.TLSConnectionState()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header, r.TransferEncoding = fields(&ctx.Request.Header)
	return nil
}

// version returns what a protocol's name says, and that of HTTP/1.1 if it says nothing.
func version(protocol string) (major, minor int) {
	if major, minor, ok := http.ParseHTTPVersion(protocol); ok {
		return major, minor
	}
	if protocol == "HTTP/2" {
		return 2, 0
	}
	return 1, 1
}

func fields(h *gallop.RequestHeader) (fields http.Header, transferEncoding []string) {
	fields = make(http.Header, h.Len())
	for name, value := range h.All() {
		switch key := http.CanonicalHeaderKey(string(name)); key {
		case "Transfer-Encoding":
			transferEncoding = append(transferEncoding, string(value))
		default:
			fields[key] = append(fields[key], string(value))
		}
	}
	return fields, transferEncoding
}

package fasthttpadaptor

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/gallop-http/gallop"
)

// ConvertRequest sets r to the request in ctx. r may be kept, because nothing in it is a view. The context of r does
// not change. ConvertRequest fails if the body cannot be read. forServer means that r is for a handler. A client must
// not set RequestURI.
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

// version returns the version in the name of a protocol, or that of HTTP/1.1 if the name has none.
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

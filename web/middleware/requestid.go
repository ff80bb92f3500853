package middleware

import (
	"strings"

	"github.com/gallop-http/gallop/web"
)

// RequestID gives each request an ID. Later handlers can read the ID with [web.Ctx.RequestID]. RequestID also sends the ID
// in a response header, and Logger logs the ID.
//
// The zero value accepts an ID from the client if the ID has 1 to 128 characters. The ID may contain letters, digits and
// the characters "-_.=+/:@". A request without such an ID gets a new ID. An accepted ID is safe to log and to pass on to
// other servers. Two requests can have the same ID, because a client can send an ID twice.
type RequestID struct {
	// Header is the name of the header that carries the ID in requests and responses. The default is X-Request-Id.
	Header string

	// IgnoreClient makes RequestID ignore the client's ID and give each request a new ID.
	IgnoreClient bool

	// TrustedOnly makes RequestID accept an ID only from a trusted proxy: see web.Config.TrustedProxies. All other requests get a new ID.
	TrustedOnly bool

	// FromTrace makes RequestID use the trace ID of the traceparent header (W3C Trace Context) if the request has no acceptable ID.
	// Log records and traces then have the same ID. IgnoreClient and TrustedOnly apply to the traceparent header, too.
	FromTrace bool

	// The function New returns a new ID. New may be called concurrently. By default, RequestID makes IDs like those of rand.Text, with
	// 130 random bits.
	New func() string
}

// maxRequestID is how long the ID that a client sends may be, in bytes.
const maxRequestID = 128

// Handler returns the middleware.
func (r RequestID) Handler() web.Handler {
	if r.Header == "" {
		r.Header = "X-Request-Id"
	}
	if r.New == nil {
		r.New = newRequestID
	}
	return func(c *web.Ctx) error {
		var id string
		if c.Refused() != nil && c.RequestID() != "" { // it was refused while the handler read the body
			id = c.RequestID()
		} else if id = r.sent(c); id == "" {
			id = r.New()
		}
		return c.SetRequestID(id).SetHeader(r.Header, id).Next()
	}
}

// sent returns the ID that the client or a proxy sent, or an empty string if there is no acceptable one.
func (r *RequestID) sent(c *web.Ctx) string {
	switch {
	case r.IgnoreClient || r.TrustedOnly && !c.IsProxyTrusted():
		return ""
	case isRequestID(c.ReqHeaderBytes(r.Header)):
		return c.ReqHeader(r.Header)
	case r.FromTrace:
		return traceID(c.ReqHeader("Traceparent"))
	}
	return ""
}

// traceID returns the trace ID of a traceparent header, or an empty string if the header is malformed. Later versions may append
// fields to the four known ones.
//
//	00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
func traceID(parent string) string {
	const size = 55
	if len(parent) < size || len(parent) > size && (parent[:2] == "00" || parent[size] != '-') || parent[:2] == "ff" {
		return ""
	}
	for i := range size {
		dash := i == 2 || i == 35 || i == 52
		if b := parent[i]; dash != (b == '-') || !dash && b-'0' >= 10 && b-'a' >= 6 {
			return ""
		}
	}
	id, span := parent[3:35], parent[36:52]
	if strings.Trim(id, "0") == "" || strings.Trim(span, "0") == "" {
		return ""
	}
	return id
}

func isRequestID(value []byte) bool {
	for _, b := range value {
		switch {
		case b-'a' < 26, b-'A' < 26, b-'0' < 10:
		case b == '-', b == '_', b == '.', b == '=', b == '+', b == '/', b == ':', b == '@':
		default:
			return false
		}
	}
	return len(value) > 0 && len(value) <= maxRequestID
}

package middleware

import (
	"crypto/rand"

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

	// The function New returns a new ID. New may be called concurrently. The default is rand.Text, whose results have 130
	// random bits.
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
		r.New = rand.Text
	}
	return func(c *web.Ctx) error {
		var id string
		if c.Refused() != nil && c.RequestID() != "" { // it was refused while the handler read the body
			id = c.RequestID()
		} else if !r.IgnoreClient && isRequestID(c.ReqHeaderBytes(r.Header)) {
			id = c.ReqHeader(r.Header)
		} else {
			id = r.New()
		}
		return c.SetRequestID(id).SetHeader(r.Header, id).Next()
	}
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

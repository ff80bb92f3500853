package middleware

import (
	"crypto/rand"

	"github.com/gallop-http/gallop/web"
)

// RequestID gives each request a name, which is in the answer, and which ID returns to handlers and the
// Logger.
//
// The zero value takes over the name that the client sends, if it is one: 1 to 128 letters, digits and
// "-_.=+/:@". Others are replaced, so that what is logged or sent on is harmless, but a client may use
// a name twice.
type RequestID struct {
	// Header is the field in which the name comes and goes; X-Request-Id by default.
	Header string

	// IgnoreClient gives each request a new name.
	IgnoreClient bool

	// New returns a new name; rand.Text by default, which has 130 random bits.
	New func() string
}

// maxRequestID is how long the name that a client sends may be, in bytes.
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
		if !r.IgnoreClient && isRequestID(c.GetBytes(r.Header)) {
			id = c.Get(r.Header)
		} else {
			id = r.New()
		}
		c.SetLocal(requestIDKey{}, id)
		c.Set(r.Header, id)
		return c.Next()
	}
}

type requestIDKey struct{}

// ID returns the name that RequestID has given the request, "" if it has none.
func ID(c *web.Ctx) string {
	id, _ := web.Local[string](c, requestIDKey{})
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

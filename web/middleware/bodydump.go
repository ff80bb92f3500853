package middleware

import "github.com/gallop-http/gallop/web"

// BodyDump passes the bodies of requests and responses to a function, for debugging or auditing. Bodies can contain passwords and
// personal data: do not log them without need.
//
// BodyDump never reads streams, because reading them would delay the handler or the client. The function gets nil for the body of a
// stream. If the handler returns an error, the response body is nil, because the error handler makes the response later.
type BodyDump struct {
	// The function Do is called after the handler has returned. The bodies are valid only until Do returns, and must not be changed.
	// Do may be called concurrently. It must not be nil.
	Do func(c *web.Ctx, request, response []byte)

	// MaxBytes is how much of each body Do gets, in bytes. Zero means 64 KiB. A longer body is cut off.
	MaxBytes int
}

// Handler returns the middleware. Handler panics if Do is nil.
func (o BodyDump) Handler() web.Handler {
	if o.Do == nil {
		panic("middleware: BodyDump needs the function Do")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 10
	}
	return func(c *web.Ctx) error {
		r := c.RequestCtx()
		var request, response []byte
		if !r.Request.IsBodyStream() && c.Refused() == nil {
			request = o.cut(r.Request.Body())
		}
		err := c.Next()
		if err == nil && !isTaken(r) && !r.Response.IsBodyStream() {
			response = o.cut(r.Response.Body())
		}
		o.Do(c, request, response)
		return err
	}
}

func (o *BodyDump) cut(body []byte) []byte { return body[:min(len(body), o.MaxBytes)] }

package middleware

import (
	"fmt"
	"io"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// BodyLimit refuses requests whose body is larger than handlers want to have: with 413 and without reading it if the
// length is announced, and where it comes in chunks to a server with StreamRequestBody, as soon as it proves to be
// too large. Handlers then read gallop.ErrBodyTooLarge, and what they answer is replaced by 413 unless it
// has begun to be sent.
//
// Bodies that the server reads before handlers run are limited by its MaxRequestBodySize as well, and only
// by that while they are read. What is limited is what is received: decompressing has its own limits.
//
// The zero value allows 1 MiB.
type BodyLimit struct {
	// Size is the largest one, in bytes. The default is 1 MiB, a negative one allows no body.
	Size int64
}

// size returns Size, or the default.
func (o BodyLimit) size() int64 {
	if o.Size == 0 {
		return 1 << 20
	}
	return max(o.Size, 0)
}

// CheckApp returns an error if the server of the App refuses bodies of Size, so that the limit would have no effect. Use and groups
// call it.
func (o BodyLimit) CheckApp(app *web.App) error {
	if limit := int64(app.BodyLimit()); limit > 0 && o.size() > limit {
		return fmt.Errorf("a Size of %d bytes is over the %d bytes of the server's MaxRequestBodySize: raise that to Size, or lower Size", o.size(), limit)
	}
	return nil
}

// Handler returns the middleware. Its error is a web.Error of status 413 with gallop.ErrBodyTooLarge. If it is the handler of a
// route, no App is there to check Size; then each request fails with the error of CheckApp.
func (o BodyLimit) Handler() web.Handler {
	size := o.size()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		if err := o.CheckApp(c.App()); err != nil {
			return fmt.Errorf("web: BodyLimit: %w", err)
		}
		request := &c.RequestCtx().Request
		switch {
		case int64(request.Header.ContentLength()) > size:
			return errTooLarge
		case !request.IsBodyStream():
			if int64(len(request.Body())) > size {
				return errTooLarge
			}
		case request.Header.ContentLength() < 0: // of others the server cuts off what is too much
			body := &limitedBody{from: request.BodyStream(), left: size}
			request.SetBodyStream(body, -1)
			err := c.Next()
			if body.exceeded && !isTaken(c.RequestCtx()) {
				return errTooLarge
			}
			return err
		}
		return c.Next()
	}
}

var errTooLarge = &web.Error{
	Status: gallop.StatusRequestEntityTooLarge, Message: gallop.StatusMessage(gallop.StatusRequestEntityTooLarge), Err: gallop.ErrBodyTooLarge,
}

// limitedBody is a body up to a limit.
type limitedBody struct {
	from     io.Reader
	left     int64 // how many bytes may come
	exceeded bool
}

// Read implements io.Reader. It reads one byte more than may come, to see whether that is there.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.exceeded {
		return 0, gallop.ErrBodyTooLarge
	}
	if int64(len(p))-1 > b.left { // b.left may be the largest number there is
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	if int64(n) > b.left {
		n, b.left, b.exceeded = int(b.left), 0, true
		return n, gallop.ErrBodyTooLarge
	}
	b.left -= int64(n)
	return n, err
}

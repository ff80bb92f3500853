package middleware

import (
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

// Handler returns the middleware. Its error is a web.Error of status 413 with gallop.ErrBodyTooLarge.
func (o BodyLimit) Handler() web.Handler {
	switch {
	case o.Size == 0:
		o.Size = 1 << 20
	case o.Size < 0:
		o.Size = 0
	}
	return func(c *web.Ctx) error {
		request := &c.RequestCtx().Request
		switch {
		case int64(request.Header.ContentLength()) > o.Size:
			return tooLarge()
		case !request.IsBodyStream():
			if int64(len(request.Body())) > o.Size {
				return tooLarge()
			}
		case request.Header.ContentLength() < 0: // of others the server cuts off what is too much
			body := &limitedBody{from: request.BodyStream(), left: o.Size}
			request.SetBodyStream(body, -1)
			err := c.Next()
			if body.exceeded && !isTaken(c.RequestCtx()) {
				return tooLarge()
			}
			return err
		}
		return c.Next()
	}
}

// tooLarge returns a new error, because error handlers may change the one they get.
func tooLarge() error {
	return &web.Error{Status: gallop.StatusRequestEntityTooLarge, Err: gallop.ErrBodyTooLarge}
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

package middleware

import (
	"fmt"
	"io"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// BodyLimit responds with status 413 to requests whose body is larger than Size. If the Content-Length of a request exceeds Size,
// BodyLimit rejects the request before the handler runs.
//
// A chunked body has no Content-Length. If the server streams request bodies (StreamRequestBody), BodyLimit counts the bytes of a
// chunked body while the handler reads them. Once the body exceeds the limit, Read returns gallop.ErrBodyTooLarge. A response
// with status 413 then replaces the handler's response, unless the response is already being sent.
//
// If the server does not stream request bodies, it reads the body before any handler runs. Without streaming, only
// Server.MaxRequestBodySize limits how much the server reads. BodyLimit then checks the size of the body that the server
// has read. BodyLimit counts the bytes before decompression. Server.MaxRequestBodySize limits the decompressed size.
//
// The zero value allows 1 MiB.
type BodyLimit struct {
	// Size is the maximum body size in bytes. Zero means 1 MiB. With a negative value, BodyLimit rejects every request with a
	// body.
	Size int64
}

// size returns Size, or the default.
func (o BodyLimit) size() int64 {
	if o.Size == 0 {
		return 1 << 20
	}
	return max(o.Size, 0)
}

// CheckApp returns an error if the App's server already refuses bodies of Size bytes. BodyLimit would have no effect on
// that App. Use, Group and Host call CheckApp.
func (o BodyLimit) CheckApp(app *web.App) error {
	if limit := int64(app.BodyLimit()); limit > 0 && o.size() > limit {
		return fmt.Errorf("a Size of %d bytes is over the %d bytes of the server's MaxRequestBodySize: raise that to Size, or lower Size", o.size(), limit)
	}
	return nil
}

// Handler returns the middleware. If a body is too large, the middleware returns a web.Error with status 413 whose cause is
// gallop.ErrBodyTooLarge. If you pass the middleware to a route as a handler, CheckApp is not called at registration. The
// middleware also calls CheckApp for each request, in case CheckApp was not called at registration. If CheckApp returns an
// error, the middleware returns that error.
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
			return tooLarge()
		case !request.IsBodyStream():
			if int64(len(request.Body())) > size {
				return tooLarge()
			}
		case request.Header.ContentLength() < 0: // the server never reads more than an announced length
			body := &limitedBody{from: request.BodyStream(), left: size}
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

// limitedBody reads a body up to a limit.
type limitedBody struct {
	from     io.Reader
	left     int64 // bytes that may still be read
	exceeded bool
}

// Read implements io.Reader. It asks for one byte more than the limit to find out whether the body exceeds it.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.exceeded {
		return 0, gallop.ErrBodyTooLarge
	}
	if int64(len(p))-1 > b.left { // b.left may be math.MaxInt64, so b.left+1 could overflow
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

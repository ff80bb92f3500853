package nethttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"reflect"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// body is the body of a request as handlers see it. It may be used by many goroutines,
// and at any time.
type body struct {
	stream io.Reader // may be read at any time; nil for a body in memory

	mu      sync.Mutex
	data    []byte             // what is left of a body in memory
	err     error              // why that is not all of it
	ctx     *gallop.RequestCtx // nil once the handler has returned
	req     *http.Request      // gets the trailers
	life    *requestContext    // ends if the client turns out to be gone
	closed  bool
	ended   bool // it was read to its end
	reading int  // reads of stream that are running
}

// maxBytesReader is the type of the reader that http.MaxBytesReader returns.
var maxBytesReader = reflect.TypeOf(http.MaxBytesReader(nil, http.NoBody, 0))

// isTooLarge reports whether the handler has refused the body as too large. Then an HTTP/1 connection closes after the response.
// Either the limit of an http.MaxBytesReader in Request.Body was exceeded, or the status is 413 and the body was not read
// to its end. In net/http, the reader calls an unexported method of the server instead.
func (x *exchange) isTooLarge(status int) bool {
	if status == http.StatusRequestEntityTooLarge && x.body.isUnread() {
		return true
	}
	if reflect.TypeOf(x.req.Body) != maxBytesReader || x.resp.ctx.Request.FullDuplex { // with FullDuplex it may be being read
		return false
	}
	_, err := x.req.Body.Read(nil) // reads nothing and returns the error of an earlier Read
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}

// isUnread reports whether something of the body may still come from the client.
func (b *body) isUnread() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ctx != nil && b.stream != nil && !b.ended
}

// readBody sets Body and what is said about it.
func (x *exchange) readBody(ctx *gallop.RequestCtx) {
	r, b := &x.req, &x.body
	length := ctx.Request.Header.ContentLength()
	if b.stream = ctx.RequestBodyStream(); b.stream == nil {
		b.data = ctx.PostBody()
		b.err = ctx.Request.BodyErr() // of who has read it before
	}
	if t := x.resp.tunnel; t != nil {
		b.stream, length = t, -1
	}
	if length == -1 && r.ProtoMajor == 1 {
		r.TransferEncoding = []string{"chunked"}
	} else if b.stream == nil && len(b.data) == 0 && b.err == nil || b.stream != nil && length == 0 {
		r.Body = http.NoBody
		return
	}
	if r.ContentLength = int64(length); length >= 0 && b.stream == nil && b.err == nil {
		r.ContentLength = int64(len(b.data)) // in a test nothing may announce it
	}
	b.ctx, b.req, b.life = ctx, r, &x.ctx
	r.Body = b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed || b.ctx == nil {
		b.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	if b.stream == nil {
		defer b.mu.Unlock()
		return b.readData(p)
	}
	b.reading++
	b.mu.Unlock()
	n, err := b.stream.Read(p)
	b.mu.Lock()
	if b.reading--; err == io.EOF {
		b.readTrailers()
	}
	closed := b.closed
	b.mu.Unlock()
	switch {
	case err == nil, err == io.EOF:
	case closed, errors.Is(err, gallop.ErrBodyClosed):
		err = http.ErrBodyReadAfterClose
	case isLost(err):
		b.life.cancel(context.Canceled)
	}
	return n, err
}

// isLost reports whether err means that the client has gone away.
func isLost(err error) bool {
	var n net.Error
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &n) && !n.Timeout()
}

func (b *body) readData(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := copy(p, b.data)
	if b.data = b.data[n:]; n == 0 && b.err != nil {
		return 0, b.err
	}
	if n == 0 {
		b.readTrailers()
		return 0, io.EOF
	}
	return n, nil
}

// readTrailers puts the trailers that have come into the request, once. b is locked.
func (b *body) readTrailers() {
	if b.ended || b.ctx == nil {
		return
	}
	b.ended = true
	for name, value := range b.ctx.Request.Header.AllTrailers() {
		if b.req.Trailer == nil {
			b.req.Trailer = http.Header{}
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		b.req.Trailer[key] = append(b.req.Trailer[key], string(value))
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Close implements io.Closer. The server skips the rest of the body. Over HTTP/2, as in net/http, a Read that waits returns.
// grpc-go waits for that.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.reading > 0 && b.ctx != nil && b.req.ProtoMajor == 2 {
		_ = b.ctx.SetReadDeadline(longAgo)
	}
	return nil
}

// end makes reads fail from now on. A stream does that by itself.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx, b.data = nil, nil
}

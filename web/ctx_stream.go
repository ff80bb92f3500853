package web

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/gallop-http/gallop"
)

// SendStream sends what r yields: size bytes of it, or all without a size. It is read after the handler has returned, and
// closed then if it is an io.Closer. Content-Type stays what it is.
func (c *Ctx) SendStream(r io.Reader, size ...int) error {
	n := -1
	if len(size) > 0 {
		n = size[0]
	}
	c.request.SetBodyStream(r, n)
	return nil
}

// SendStreamWriter calls write for the body, which goes to the client when w is full or flushed. It
// returns when write has. Status and fields have to be set before. If write returns an error the connection ends, so that the
// client sees that something is missing.
//
// Without a gallop.Server, as behind nethttp.FromHandler, the body is gathered first.
func (c *Ctx) SendStreamWriter(write func(w *bufio.Writer) error) error {
	stream, err := c.request.StreamResponse()
	if err != nil {
		w := bufio.NewWriter(c)
		return errors.Join(write(w), w.Flush())
	}
	c.streaming = true
	w := bufio.NewWriter(flusher{stream})
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// flusher sends each piece at once.
type flusher struct{ *gallop.ResponseStream }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.ResponseStream.Write(p)
	if err == nil {
		err = f.Flush()
	}
	return n, err
}

// Write appends to the body of the answer. It never fails.
func (c *Ctx) Write(p []byte) (int, error) { return c.request.Write(p) }

// WriteString appends to the body of the answer. It never fails.
func (c *Ctx) WriteString(s string) (int, error) { return c.request.WriteString(s) }

// abort ends a connection whose answer broke off in its middle.
func (c *Ctx) abort(err error) {
	if !errors.Is(err, context.Canceled) {
		c.request.Logger().Printf("a streamed answer broke off: %v", err)
	}
	panic(gallop.ErrAbortHandler)
}

package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/gallop-http/gallop"
)

// SendStream makes everything that r yields the body. r is read after the handler has returned. If it is an io.Closer, it is
// closed then. The Content-Type stays as it is.
func (c *Ctx) SendStream(r io.Reader) error { return c.SendStreamSize(r, -1) }

// SendStreamSize makes the size bytes that r yields the body, so that the client learns the size first. If r yields fewer or
// more bytes, the connection is closed. A negative size means that the size is unknown, and so does one of more than 2 GiB on
// a 32-bit system. See [Ctx.SendStream].
func (c *Ctx) SendStreamSize(r io.Reader, size int64) error {
	if int64(int(size)) != size { // on a 32-bit system
		size = -1
	}
	c.request.SetBodyStream(r, int(size))
	return nil
}

// SendStreamWriter calls write for the body, which goes to the client when w is full or flushed. It
// returns when write has. Status and fields have to be set before. If write returns an error the connection ends, so that the
// client sees that something is missing.
//
// Behind middleware of net/http the body goes through that. If a server cannot send parts of a response, the body is gathered
// first.
func (c *Ctx) SendStreamWriter(write func(w *bufio.Writer) error) error {
	stream, end, err := c.stream()
	if err != nil {
		w := bufio.NewWriter(c)
		return errors.Join(write(w), w.Flush())
	}
	defer end()
	w := bufio.NewWriter(flusher{stream})
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// outStream is the body of an answer that is written while the handler runs.
type outStream interface {
	io.Writer
	Flush() error
}

// stream sends the head of the answer and returns the body. end has to be called when nothing is written any more.
func (c *Ctx) stream() (out outStream, end func(), err error) {
	if c.layer != nil {
		out, end = c.layer.stream(c)
		return out, end, nil
	}
	stream, err := c.request.StreamResponse()
	if err != nil {
		return nil, nil, err
	}
	c.streaming = true
	return stream, func() {}, nil
}

// flusher sends each piece at once.
type flusher struct{ outStream }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.outStream.Write(p)
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
		if c.MarkErrorLogged() {
			c.Log().Error("streamed response broke off", slog.Any("error", err))
		}
	}
	panic(gallop.ErrAbortHandler)
}

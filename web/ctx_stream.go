package web

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/gallop-http/gallop"
)

// SendStream sends all data from r as the body. The server reads r after the handler has returned. If r is an io.Closer, the server
// then closes r. SendStream does not choose a Content-Type: see [Ctx.Type]. SendStream always returns nil.
func (c *Ctx) SendStream(r io.Reader) error { return c.SendStreamSize(r, -1) }

// SendStreamSize sends bytes from r as the body, with a Content-Length. The argument size is the number of bytes. If r does not
// yield exactly this number of bytes, the server closes the connection. A negative size means that the size is unknown. On a 32-bit
// system, a size of 2 GiB or more also counts as unknown. See [Ctx.SendStream].
func (c *Ctx) SendStreamSize(r io.Reader, size int64) error {
	if int64(int(size)) != size { // too large for an int of 32 bits
		size = -1
	}
	c.request.SetBodyStream(r, int(size))
	return nil
}

// SendStreamWriter calls the function write, which writes the body to w while the handler runs. The server sends the buffered
// bytes to the client whenever w is full or flushed. Set the status and the headers before you call SendStreamWriter. If the
// function write returns an error, SendStreamWriter returns the same error. Return the error from the handler, too: the server
// then closes the connection, so the client notices that the body is incomplete.
//
// If net/http middleware wraps the handler, the body passes through this middleware. If the server cannot send a response in
// parts, the whole body is buffered and sent after the handler has returned.
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

// outStream is the body of a response that is written while the handler runs.
type outStream interface {
	io.Writer
	Flush() error
}

// stream sends the head of the response and returns the body. The caller calls end after the last write.
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

// flusher flushes after each write.
type flusher struct{ outStream }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.outStream.Write(p)
	if err == nil {
		err = f.Flush()
	}
	return n, err
}

// Write implements io.Writer. Write appends p to the buffered body of the response and never fails.
func (c *Ctx) Write(p []byte) (int, error) { return c.request.Write(p) }

// WriteString implements io.StringWriter. WriteString appends s to the buffered body of the response and never fails.
func (c *Ctx) WriteString(s string) (int, error) { return c.request.WriteString(s) }

// abort closes the connection of a response that failed after a part of it was sent.
func (c *Ctx) abort(err error) {
	if !errors.Is(err, context.Canceled) {
		if c.MarkErrorLogged() {
			c.logAt(c.FailureLevel(), "streamed response broke off", err)
		}
	}
	panic(gallop.ErrAbortHandler)
}

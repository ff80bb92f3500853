package gallopgrpc

import (
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// receiver takes the messages of a request out of its body.
//
//	buf    taken | not taken | free
//	             r           w      len(buf)
type receiver struct {
	body   io.Reader // nil if the whole body is in buf
	buf    []byte
	r, w   int
	pooled *[]byte // the buffer of buf, if it belongs to the pool
	err    error   // of body
}

const (
	recvBuffer     = 4 << 10
	recvBufferKept = 64 << 10 // larger buffers are not kept while a stream waits
)

// setBody makes body the source of messages.
func (b *receiver) setBody(body io.Reader) { b.body = body }

// setBytes makes p the source of messages, which is valid until the handler returns.
func (b *receiver) setBytes(p []byte) { b.buf, b.w = p, len(p) }

// unread returns the bytes that were not taken.
func (b *receiver) unread() []byte { return b.buf[b.r:b.w] }

// fill reads until n bytes were not taken. At the end of the body it returns io.EOF, or errCutMessage if some bytes are left.
func (b *receiver) fill(n int) error {
	for b.w-b.r < n {
		if b.err == nil && b.body == nil {
			b.err = io.EOF
		}
		if b.err != nil {
			if b.err == io.EOF && b.w > b.r {
				return errCutMessage
			}
			return b.err
		}
		b.room(n)
		var k int
		k, b.err = b.body.Read(b.buf[b.w:])
		b.w += k
	}
	return nil
}

var errCutMessage = status.Error(codes.Internal, "the request ends within a message")

// room makes room behind the bytes that were not taken. The buffer grows with what has arrived, not with what was announced.
func (b *receiver) room(n int) {
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
	if len(b.buf) > recvBufferKept && b.w == 0 && n <= prefixLen {
		b.release()
	}
	switch have := b.w - b.r; {
	case b.w < len(b.buf) && b.r+n <= len(b.buf):
	case n <= len(b.buf) && have < len(b.buf):
		copy(b.buf, b.unread())
		b.r, b.w = 0, have
	case b.w == len(b.buf):
		b.grow(min(max(n, recvBuffer), max(2*len(b.buf), recvBuffer)))
	}
}

// grow moves the bytes that were not taken to a buffer of n bytes.
func (b *receiver) grow(n int) {
	larger := mem.DefaultBufferPool().Get(n)
	buf := (*larger)[:cap(*larger)]
	have := copy(buf, b.unread())
	b.release()
	b.buf, b.pooled, b.w = buf, larger, have
}

// release gives the buffer back.
func (b *receiver) release() {
	if b.pooled != nil {
		mem.DefaultBufferPool().Put(b.pooled)
	}
	b.buf, b.pooled, b.r, b.w = nil, nil, 0, 0
}

// next takes a message. p is valid until the next call. The error is io.EOF after the last message.
func (b *receiver) next(c *call) (flag byte, p []byte, err error) {
	if err := b.fill(prefixLen); err != nil {
		return 0, nil, err
	}
	flag, n := parsePrefix(b.unread())
	if err := c.checkPrefix(flag, n); err != nil {
		return 0, nil, err
	}
	if err := b.fill(prefixLen + int(n)); err != nil {
		if err == io.EOF {
			err = errCutMessage
		}
		return 0, nil, err
	}
	p = b.unread()[prefixLen : prefixLen+int(n)]
	b.r += prefixLen + int(n)
	return flag, p, nil
}

// holds reports whether a whole message is in the buffer, so that next does not wait.
func (b *receiver) holds() bool {
	p := b.unread()
	if len(p) < prefixLen {
		return false
	}
	_, n := parsePrefix(p)
	return int64(len(p)) >= prefixLen+int64(n)
}

// recv receives a message into v. The error is io.EOF after the last one. All others are statuses.
func (c *call) recv(b *receiver, v any) error {
	flag, p, err := b.next(c)
	if err != nil {
		return c.recvError(err)
	}
	size, err := c.decode(flag, p, v)
	if err != nil {
		return err
	}
	c.statIn(v, size, len(p))
	return nil
}

// recvError returns the error of a handler that could not receive a message because of err.
func (c *call) recvError(err error) error {
	if err == io.EOF {
		return err
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return c.ended(err)
}

// recvOnly receives the only message of a request.
func (c *call) recvOnly(b *receiver, v any) error {
	switch err := c.recv(b, v); {
	case err == io.EOF:
		return status.Error(codes.Internal, "the request has no message, but the method needs one")
	case err != nil:
		return err
	}
	switch err := b.fill(1); {
	case err == nil:
		return status.Error(codes.Internal, "the request has more than one message, but the method takes one")
	case err != io.EOF:
		return c.recvError(err)
	}
	return nil
}

package gallopgrpc

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/gallop-http/gallop"
)

// stream is the [grpc.ServerStream] of a call. One goroutine may send while another one receives.
type stream struct {
	c   *call
	ctx context.Context
	in  *receiver
}

// serveStream calls the handler of a streaming method.
func (c *call) serveStream(ctx *gallop.RequestCtx, in *receiver) {
	if in.body != nil {
		// A stream may be idle for as long as its client wants. The zero time lifts the server's limits.
		ctx.Request.FullDuplex = true
		ctx.SetReadDeadline(c.deadline)
	}
	if c.deadline.IsZero() {
		ctx.SetWriteDeadline(time.Time{})
	} else {
		ctx.SetWriteDeadline(c.deadline.Add(sendGrace))
	}
	s := &stream{c: c, ctx: c.context(), in: in}
	if c.s.stream == nil {
		c.stop(c.m.serve(c.m.impl, s))
		return
	}
	info := c.m.info
	info.FullMethod = c.path
	c.stop(c.s.stream(c.m.impl, s, &info, c.m.serve))
}

// sendGrace is how long after the deadline a message may still wait for the client. Most clients end the call at the deadline. A
// stream that the server ends within a message cannot have a status.
const sendGrace = time.Second

// Context implements grpc.ServerStream.
func (s *stream) Context() context.Context { return s.ctx }

// SetHeader implements grpc.ServerStream.
func (s *stream) SetHeader(md metadata.MD) error { return s.c.SetHeader(md) }

// SendHeader implements grpc.ServerStream.
func (s *stream) SendHeader(md metadata.MD) error { return s.c.SendHeader(md) }

// SetTrailer implements grpc.ServerStream.
func (s *stream) SetTrailer(md metadata.MD) {
	if err := s.c.SetTrailer(md); err != nil {
		s.c.log("SetTrailer: %v", err)
	}
}

// SendMsg implements grpc.ServerStream. It waits while the client does not read. The message is flushed as soon as the
// handler waits.
func (s *stream) SendMsg(m any) error {
	if err := s.c.send(m); err != nil {
		return s.c.fail(err)
	}
	return nil
}

// RecvMsg implements grpc.ServerStream. It first flushes what was sent, if it has to wait.
func (s *stream) RecvMsg(m any) error {
	// Without the lock, another goroutine sends. It may wait for the client, which may wait until this one has received.
	if !s.in.holds() && s.c.out.TryLock() {
		s.c.flush()
		s.c.out.Unlock()
	}
	if !s.c.m.info.IsClientStream {
		if s.in.err == io.EOF && len(s.in.unread()) == 0 {
			return io.EOF
		}
		if err := s.c.recvOnly(s.in, m); err != nil {
			return s.c.fail(err)
		}
		return nil
	}
	err := s.c.recv(s.in, m)
	if err != nil && err != io.EOF {
		return s.c.fail(err)
	}
	return err
}

// compressor returns how messages are compressed, and whether the header was sent.
func (c *call) compressor() (comp encoding.Compressor, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.comp, c.sent
}

// send sends a message.
func (c *call) send(v any) error {
	if c.isLate() {
		return errLate
	}
	comp, _ := c.compressor()
	pool := mem.DefaultBufferPool()
	buf := pool.Get(sendBuffer)
	defer pool.Put(buf)
	msg, size, err := c.appendMessage((*buf)[:0], v, comp)
	if err != nil {
		return err
	}
	c.out.Lock()
	defer c.out.Unlock()
	if err := c.begin(); err != nil {
		return err
	}
	if _, err := c.response.Write(msg); err != nil {
		return c.sendError(err)
	}
	c.flushSoon()
	c.statOut(v, size, len(msg)-prefixLen)
	return nil
}

const sendBuffer = 4 << 10

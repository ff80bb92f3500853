package gallop

import (
	"io"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// requestBody is the body of the request that is being served. Nothing else reads
// from the connection between two heads, and so nothing else can be wrong about
// where the body ends (RFC 9112 §6.3).
type requestBody struct {
	x         *exchange // that it belongs to
	kind      message.BodyKind
	announced int64 // how long a Fixed body is; negative: the body is Chunked
	left      int64 // of a Fixed body
	chunks    http1.ChunkReader
	whole     bool          // it has at most exchange.maxBody bytes
	err       error         // why it could not be read to its end
	got       int64         // bytes of data so far
	waited    time.Duration // for them
	looked    bool          // the last read was a last look, see armByRate
	handle    *bodyHandle   // what the handler reads from
	unseen    []byte        // what of the handle's the handler has left, see leave
}

// begin takes over the body of the request whose head was read.
func (b *requestBody) begin(head *message.Head) {
	b.x.wire.Input.Held = true
	if head.Body == message.NoBody { // the rest is of no account then
		b.kind, b.err, b.unseen = message.NoBody, nil, nil
		return
	}
	b.kind, b.announced, b.left = head.Body, head.Length, head.Length
	b.whole, b.err, b.got, b.waited, b.looked, b.handle, b.unseen = false, nil, 0, 0, false, nil, nil
	if head.Body == message.Chunked {
		b.chunks = http1.ChunkReader{}
	}
}

// ended reports whether the body was read to its end.
func (b *requestBody) ended() bool {
	return b.kind == message.NoBody || b.endedAtLength()
}

// endedAtLength is ended for a request with a body.
func (b *requestBody) endedAtLength() bool {
	switch {
	case b.kind == message.Fixed:
		return b.left == 0
	case b.x.h2 != nil:
		return b.x.h2.bodyEnded()
	}
	return b.chunks.Done()
}

// failure returns why the body could not be read, if it was tried.
func (b *requestBody) failure() error { return b.err }

// takeBody reads the body, of which there is something to read and which is as long as announced
// if that is not negative, or arranges that the handler can.
func (c *serverConn) takeBody(announced int64) error {
	b := &c.body
	req := &c.ctx.Request
	stream := c.streams
	if c.bodyTooLarge() {
		return ErrBodyTooLarge
	}
	if stream || c.awaits100 {
		c.startClock()
		b.handle = &bodyHandle{body: b, whole: c.maxBody}
		b.whole = !stream // a handler that does not know of streams makes forms of it
		req.body.source, req.body.size = b.handle, streamSize(announced)
		return nil
	}
	c.ctx.life.canWatch = true
	if view, ok := b.inBuffer(); ok {
		req.body.view = view
		return nil
	}
	c.startClock()
	c.RunsApart(true)
	buf, err := b.readAll(req.body.buf[:0])
	c.RunsApart(false)
	if err != nil {
		buf = buf[:0]
	}
	req.body.buf = buf
	return err
}

// inBuffer returns the body if it lies in the input buffer in one piece, and has
// used it then.
func (b *requestBody) inBuffer() ([]byte, bool) {
	in := &b.x.wire.Input
	if b.kind == message.Fixed {
		if int64(len(in.Unread())) < b.left {
			return nil, false
		}
		view := in.Unread()[:b.left:b.left]
		in.R += int(b.left)
		b.left = 0
		return view, true
	}
	probe := *b // a body in pieces is read again from its beginning
	trailers := &b.x.ctx.Request.Header.trailers
	view, n, err := probe.chunks.Next(in.Unread(), &b.x.wire.set.chunks, trailers)
	if err != nil || int64(len(view)) > b.x.maxBody {
		return nil, false
	}
	rest, m, err := probe.chunks.Next(in.Unread()[n:], &b.x.wire.set.chunks, trailers)
	if err != nil || len(rest) > 0 || !probe.chunks.Done() {
		return nil, false
	}
	in.R += n + m
	b.chunks = probe.chunks
	return view, true
}

// readAll appends the whole body to dst and returns the result. If dst is too small, it goes
// back to the pool. The buffer grows as data arrives, regardless of the announced length.
func (b *requestBody) readAll(dst []byte) ([]byte, error) {
	b.whole = true
	if b.x.h2 != nil {
		return b.x.h2.readAll(dst)
	}
	for {
		data, err := b.next()
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
		dst = append(bufpool.Grow(dst, len(data)), data...)
		if b.kind == message.Fixed && b.left > 0 {
			if dst, err = b.readDirect(dst); err != nil {
				return dst, err
			}
		}
	}
}

// readDirect reads what is left of a Fixed body straight to dst.
func (b *requestBody) readDirect(dst []byte) ([]byte, error) {
	for b.left > 0 && b.x.wire.Input.Empty() {
		dst = bufpool.Grow(dst, int(min(b.left, 16<<10)))
		free := dst[len(dst):cap(dst)]
		n, err := b.readConn(free[:min(int64(len(free)), b.left)])
		dst = dst[:len(dst)+n]
		b.took(n)
		if n == 0 && err != nil {
			return dst, b.fail(err)
		}
	}
	return dst, nil
}

// readInto reads the next bytes of the body into p. rest are further bytes that were read, which hold until the next call.
func (b *requestBody) readInto(p []byte) (n int, rest []byte, err error) {
	if b.x.h2 != nil {
		n, err = b.x.h2.readBody(p)
		return n, nil, err
	}
	if b.kind == message.Fixed && b.left > 0 && b.err == nil && b.x.wire.Input.Empty() {
		n, err = b.readConn(p[:min(int64(len(p)), b.left)])
		b.took(n)
		if n == 0 && err != nil {
			return 0, nil, b.fail(err)
		}
		return n, nil, nil
	}
	data, err := b.next()
	n = copy(p, data)
	return n, data[n:], err
}

// next returns the next bytes of the body: a view of the input buffer that holds
// until the next call. At the end of the body the error is io.EOF.
func (b *requestBody) next() ([]byte, error) {
	in := &b.x.wire.Input
	for {
		if b.err != nil {
			return nil, b.err
		}
		if b.ended() {
			return nil, io.EOF
		}
		data, n, err := b.decode(in.Unread())
		if err != nil {
			b.err = err
			return nil, err
		}
		in.R += n
		if len(data) > 0 {
			if b.got += int64(len(data)); b.whole && b.got > b.x.maxBody {
				b.err = ErrBodyTooLarge
				return nil, b.err
			}
			return data, nil
		}
		if n == 0 {
			if b.whole && b.chunks.Left() > uint64(b.x.maxBody-b.got) {
				b.err = ErrBodyTooLarge // whatever it is that would come
				return nil, b.err
			}
			if err := b.fill(); err != nil {
				return nil, b.fail(err)
			}
		}
	}
}

// decode takes the next bytes of the body from the beginning of raw.
func (b *requestBody) decode(raw []byte) (data []byte, n int, err error) {
	if b.kind == message.Chunked {
		if data, n, err = b.chunks.Next(raw, &b.x.wire.set.chunks, &b.x.ctx.Request.Header.trailers); err != nil {
			err = ErrBrokenChunk{parseError(err)}
		}
		return data, n, err
	}
	n = int(min(b.left, int64(len(raw))))
	b.left -= int64(n)
	return raw[:n], n, nil
}

func (b *requestBody) took(n int) {
	b.left -= int64(n)
	b.got += int64(n)
}

// fail makes err the reason why the body ends here.
func (b *requestBody) fail(err error) error {
	switch {
	case b.isCut():
		err = ErrBodyClosed
	case err == io.EOF:
		if b.x.wire.EndsWithInput() {
			b.x.ctx.life.lost()
		}
		err = io.ErrUnexpectedEOF
	case clock.IsTimeout(err) && b.x.wire.Input.ByHand.Load() != nil:
		err = os.ErrDeadlineExceeded
	case clock.IsTimeout(err):
		err = errSlowBody
	default:
		b.x.ctx.life.lost()
	}
	b.err = err
	return err
}

// fill reads more into the input buffer.
func (b *requestBody) fill() error {
	for {
		start, err := b.beforeRead()
		if err != nil {
			return err
		}
		if err = b.x.wire.Input.Read(); !b.afterRead(start, err) {
			return err
		}
	}
}

// readConn reads into p without the input buffer, which is empty.
func (b *requestBody) readConn(p []byte) (int, error) {
	for {
		start, err := b.beforeRead()
		if err != nil {
			return 0, err
		}
		b.x.wire.Input.AllRead = false
		n, err := b.x.wire.NC.Read(p)
		b.x.wire.Input.Count(n)
		if !b.afterRead(start, err) {
			return n, err
		}
	}
}

// beforeRead says 100 if the client waits for that, writes what it may wait for,
// and sets the deadline. The rate counts the time that was spent waiting for the
// client, so that a handler may take its time.
func (b *requestBody) beforeRead() (start time.Time, err error) {
	c := b.x.wire
	if err := b.flushOutput(); err != nil {
		return start, err
	}
	start = time.Now()
	if c.Input.ByHand.Load() == nil && !b.armByRate(start) {
		return start, os.ErrDeadlineExceeded
	}
	c.Input.ArmByHand()
	if b.isCut() {
		return start, ErrBodyClosed
	}
	return start, nil
}

// On a busy machine, bytes may lie unread in the socket when the time for them is over. A body that seems late therefore gets a last
// look: a read that waits for lastLook only. If it finds bytes without waiting, there may be more of them, and another look follows.
const (
	lastLook = 5 * time.Millisecond
	atOnce   = time.Millisecond // a read that took no longer has not waited
)

// armByRate gives the client the time that it has for more of the body. It reports false if that is over, and the last look as well.
func (b *requestBody) armByRate(start time.Time) bool {
	c := b.x.wire
	var at time.Time
	if c.set.bodyRate > 0 {
		at = start.Add(bodyBudget(b.got, c.set.bodyRate) - b.waited)
	}
	at = clock.Earlier(at, clock.After(b.x.began, b.x.readTimeout))
	late := !at.IsZero() && !start.Before(at)
	if late && b.looked {
		return false
	}
	if b.looked = late; late {
		at = start.Add(lastLook)
	}
	if in := &c.Input; at.IsZero() || in.Deadline.Before(at) || in.Deadline.After(at.Add(time.Second/4)) {
		in.ArmExactly(at)
	}
	return true
}

// afterRead notes how long a read took that has begun at start. If the read has reached its deadline, again asks for a last look.
func (b *requestBody) afterRead(start time.Time, err error) (again bool) {
	in, end := &b.x.wire.Input, time.Now()
	took := end.Sub(start)
	b.waited += took
	if err == nil && took < atOnce {
		b.looked = false
	}
	return clock.IsTimeout(err) && !b.looked && in.ByHand.Load() == nil && !b.isCut() && !end.Before(in.Deadline)
}

// flushOutput says 100 if the client waits for that, and writes what it may wait for. If
// the handler is writing in that moment, then that is what the client gets.
func (b *requestBody) flushOutput() error {
	c, x := b.x.wire, b.x
	s := x.ctx.output()
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if s.left {
		return nil // the server is going to cut the body off
	}
	if x.awaits100 {
		x.awaits100 = false
		c.Output.AppendString(continueResponse)
	}
	if len(c.Output.Buf) > 0 {
		c.limitWriting()
	}
	return c.Output.Flush()
}

// isCut reports whether the handle is being severed.
func (b *requestBody) isCut() bool { return b.handle != nil && b.handle.cut.Load() }

// close ends the request.
func (b *requestBody) close() {
	b.sever()
	if c := b.x.wire; c != nil {
		c.Input.Held = false
	}
}

// sever makes every read from the handle fail from now on.
func (b *requestBody) sever() {
	if b.handle != nil {
		b.cutOff()
	}
}

func (b *requestBody) cutOff() {
	b.unseen = b.handle.sever(b.x)
	b.handle = nil
}

// leave leaves the rest of the body to the new owner of the connection. It returns the bytes of the body that were taken out of
// the input buffer but that the handler has not seen. They come right before the bytes that are still in the buffer.
func (b *requestBody) leave() []byte {
	b.sever()
	unseen := b.unseen
	b.unseen = nil
	return unseen
}

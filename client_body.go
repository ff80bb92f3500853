package gallop

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/dial"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// clientBody tracks where the body of the response being read ends.
type clientBody struct {
	kind     message.BodyKind
	left     int64 // of a Fixed body
	chunks   http1.ChunkReader
	trailers *field.List // where the trailers go
	ended    bool        // an UntilClose body was read to its end
}

// done reports whether the body was read to its end.
func (b *clientBody) done() bool {
	switch b.kind {
	case message.Fixed:
		return b.left == 0
	case message.Chunked:
		return b.chunks.Done()
	case message.UntilClose:
		return b.ended
	}
	return true
}

// announced returns how many bytes are certain to come.
func (b *clientBody) announced() uint64 {
	if b.kind == message.Chunked {
		return b.chunks.Left()
	}
	return 0
}

// nextData returns the next bytes of the body: a view of the buffer that holds until the
// next call. At the end of the body the error is io.EOF.
func (cc *ClientConn) nextData() ([]byte, error) {
	b := &cc.body
	for !b.done() {
		data, err := cc.decode()
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			return data, nil
		}
	}
	return nil, io.EOF
}

// decode takes bytes of the body from the buffer, which it fills if there are none.
func (cc *ClientConn) decode() (data []byte, err error) {
	b, raw := &cc.body, cc.unread()
	n := len(raw)
	switch b.kind {
	case message.Fixed:
		n = int(min(b.left, int64(n)))
		b.left -= int64(n)
		data = raw[:n]
	case message.UntilClose:
		data = raw
	case message.Chunked:
		if data, n, err = b.chunks.Next(raw, &trailerLimits, b.trailers); err != nil {
			cc.broken = true
			return nil, brokenChunk(err)
		}
	}
	if cc.r += n; n > 0 {
		return data, nil
	}
	return nil, cc.fillBody()
}

// fillBody reads more of the body into the buffer.
func (cc *ClientConn) fillBody() error {
	err := cc.fill()
	switch {
	case err == nil:
		return nil
	case err == io.EOF && cc.body.kind == message.UntilClose:
		if err = cc.cutShort(); err == nil {
			cc.body.ended = true
			return nil
		}
	case err == io.EOF && cc.body.kind == message.Chunked && cc.body.chunks.Left() == 0:
		return ErrBrokenChunk{io.ErrUnexpectedEOF}
	}
	return bodyBroken(err)
}

// cutShort returns why the end of input is not the end of a body that goes up to it, or nil.
func (cc *ClientConn) cutShort() error {
	switch reset := cc.reset.Load(); {
	case wasCutOff(cc.nc):
		return io.ErrUnexpectedEOF
	case reset != nil && cc.tls == nil: // TLS says itself when it ends
		return *reset
	}
	return nil
}

// noteReset notes that a write has failed because the connection was reset. The system tells that only once: what is read then
// ends as if the server had closed the connection.
func (cc *ClientConn) noteReset(err error) {
	if errors.Is(err, syscall.ECONNRESET) {
		cc.reset.Store(&err)
	}
}

// brokenChunk returns why a body in the chunked coding is refused: as an *ErrSmallBuffer, which fasthttp's clients return
// for trailers that are too large, or as an ErrBrokenChunk.
func brokenChunk(err error) error {
	err = parseError(err)
	if small, ok := err.(*ErrSmallBuffer); ok {
		return small
	}
	return ErrBrokenChunk{err}
}

// clientStream is a response body as the caller sees it. It holds the connection until the body is read to its
// end or the stream is closed. After that it never reads again, however long the caller keeps it.
type clientStream struct {
	lateTrailers
	cc   *ClientConn // nil when it is over
	ctx  context.Context
	rest []byte // read, and not yet handed out: a view of cc.buf
	err  error  // what Read returns when it is over

	upload *upload // an upload that continues while the response is read, or nil

	guard   sync.Mutex
	reader  *ClientConn // cc, for an interrupt while Read holds mu; nil when the stream is over
	closing bool        // Close has interrupted a Read
}

func newClientStream(cc *ClientConn) *clientStream {
	return &clientStream{lateTrailers: lateTrailers{trailers: cc.body.trailers}, cc: cc, reader: cc, ctx: cc.ctx}
}

// Read reads from the body: io.EOF at its end and ever after.
func (s *clientStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cc == nil {
		return 0, s.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.read(p)
	if err != nil {
		s.end(err)
		return n, s.err
	}
	if len(s.rest) == 0 && s.cc.body.done() {
		s.end(io.EOF)
	}
	return n, nil
}

func (s *clientStream) read(p []byte) (int, error) {
	cc := s.cc
	if b := &cc.body; b.kind == message.Fixed && b.left > 0 && cc.r == len(cc.buf) && len(s.rest) == 0 {
		n, err := cc.read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		return n, bodyBroken(err)
	}
	if len(s.rest) == 0 {
		cc.body.trailers = s.trailers
		data, err := cc.nextData()
		if err != nil {
			return 0, err
		}
		s.rest = data
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// end gives up the connection. err is what Read returns from now on.
func (s *clientStream) end(err error) {
	cc := s.cc
	if s.upload != nil && !s.upload.end() {
		cc.broken = true
		err = s.upload.causeOf(err)
	}
	failed, phase := err != io.EOF, ""
	if failed {
		cc.broken = true
		phase = cc.phaseOf(err)
		err = cc.explain(s.ctx, err)
	}
	s.guard.Lock() // before another call gets cc
	s.reader = nil
	if s.closing && failed {
		err, failed = ErrBodyClosed, false
	}
	s.guard.Unlock()
	if failed {
		err = cc.streamFailed(err, phase)
	}
	s.cc, s.rest, s.err = nil, nil, err
	cc.release()
}

// interrupt makes a Read that waits return ErrBodyClosed.
func (s *clientStream) interrupt() {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.closing = true
	if s.reader != nil {
		s.reader.interrupt()
	}
}

// maxStreamWait is how long Close waits for the rest of a body, so that the connection
// can be used again.
const maxStreamWait = 50 * time.Millisecond

// Close ends the stream. If little is left of the body and arrives at once, Close reads it, so that the
// connection can be reused. If not, Close closes the connection. A Read that waits is interrupted.
func (s *clientStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError does the same as Close, but also closes the connection if cause is not nil.
func (s *clientStream) CloseWithError(cause error) error {
	if !s.mu.TryLock() {
		s.interrupt()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	cc := s.cc
	if cc == nil {
		return nil
	}
	cc.body.trailers = nil // the header may belong to another call by now
	if cause != nil || s.upload != nil && !s.upload.end() || !cc.drain() {
		cc.broken = true
	}
	s.end(io.EOF)
	s.err = ErrBodyClosed
	return nil
}

// drain reads what is left of the body and reports whether it got to its end.
func (cc *ClientConn) drain() bool {
	b := &cc.body
	switch {
	case b.done():
		return true
	case cc.broken || b.kind == message.UntilClose || b.kind == message.Fixed && b.left > maxCloseDrain:
		return false
	}
	at := time.Now().Add(maxStreamWait)
	switch {
	case cc.readBy == unknownDeadline: // an upload has moved it
		cc.armRead(clock.Earlier(at, cc.deadline))
	case cc.readBy.IsZero() || at.Before(cc.readBy):
		cc.armRead(at)
	}
	for total := 0; total <= maxCloseDrain; {
		data, err := cc.nextData()
		if total += len(data); err != nil {
			return err == io.EOF
		}
	}
	return false
}

// upgradedStream is the connection behind a 101, or a 2xx to CONNECT, as the body of that
// answer. It may be used as a net.Conn is.
type upgradedStream struct {
	dial.RestConn
	closed sync.Once
	leave  func()
}

// handOver makes the connection the body of resp. It does not belong to the call any
// longer, and counts until it is closed.
func (cc *ClientConn) handOver(resp *Response) error {
	if cc.stopWatch != nil && !cc.stopWatch() {
		cc.stopWatch = nil
		cc.broken = true
		return net.ErrClosed // explained by the context
	}
	cc.stopWatch = nil
	cc.nc.SetDeadline(time.Time{})
	s := &upgradedStream{leave: cc.owner.pool.Leave}
	s.Conn = cc.nc
	s.Rest = append(s.Rest, cc.unread()...)
	bufpool.Put(cc.buf)
	cc.buf, cc.r, cc.ctx = nil, 0, nil
	resp.setStream(s, -1)
	return nil
}

// Close closes the connection.
func (s *upgradedStream) Close() error {
	defer s.closed.Do(s.leave)
	return s.Conn.Close()
}

// ReadFrom implements io.ReaderFrom.
func (s *upgradedStream) ReadFrom(r io.Reader) (int64, error) { return io.Copy(s.Conn, r) }

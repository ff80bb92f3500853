package gallop

import (
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/message"
)

// bodyTooLarge reports whether the body is announced with more bytes than it may have.
func (x *exchange) bodyTooLarge() bool {
	return (x.body.kind == message.Fixed || x.body.kind == message.UntilClose) && x.body.left > x.maxBody && !x.streams
}

// bodyBudget is how long a client may have taken for got bytes, at rate bytes a second.
// It does not overflow, whatever they are.
func bodyBudget(got, rate int64) time.Duration {
	seconds := min(got/rate, int64(math.MaxInt64/time.Second)/2)
	rest := min(got%rate, int64(math.MaxInt64/time.Second))
	return bodyRateGrace + time.Duration(seconds)*time.Second + time.Duration(rest)*time.Second/time.Duration(rate)
}

// emptyBody is a body that was announced and of which nothing comes.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

// bodyHandle is the body as a handler sees it, an io.Reader. One that is kept for
// too long reads nothing: it is cut off when its request ends.
type bodyHandle struct {
	mu    sync.Mutex
	body  *requestBody // nil once the request has ended
	rest  []byte       // read, and not yet handed out
	whole int64        // how many bytes the body may have to be read whole
	cut   atomic.Bool  // who reads is to stop

	shown atomic.Bool // the handler has it, and may have left it to others
}

// Read reads from the body. At its end, the error is io.EOF, over HTTP/2 maybe together with the last bytes.
func (h *bodyHandle) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.body
	if b == nil {
		return 0, ErrBodyClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	var err error
	if n == 0 {
		if n, h.rest, err = b.readInto(p); n == 0 && err != nil {
			return 0, err
		}
	}
	h.noteEnd()
	return n, err
}

// WriteTo reads a body in pieces of these sizes, in bytes: small ones while it waits for a slow client, so that many slow uploads
// need little memory, and large ones while data arrives quickly, because that takes fewer system calls.
const (
	smallPiece = 8 << 10
	largePiece = 64 << 10
)

// WriteTo implements io.WriterTo. io.Copy calls it.
func (h *bodyHandle) WriteTo(w io.Writer) (written int64, err error) {
	buf := bufpool.Get(smallPiece)
	defer func() { bufpool.Put(buf) }()
	for {
		n, err := h.Read(buf[:cap(buf)])
		if n > 0 {
			m, err := w.Write(buf[:n])
			if written += int64(m); err != nil {
				return written, err
			}
			if m < n {
				return written, io.ErrShortWrite
			}
		}
		switch {
		case err == io.EOF:
			return written, nil
		case err != nil:
			return written, err
		case n == cap(buf) && n < largePiece:
			bufpool.Put(buf)
			buf = bufpool.Get(largePiece)
		case n < smallPiece && cap(buf) > smallPiece:
			bufpool.Put(buf)
			buf = bufpool.Get(smallPiece)
		}
	}
}

// noteEnd lets the connection be watched when the body has been read to its end.
func (h *bodyHandle) noteEnd() {
	if b := h.body; len(h.rest) == 0 && b.ended() {
		b.x.bodyRead()
	}
}

func (h *bodyHandle) readAll(dst []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.body == nil {
		return dst, ErrBodyClosed
	}
	dst = append(dst, h.rest...)
	h.rest = nil
	dst, err := h.body.readAll(dst)
	if err == nil {
		h.noteEnd()
	}
	return dst, err
}

// show implements bodySource.
func (h *bodyHandle) show() { h.shown.Store(true) }

// limit implements bodySource.
func (h *bodyHandle) limit() int64 { return h.whole }

// sever cuts the handle off. A Read that waits for the client is interrupted. It returns what was not handed out.
func (h *bodyHandle) sever(x *exchange) (rest []byte) {
	h.cut.Store(true)
	if x.h2 != nil {
		x.h2.cutReading()
		h.mu.Lock()
	} else if !h.mu.TryLock() {
		c := x.wire
		c.close = true
		past := time.Unix(1, 0)
		// A Read may be setting a deadline right now. It checks cut afterwards and then fails.
		c.NC.SetReadDeadline(past)
		h.mu.Lock()
		// A Read that ended nevertheless may have begun to watch the connection, without a deadline.
		c.NC.SetReadDeadline(past)
		c.Input.Deadline = past
	}
	rest, h.body, h.rest = h.rest, nil, nil
	h.mu.Unlock()
	return rest
}

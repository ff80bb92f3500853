package h2client

import (
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

// Head is the head of a request.
type Head interface {
	// AppendTo appends the pseudo-fields and then the fields of the request. It runs under the lock of a connection, so it must
	// not call functions of the program.
	AppendTo(e *hpack.Encoder, dst []byte) []byte
}

// Request is what Open sends, and what the call does with the response.
type Request struct {
	Method message.Method
	Head   Head

	// Body is the request body, unless Streams is set. It must not change before the call is closed.
	Body     []byte
	Trailers *field.List // after Body; nil without any
	Holds    bool        // Body is sent when SendBody is called
	Streams  bool        // the body is what Write and End send

	// Collects has the response body collected, up to MaxBody bytes, instead of waiting for Read.
	Collects  bool
	MaxBody   int64
	WantsHead bool // Wait returns the head when it has arrived, and not when the body is complete

	Deadline   time.Time     // of the whole call; zero: none
	ReadLimit  time.Duration // from the time at which the request was sent to the end of the response; 0: none
	WriteLimit time.Duration // until the request was sent; 0: none
}

// Call is a request and its response. Open returns it. Close must be called once it is not needed, and no method afterwards.
//
//	Open ──▶ Wait ──▶ Head, Body            (if the body is collected)
//	    │         └─▶ Head, Read …, Trailers (if not)
//	    └──▶ Write …, End                    (if the request body streams; on another goroutine)
type Call struct {
	c     *Conn
	next  *Call // in Conn.free
	id    uint32
	slot  int
	start int64 // number of bytes on the connection before the request
	size  int64 // of the head of the request on the connection
	began int64

	poke  func() // made once
	timer *time.Timer

	// The lock of c guards everything below. The goroutine that has called Wait may read msg after it.
	change   sync.Cond
	msg      http2.Message
	interims []http2.Message
	trailers field.List
	body     []byte // bytes of the response body that were not read
	read     int    // bytes at the start of body that were read
	maxBody  int64

	gotHead     bool
	ended       bool // the response is complete
	err         error
	interrupted bool
	collects    bool
	wantsHead   bool

	rest     []byte // bytes of the request body that wait for a window
	restEnds bool
	restTail *field.List
	held     []byte // the request body until SendBody
	cutWrite bool   // nothing more of the request is sent
	sent     bool   // the request was sent

	deadline, writeBy, readBy time.Time
	readLimit                 time.Duration
}

// Open sends a request. An error means that nothing was sent.
func (c *Conn) Open(r *Request) (*Call, error) {
	c.mu.Lock()
	if err := c.wake(); err != nil {
		c.unlock()
		return nil, &LostError{Err: err, Unprocessed: true}
	}
	id, slot, ok := c.engine.Open(r.Method)
	if !ok {
		c.updateRoom()
		c.unlock()
		return nil, ErrNoRoom
	}
	call := c.newCall(r, id, slot)
	dst, e, _ := c.engine.BeginHead(id)
	dst = r.Head.AppendTo(e, dst)
	whole := !r.Streams && len(r.Body) == 0 && r.Trailers == nil
	c.engine.EndHead(id, dst, true, whole)
	call.size = c.handed + int64(len(c.engine.Out())) - call.start
	switch {
	case whole:
		call.wasSent()
	case r.Holds:
		call.held, call.restTail = r.Body, r.Trailers
	case !r.Streams:
		call.appendBody(r.Body, r.Trailers)
	}
	c.flush(true) // unlocks
	return call, nil
}

// newCall returns a call on a new stream. c is locked.
func (c *Conn) newCall(r *Request, id uint32, slot int) *Call {
	call := c.free
	if call == nil {
		call = &Call{c: c}
		call.change.L = &c.mu
		call.msg.Head = new(message.Head)
		call.poke = call.look
	} else {
		c.free, call.next = call.next, nil
	}
	for len(c.calls) <= slot {
		c.calls = append(c.calls, nil)
	}
	c.calls[slot] = call
	if c.held++; c.held == 1 && c.opts.PingAfter > 0 {
		c.times.quiet = now()
	}
	call.id, call.slot = id, slot
	call.start = c.handed + int64(len(c.engine.Out()))
	call.collects, call.maxBody, call.wantsHead = r.Collects, r.MaxBody, r.WantsHead
	call.deadline, call.readLimit = r.Deadline, r.ReadLimit
	if !r.Deadline.IsZero() || r.ReadLimit > 0 || r.WriteLimit > 0 {
		call.began = now()
		call.writeBy = clock.After(time.Now(), r.WriteLimit)
	}
	return call
}

// Progress is what Wait returns.
type Progress int

// The kinds of progress.
const (
	GotInterim  Progress = iota // an interim response has arrived; TakeInterim returns it
	GotHead                     // the head has arrived; only with Request.WantsHead
	GotResponse                 // the response is complete
	TimedOut                    // Wait has waited until the given time
)

// Wait waits for progress of the response, until the given time unless that is zero. After GotHead, the next Wait waits for the
// whole response. A complete response counts even if the call was interrupted meanwhile.
func (call *Call) Wait(until time.Time) (Progress, error) {
	c := call.c
	c.mu.Lock()
	defer c.unlock()
	for {
		switch {
		case len(call.interims) > 0:
			return GotInterim, nil
		case call.gotHead && call.wantsHead: // even if the stream was reset meanwhile
			call.wantsHead = false
			return GotHead, nil
		case call.err != nil:
			return 0, call.err
		case call.ended:
			return GotResponse, nil
		case !until.IsZero() && !time.Now().Before(until):
			return TimedOut, nil
		}
		if err := call.await(until); err != nil {
			return 0, err
		}
	}
}

// await waits for a change, or until the given time unless that is zero. It returns an error if the call must not wait any longer.
// The lock of c is held.
func (call *Call) await(until time.Time) error {
	if call.interrupted {
		return ErrInterrupted
	}
	by := call.limit()
	if !by.IsZero() && !time.Now().Before(by) {
		call.c.suspect(call.began)
		return ErrDeadline
	}
	if by = clock.Earlier(by, until); !by.IsZero() {
		left := time.Until(by)
		if call.timer == nil {
			call.timer = time.AfterFunc(left, call.poke)
		} else {
			call.timer.Reset(left)
		}
	}
	call.change.Wait()
	return nil
}

// limit returns until when the call may wait, or the zero time. The lock of c is held.
func (call *Call) limit() time.Time {
	if call.sent {
		return clock.Earlier(call.deadline, call.readBy)
	}
	return clock.Earlier(call.deadline, call.writeBy)
}

// Unlimit removes the time limits of the call.
func (call *Call) Unlimit() {
	call.c.mu.Lock()
	defer call.c.unlock()
	call.deadline, call.writeBy, call.readBy, call.readLimit = time.Time{}, time.Time{}, time.Time{}, 0
}

// WasSent reports whether all of the request was sent.
func (call *Call) WasSent() bool {
	call.c.mu.Lock()
	defer call.c.unlock()
	return call.sent
}

// HasHead reports whether the head of the response has arrived.
func (call *Call) HasHead() bool {
	call.c.mu.Lock()
	defer call.c.unlock()
	return call.gotHead
}

// look has waiting goroutines look at the call again.
func (call *Call) look() {
	call.c.mu.Lock()
	call.change.Broadcast()
	call.c.unlock()
}

// Interrupt makes methods that wait return ErrInterrupted.
func (call *Call) Interrupt() {
	call.c.mu.Lock()
	call.interrupted = true
	call.change.Broadcast()
	call.c.unlock()
}

// Head returns the head of the response. It is valid until the call is closed.
func (call *Call) Head() *message.Head { return call.msg.Head }

// TakeInterim returns the oldest interim response that was not taken. It is valid forever.
func (call *Call) TakeInterim() *message.Head {
	call.c.mu.Lock()
	defer call.c.unlock()
	m := &call.interims[0]
	call.interims = call.interims[1:]
	return m.Head
}

// HasEnded reports whether the response is complete, and all of its body was read.
func (call *Call) HasEnded() bool {
	call.c.mu.Lock()
	defer call.c.unlock()
	return call.ended && call.read == len(call.body)
}

// Close ends the call. Unless the call is complete in both directions, Close resets its stream. It reports whether the connection
// can carry other calls. reuses means that no other goroutine has the call any more.
func (call *Call) Close(reuses bool) (works bool) {
	c := call.c
	c.mu.Lock()
	if call.timer != nil {
		call.timer.Stop()
	}
	call.rest, call.cutWrite = nil, true
	c.engine.Release(call.id)
	c.calls[call.slot] = nil
	bufpool.Release(&call.body)
	if reuses {
		call.recycle()
	}
	if c.held--; c.held == 0 {
		c.settle()
	}
	works = c.failed == nil
	c.flush(false) // unlocks
	return works
}

// keptHead is how large the bytes of a head may be that a call keeps for the next one.
const keptHead = 8 << 10

// recycle keeps the call for another request. The lock of c is held.
func (call *Call) recycle() {
	c := call.c
	if cap(call.msg.Buf) > keptHead {
		bufpool.Release(&call.msg.Buf)
	}
	if call.trailers.Len() > 0 {
		call.trailers.Reset()
	}
	call.interims, call.read = nil, 0
	call.gotHead, call.ended, call.err, call.interrupted = false, false, nil, false
	call.restEnds, call.restTail, call.held, call.cutWrite, call.sent = false, nil, nil, false, false
	call.deadline, call.writeBy, call.readBy = time.Time{}, time.Time{}, time.Time{}
	call.next, c.free = c.free, call
}

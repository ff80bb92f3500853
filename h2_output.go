package gallop

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
)

// Responses gather in the engine's output. On a loop, the goroutine that has appended a response pushes what the socket
// accepts. The loop has the connection served when there is room for more. On goroutines, another goroutine writes.

// borrow sees to it that the engine has a buffer for its output. c is locked.
func (c *h2Conn) borrow() {
	if !c.lent {
		c.lent = true
		c.engine.LendOut(bufpool.Get(c.srv.set.WriteBuf))
	}
}

// returnOut takes the buffer of the output back, which is empty. c is locked.
func (c *h2Conn) returnOut() {
	if c.lent {
		c.lent = false
		bufpool.Put(c.engine.LendOut(nil))
	}
}

// isUnsent reports whether there is output. c is locked.
func (c *h2Conn) isUnsent() bool {
	return len(c.engine.Out()) > 0 || c.lc != nil && c.pusher.Unsent() > 0
}

// isBroken reports whether nothing can be sent.
func (c *h2Conn) isBroken() bool {
	c.mu.Lock()
	defer c.unlock()
	return c.broken
}

// flush sends what can be sent without waiting. c is locked.
func (c *h2Conn) flush() {
	c.sendRests()
	switch {
	case c.broken || c.over:
		c.engine.Sent(len(c.engine.Out()))
	case c.lc == nil:
		if len(c.engine.Out()) > 0 && !c.flushing {
			c.flushing = true
			go c.write()
		}
		return
	default:
		c.push()
	}
	if len(c.engine.Out()) == 0 {
		c.returnOut()
	}
}

// flushSoon is flush for handlers off the loop. On a busy connection, it lets the handlers of other streams append their output first,
// and one of them sends for all. If the last write was long ago, other goroutines need the processor for longer, so flushSoon does
// not wait for them. c is locked, but not meanwhile.
func (c *h2Conn) flushSoon() {
	if c.lc != nil && c.inBurst() {
		if c.yielding {
			return
		}
		c.yielding = true
		c.unlock()
		runtime.Gosched()
		c.mu.Lock()
		c.yielding = false
	}
	c.flush()
}

// inBurst reports whether handlers of other streams are likely to append output soon. c is locked.
func (c *h2Conn) inBurst() bool {
	return c.held > 1 && h2Now()-c.times.progress < int64(h2Burst)
}

// h2Burst is how soon one write follows another on a busy connection.
const h2Burst = time.Millisecond

// push sends what the socket of a loop's connection accepts. c is locked.
func (c *h2Conn) push() {
	for {
		out, before := c.engine.OutPiece(), c.pusher.Unsent()
		n, err := c.pusher.Push(out)
		c.sent(n, err)
		if before > 0 && c.pusher.Unsent() < before {
			c.times.progress = h2Now()
		}
		if n < len(out) || n == 0 || err != nil || !c.sendRests() && len(c.engine.Out()) == 0 {
			break
		}
	}
	c.watchTime()
}

// write writes all output of a connection that a goroutine serves. In a burst, it lets handlers append theirs first.
func (c *h2Conn) write() {
	c.mu.Lock()
	defer c.unlock()
	if c.inBurst() {
		c.unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	buf := bufpool.Get(4 << 10)
	for !c.broken {
		c.sendRests()
		out := c.engine.OutPiece()
		if len(out) == 0 {
			break
		}
		buf = append(bufpool.Grow(buf[:0], len(out)), out...)
		c.sent(len(buf), nil)
		c.unlock()
		err := c.seat.Output.Write(buf)
		if err == nil {
			err = c.seat.Output.Flush()
		}
		c.mu.Lock()
		if clock.IsTimeout(err) {
			c.fail(errNoProgress)
		}
		c.sent(0, err)
	}
	bufpool.Put(buf)
	c.flushing = false
	c.changed()
	if c.held == 0 {
		c.wake()
	}
}

// sent notes that n bytes of the output were written. c is locked.
func (c *h2Conn) sent(n int, err error) {
	c.engine.Sent(n)
	if n > 0 {
		c.times.progress = h2Now()
		c.srv.conns.Counts[c.id%uint64(len(c.srv.conns.Counts))].Written.Add(int64(n))
	}
	if err != nil && !c.broken {
		c.broken = true
		if c.failed == nil {
			c.failed = err
		}
		c.loseStreams(err)
		c.engine.Sent(len(c.engine.Out()))
		c.wake()
	}
	c.changed()
}

// awaitFlush waits until all output of a connection is sent that is about to be closed.
func (c *h2Conn) awaitFlush() {
	c.mu.Lock()
	defer c.unlock()
	for c.flushing {
		c.room.Wait()
	}
	wasBroken := c.broken
	c.broken = true // nothing follows
	if rest := c.engine.Out(); len(rest) > 0 && c.lc != nil && !wasBroken {
		last := append(bufpool.Get(len(rest)), rest...)
		c.engine.Sent(len(rest))
		c.unlock()
		_ = c.lc.SetWriteDeadline(time.Now().Add(h2FarewellTime))
		_, _ = c.seat.NC.Write(last)
		bufpool.Put(last)
		c.mu.Lock()
	}
}

// h2FarewellTime is how long the end of a connection waits for its client to accept the last frames.
const h2FarewellTime = time.Second

// sendRests appends frames of responses that waited for windows. It reports whether there were some. c is locked.
func (c *h2Conn) sendRests() (some bool) {
	for {
		_, slot, ok := c.engine.NextWriter()
		if !ok {
			return some
		}
		some = true
		c.streams[slot].sendRest()
	}
}

// sendRest appends a frame of a response that waited. The lock of c is held.
func (st *h2Stream) sendRest() {
	c := st.c
	c.borrow()
	n, ok := c.engine.WriteData(st.id, st.rest, st.restEnds, h2Now())
	if st.rest = st.rest[n:]; !ok {
		st.rest = nil
	}
	if len(st.rest) > 0 {
		return
	}
	if st.restTail != nil {
		c.engine.WriteTrailers(st.id, st.restTail)
		st.restTail = nil
	}
	if st.handled {
		st.close()
	} else {
		st.change.Broadcast()
	}
}

// append appends p to the output as part of the body. If it does not fit, the stream keeps the rest. The lock of c is held.
func (st *h2Stream) append(p []byte, end bool, tail *field.List) {
	n, ok := st.c.engine.WriteData(st.id, p, end, h2Now())
	switch {
	case !ok:
	case n < len(p):
		st.rest, st.restEnds, st.restTail = p[n:], end, tail
	case tail != nil:
		st.c.engine.WriteTrailers(st.id, tail)
	}
}

// gatheredOutput is how many bytes of a streamed body are gathered before they are sent.
const gatheredOutput = 16 << 10

// write sends p as part of the body, and waits until all of it is on its way.
func (st *h2Stream) write(p []byte) error {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if err := st.mayWrite(); err != nil {
		return err
	}
	c.borrow()
	st.writeLate()
	if st.append(p, false, nil); len(st.rest) > 0 || len(c.engine.Out()) >= gatheredOutput {
		c.flush()
	}
	var again time.Time // when a client that seems to open no window has opened none
	for len(st.rest) > 0 {
		by := st.writeDeadline()
		if now := time.Now(); !by.IsZero() && !now.Before(by) {
			switch {
			case st.writeBy.Load() != nil, !now.Before(again) && c.isLate(&st.stalls, true):
				st.err = os.ErrDeadlineExceeded
			case !now.Before(again):
				again = now.Add(h2Tick)
			}
			by = again
		} else {
			st.stalls = 0
		}
		if err := st.mayWrite(); err != nil {
			st.rest = nil
			return err
		}
		st.wait(by)
	}
	return st.mayWrite()
}

// mayWrite returns why nothing can be written, or nil. The lock of c is held.
func (st *h2Stream) mayWrite() error {
	if st.cutWrite {
		return context.DeadlineExceeded
	}
	if st.err == nil && st.isLate() {
		return os.ErrDeadlineExceeded
	}
	return st.err
}

// isLate reports whether the time for the response is over.
func (st *h2Stream) isLate() bool {
	by := st.writeBy.Load()
	return by != nil && !by.IsZero() && !time.Now().Before(*by)
}

// writeError is mayWrite for callers that do not have the lock.
func (st *h2Stream) writeError() error {
	st.c.mu.Lock()
	defer st.c.unlock()
	return st.mayWrite()
}

// flush sends what was written.
func (st *h2Stream) flush() error {
	st.c.mu.Lock()
	defer st.c.unlock()
	st.c.borrow()
	st.writeLate()
	if st.onLoop {
		st.c.flush()
	} else {
		st.c.flushSoon()
	}
	return st.mayWrite()
}

// endBody ends the stream, with trailers if there are any. trailers may be nil.
func (st *h2Stream) endBody(trailers *field.List) error {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if err := st.mayWrite(); err != nil {
		return err
	}
	c.borrow()
	st.writeLate()
	if trailers != nil && trailers.Len() > 0 {
		c.engine.WriteTrailers(st.id, trailers)
	} else {
		c.engine.WriteData(st.id, nil, true, h2Now())
	}
	return nil
}

// cutWriting makes writes fail.
func (st *h2Stream) cutWriting() {
	st.c.mu.Lock()
	defer st.c.unlock()
	st.cutWrite = true
	st.change.Broadcast()
}

// limitWriting gives the response the time that it has.
func (st *h2Stream) limitWriting() {
	if d := st.x.writeLimit; d > 0 && st.writeBy.Load() == nil {
		at := time.Now().Add(d)
		st.writeBy.Store(&at)
	}
}

// writeDeadline returns until when a write waits for the client, or the zero time. The lock of c is held.
func (st *h2Stream) writeDeadline() time.Time {
	if by := st.writeBy.Load(); by != nil {
		return *by
	}
	set := &st.x.server.set
	if by := st.windowDeadline(set); by > 0 {
		return h2Epoch.Add(time.Duration(by))
	}
	return clock.After(time.Now(), set.Progress) // to look again
}

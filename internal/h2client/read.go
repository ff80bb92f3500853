package h2client

import (
	"errors"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

// readSize is the size of the buffer of the reading goroutine.
const readSize = 32 << 10

// read reads until the connection ends, or has been idle for some time.
func (c *Conn) read() {
	c.mu.Lock()
	buf := append(bufpool.Get(readSize), c.in...)
	bufpool.Release(&c.in)
	c.unlock()
	for {
		n, err := c.nc.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		c.mu.Lock()
		if n > 0 {
			c.times.heard()
			buf = c.feed(buf)
		}
		switch {
		case err == nil:
		case c.broken != nil:
			c.fail(c.broken)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			c.fail(err)
		}
		if c.failed != nil || err != nil && c.retiring {
			break
		}
		c.flush(false) // unlocks
	}
	c.stopReading(buf)
}

// stopReading ends the reading goroutine. c is locked.
func (c *Conn) stopReading(buf []byte) {
	c.reading, c.spare = false, http2.Message{}
	if c.failed == nil {
		c.retiring = false
		_ = c.nc.SetReadDeadline(time.Time{})
		if len(buf) > 0 {
			c.in = append(bufpool.Get(len(buf)), buf...)
		}
		bufpool.Put(buf)
		c.unlock()
		return
	}
	bufpool.Put(buf)
	c.flush(false) // unlocks
	c.endFailed(true)
}

// feed takes the frames in buf, and returns what is left of it, with room for more. c is locked.
func (c *Conn) feed(buf []byte) []byte {
	need := 0
	for p := buf; ; {
		ev, n := c.engine.Next(p, &c.spare, c.times.last)
		p = p[n:]
		switch {
		case ev.Kind == http2.Full:
			if !c.awaitDrain() {
				return buf[:0]
			}
			continue
		case ev.Kind == http2.More:
			need = ev.Need
		case ev.Kind == http2.Failed:
			c.failEngine(ev.Err)
			return buf[:0]
		default:
			c.take(&ev)
			continue
		}
		buf = buf[:copy(buf, p)]
		break
	}
	if need > cap(buf) {
		buf = bufpool.Grow(buf, need-len(buf))
	}
	return buf
}

// awaitDrain waits until some output was written. It reports whether the connection still works. c is locked.
func (c *Conn) awaitDrain() bool {
	c.flush(false) // unlocks
	c.mu.Lock()
	for c.engine.IsFull() && c.failed == nil {
		c.drained.Wait()
	}
	return c.failed == nil
}

// take does what an event means. c is locked.
func (c *Conn) take(ev *http2.Event) {
	switch ev.Kind {
	case http2.Head:
		call := c.calls[ev.Slot]
		c.spare, call.msg = call.msg, c.spare
		call.takeHead(ev)
	case http2.Interim:
		call := c.calls[ev.Slot]
		call.interims = append(call.interims, c.spare)
		c.spare = http2.Message{Head: new(message.Head)}
		call.change.Broadcast()
	case http2.Data:
		c.calls[ev.Slot].takeData(ev.Data, ev.End)
	case http2.Trailers:
		c.calls[ev.Slot].takeTrailers(&c.spare.Head.Fields, ev.Excess)
	case http2.Reset:
		if ev.Err != nil {
			c.count(ev.Err.Type())
		}
		c.calls[ev.Slot].takeReset(&ResetError{ev.Code, ev.Err})
	case http2.Rejected:
		c.count(ev.Err.Type())
	case http2.SettingsChanged:
		c.updateRoom()
	case http2.GoingAway:
		c.goAway(ev.Stream, ev.Code)
	}
}

// goAway ends the calls whose streams the server does not accept. c is locked.
func (c *Conn) goAway(last uint32, code http2.Code) {
	for _, call := range c.calls {
		if call != nil && call.id > last {
			call.lost(&GoAwayError{code})
		}
	}
	c.updateRoom()
}

// takeHead takes the head of the final response. The lock of c is held.
func (call *Call) takeHead(ev *http2.Event) {
	call.gotHead = true
	head := call.msg.Head
	switch {
	case ev.Excess != nil:
		call.stop(&ExcessError{ev.Excess})
	case call.collects && head.Body == message.Fixed && head.Length > call.maxBody:
		call.stop(ErrTooLarge)
	case ev.End:
		call.end()
		return
	case call.collects && head.Body == message.Fixed:
		call.c.engine.GrowWindow(call.id, uint32(min(head.Length, mostWindow)))
		call.body = bufpool.Grow(call.body, int(min(head.Length, firstBody)))
	}
	if call.wantsHead || call.err != nil {
		call.change.Broadcast()
	}
}

const (
	// mostWindow is how large the window of a stream becomes at most for a body that is collected.
	mostWindow = 4 << 20

	// firstBody is how much memory a collected body gets at most before its bytes arrive.
	firstBody = 16 << 10
)

// takeData takes bytes of the body. The lock of c is held.
func (call *Call) takeData(p []byte, end bool) {
	switch {
	case len(p) == 0:
	case call.err != nil:
		call.c.engine.Consumed(call.id, len(p))
	case call.collects && int64(len(p)) > call.maxBody-int64(len(call.body)):
		call.stop(ErrTooLarge)
		call.change.Broadcast()
	default:
		if call.read > 0 && len(p) > cap(call.body)-len(call.body) {
			call.body = call.body[:copy(call.body, call.body[call.read:])]
			call.read = 0
		}
		call.body = append(bufpool.Grow(call.body, len(p)), p...)
		if call.collects {
			call.c.engine.Consumed(call.id, len(p))
		} else {
			call.change.Broadcast()
		}
	}
	if end {
		call.end()
	}
}

// takeTrailers takes the trailers of the response, which end it. The lock of c is held.
func (call *Call) takeTrailers(from *field.List, excess error) {
	if excess != nil {
		call.stop(&ExcessError{excess})
	}
	from.CopyTo(&call.trailers)
	call.end()
}

// takeReset notes that the stream was reset. After a complete response, that concerns only the request. The lock of c is held.
func (call *Call) takeReset(err *ResetError) {
	call.rest, call.cutWrite = nil, true
	if !call.ended && call.err == nil {
		call.err = err
	}
	call.change.Broadcast()
}

// lost notes that the connection has ended, or does not accept the call. The lock of c is held.
func (call *Call) lost(err error) {
	call.rest, call.cutWrite = nil, true
	if !call.ended && call.err == nil {
		c := call.c
		written := max(0, min(c.reached()-call.start, call.size))
		call.err = &LostError{Err: err, Unprocessed: c.engine.IsUnprocessed(call.id) || written == 0, Written: written}
	}
	call.change.Broadcast()
}

// stop resets the stream of a response that cannot be used. The lock of c is held.
func (call *Call) stop(err error) {
	call.wantsHead = false // Wait returns err
	if call.err == nil {
		call.err = err
	}
	call.rest, call.cutWrite = nil, true
	call.c.engine.Reset(call.id, http2.Cancel)
}

// end notes that the response is complete. The lock of c is held.
func (call *Call) end() {
	call.ended = true
	call.change.Broadcast()
}

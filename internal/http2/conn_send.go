package http2

import (
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
)

// BeginHead starts the header block of a response on a stream, or of a request after Open. The caller appends the pseudo-fields and
// then the fields to dst with the functions of package hpack and the Encoder. It then calls EndHead, with no other call in between. ok is
// false if the stream may not send, or the connection has failed.
func (c *Conn) BeginHead(id uint32) (dst []byte, e *hpack.Encoder, ok bool) {
	slot := c.streams.find(id)
	if slot == noSlot || !c.streams.slots[slot].state.maySend() || c.failed != nil {
		return nil, nil, false
	}
	return c.enc.Begin(reserveHeader(c.out.buf)), &c.enc, true
}

// EndHead ends a block that BeginHead started. isFinal is false for interim responses. end ends the stream.
func (c *Conn) EndHead(id uint32, dst []byte, isFinal, end bool) {
	slot := c.streams.find(id)
	c.out.buf = appendBlock(dst, len(c.out.buf), id, end, int(c.peer.MaxFrameSize))
	if isFinal {
		c.streams.slots[slot].sentHead = true
	}
	if end {
		c.sendEnd(slot)
	}
}

// Respond sends the head of a response. A status below 200 is an interim response. end ends the stream. Fields that HTTP/2 forbids
// are left out. Respond reports false if the stream may not send, or has a final head.
func (c *Conn) Respond(id uint32, status int, fields *field.List, end bool) bool {
	slot := c.streams.find(id)
	if slot == noSlot || !c.streams.slots[slot].state.maySend() || c.streams.slots[slot].sentHead || c.failed != nil {
		return false
	}
	dst := appendResponse(&c.enc, reserveHeader(c.out.buf), status, fields)
	c.EndHead(id, dst, status >= 200, end)
	return true
}

// WriteTrailers sends trailers, which end the stream. It reports false if the stream may not send, or has no final head.
func (c *Conn) WriteTrailers(id uint32, fields *field.List) bool {
	slot := c.streams.find(id)
	if slot == noSlot || !c.streams.slots[slot].state.maySend() || !c.streams.slots[slot].sentHead || c.failed != nil {
		return false
	}
	dst, e, _ := c.BeginHead(id)
	c.EndHead(id, appendFields(e, dst, fields, true), true, true)
	return true
}

// CanOpen reports whether a client may open a stream.
func (c *Conn) CanOpen() bool {
	limit := c.MaxOpen()
	return c.Streams() < limit && c.Held() < 2*limit
}

// unsureStreams is how many streams a client opens at most before it knows the server's settings.
const unsureStreams = 100

// Request opens a stream and sends the head of a request. end ends this side of the stream. ok is false if CanOpen is.
func (c *Conn) Request(line *RequestLine, fields *field.List, end bool) (id uint32, slot int, ok bool) {
	if id, slot, ok = c.Open(message.MethodOf(line.Method)); !ok {
		return 0, noSlot, false
	}
	dst := appendRequest(&c.enc, reserveHeader(c.out.buf), line, fields)
	c.EndHead(id, dst, true, end)
	return id, slot, true
}

// Open opens a stream for a request with this method. The caller then sends the head of the request with BeginHead and EndHead,
// with no other call before them. ok is false if CanOpen is.
func (c *Conn) Open(method message.Method) (id uint32, slot int, ok bool) {
	if !c.CanOpen() {
		return 0, noSlot, false
	}
	id = c.closed.highest + 2
	if c.closed.highest == 0 {
		id = 1
	}
	c.closed.use(id)
	slot = c.open(id)
	st := &c.streams.slots[slot]
	st.isBodiless, st.isConnect = method == message.HeadMethod, method == message.Connect
	return id, slot, true
}

// MaxOpen returns how many streams a client may have open at the same time. It is 0 if the client may open no further stream,
// whatever happens to the open ones.
func (c *Conn) MaxOpen() int {
	if c.cfg.Role != Client || c.failed != nil || c.peerGone || c.shutdown != serving || c.closed.highest >= maxStreamID-1 {
		return 0
	}
	limit := min(c.peer.MaxConcurrentStreams, c.cfg.MaxConcurrentStreams, 1<<14)
	if !c.gotSettings {
		limit = min(limit, unsureStreams)
	}
	return int(limit)
}

// WriteData sends the start of p as one DATA frame, and returns its length. end ends the stream, if all of p was sent.
//
// If bytes remain, the stream waits: for its window, for the connection's window, for its turn, or until the output was
// written. NextWriter returns it when it may send again. The time now is for AwaitsWindow. The result ok is false if the stream may
// not send any more, or has no final head.
func (c *Conn) WriteData(id uint32, p []byte, end bool, now int64) (n int, ok bool) {
	slot := c.streams.find(id)
	if slot == noSlot || !c.streams.slots[slot].state.maySend() || !c.streams.slots[slot].sentHead || c.failed != nil {
		return 0, false
	}
	st := &c.streams.slots[slot]
	n = max(0, min(len(p), int(c.peer.MaxFrameSize), c.cfg.MaxSendFrame, int(st.send), int(c.send), maxData-c.out.unsent()))
	whole := n == len(p)
	if n > 0 || whole && end {
		c.out.makeRoom(headerLen+n, len(p)-n)
		c.out.buf = appendData(c.out.buf, id, p[:n], whole && end)
		st.send -= sendWindow(n)
		c.send -= sendWindow(n)
		st.progress.sent(n, now)
		c.sentData = uint32(now / 1e9)
		c.permitUpdates(updatesPerData + n/bytesPerUpdate)
		if n >= tinyFrame {
			c.abuse.put(controlFrames, 1)
			c.abuse.put(tinyWindows, 1)
		}
	}
	if !whole {
		c.wait(slot, n, now)
	} else if end {
		c.sendEnd(slot)
	} else if st.waiting != forCaller {
		c.stopWaiting(slot)
	}
	return n, true
}

// wait makes a stream wait that has sent n bytes and has more to send.
func (c *Conn) wait(slot, n int, now int64) {
	st := &c.streams.slots[slot]
	if st.waiting == forCaller {
		st.progress.at = now
	}
	switch {
	case st.send <= 0:
		c.stopWaiting(slot)
		st.waiting = forWindow
	case st.waiting == forTurn:
		c.sched.sent(&c.streams, slot)
	default:
		c.sched.add(&c.streams, slot)
	}
	if n > 0 && n < tinyFrame && (st.send <= 0 || c.send <= 0) {
		if err := c.abuse.take(tinyWindows, 1); err != nil {
			c.Fail(err)
		}
	}
}

func (c *Conn) stopWaiting(slot int) {
	st := &c.streams.slots[slot]
	if st.waiting == forTurn {
		c.sched.remove(&c.streams, slot)
	}
	st.waiting = forCaller
}

// NextWriter returns the stream whose turn it is to call WriteData. ok is false if no stream may send, or if the output is full. Call
// it after Writable and SettingsChanged events, and after Sent, until ok is false.
func (c *Conn) NextWriter() (id uint32, slot int, ok bool) {
	for c.send > 0 && c.out.unsent() < maxData && c.failed == nil {
		slot = c.sched.pick(&c.streams)
		if slot == noSlot {
			break
		}
		st := &c.streams.slots[slot]
		if st.send > 0 {
			return st.id, slot, true
		}
		c.stopWaiting(slot) // the peer has reduced its window
		st.waiting = forWindow
	}
	return 0, noSlot, false
}

// AwaitsWindow reports whether a stream waits for the peer to open a window. It returns since when nothing was sent that the
// window counts, and how many bytes of the window the peer has got without giving credit for them. The window is that of the
// stream, or that of the connection.
//
// The caller resets streams that wait for too long, because otherwise the peer decides how long they use memory
// (CVE-2016-1546). A peer may give credit for a part of its window at a time, so a peer that reads slowly gives credit rarely.
// A stream that waits for its turn is not reported: only the connection shows whether the peer takes the output.
func (c *Conn) AwaitsWindow(id uint32) (since int64, uncredited int, ok bool) {
	slot := c.streams.find(id)
	if slot == noSlot {
		return 0, 0, false
	}
	switch st := &c.streams.slots[slot]; {
	case st.waiting == forWindow:
		return st.progress.at, int(st.progress.uncredited), true
	case st.waiting == forTurn && c.send <= 0:
		return max(st.progress.at, int64(c.sentData)*1e9), defaultWindow - int(c.send), true
	}
	return 0, 0, false
}

// SendWindow returns how many bytes the windows permit a stream to send now.
func (c *Conn) SendWindow(id uint32) int {
	slot := c.streams.find(id)
	if slot == noSlot || !c.streams.slots[slot].state.maySend() {
		return 0
	}
	return max(0, int(min(c.streams.slots[slot].send, c.send)))
}

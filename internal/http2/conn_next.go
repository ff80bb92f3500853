package http2

// Next consumes bytes of the peer from the start of p, up to the next event. It returns the event and the number of bytes that it
// consumed. The caller keeps the other bytes for the next call. If the event is More, the caller calls again with these bytes and
// further ones. If it is Pause, the caller may call again at once.
//
// A Head, Interim or Trailers event has filled m. The caller then passes another Message to the next call, or the same
// one if it has copied the contents. now is the current time in nanoseconds.
func (c *Conn) Next(p []byte, m *Message, now int64) (ev Event, n int) {
	c.abuse.tick(now)
	m.work = 0
	frames := 0
	for ev.Kind == More {
		k, more := c.step(p[n:], m, &ev)
		n += k
		frames++
		if !more {
			break
		}
		if ev.Kind == More && c.cfg.Pauses && n+frames*frameWork+m.work >= pauseAfter {
			ev.Kind = Pause
		}
	}
	ev.Work = n + frames*frameWork + m.work
	return ev, n
}

// The unit of Event.Work is about 5 ns. Bytes of a body take less.
const (
	frameWork  = 32 // without its bytes
	fieldWork  = 3  // of a header block, without its bytes
	pauseAfter = 4 << 10
)

// step consumes a frame, or a part of one. more is false if that needs more bytes, or if the caller has to act first.
func (c *Conn) step(p []byte, m *Message, ev *Event) (n int, more bool) {
	switch {
	case c.failed != nil:
		*ev = Event{Kind: Failed, Err: c.failed, Code: c.failed.Code}
		return len(p), false
	case c.skip > 0:
		n = min(int(c.skip), len(p))
		c.skip -= uint32(n)
		return n, c.skip == 0 || need(ev, 1)
	case c.data.stream != 0:
		n = c.takeData(p, ev)
		return n, c.data.stream == 0 || need(ev, 1)
	case c.out.isFull():
		ev.Kind = Full
		return 0, false
	case int(c.preface) < len(Preface):
		return c.takePreface(p, ev)
	case len(p) < headerLen:
		return 0, need(ev, headerLen)
	}
	h := parseFrameHeader(p)
	err := c.checkHeader(h)
	if err == nil {
		if n = c.needs(h); len(p) < n {
			return 0, need(ev, n)
		}
		err = c.take(h, p[headerLen:n], m, ev)
	} else if !err.Conn {
		n, c.skip = headerLen, h.length
		err = c.failPriority(h.stream, err, ev)
	}
	if err != nil {
		c.Fail(err)
	}
	return n, true
}

// takePreface compares the part of a client's preface that has arrived.
func (c *Conn) takePreface(p []byte, ev *Event) (n int, more bool) {
	rest := Preface[c.preface:]
	n = min(len(p), len(rest))
	if string(p[:n]) != rest[:n] {
		c.Fail(ErrPreface)
		return n, true
	}
	c.preface += uint8(n)
	return n, n == len(rest) || need(ev, 1)
}

// need says that the next step needs n bytes. It returns false.
func need(ev *Event, n int) (more bool) {
	if ev.Kind == More {
		ev.Need = n
	}
	return false
}

// checkHeader checks what can be said about a frame before its payload has arrived. It changes nothing.
func (c *Conn) checkHeader(h frameHeader) *Error {
	switch {
	case h.length > c.own.acked.maxFrameSize: // RFC 9113 §4.2 permits to fail the connection for all types
		return ErrFrameTooLarge
	case !c.gotSettings && (h.typ != typeSettings || h.has(flagAck)):
		return ErrNoSettings
	case c.block.stream != 0 && (h.typ != typeContinuation || h.stream != c.block.stream):
		return ErrBlockInterrupted
	case c.block.stream == 0 && h.typ == typeContinuation:
		return ErrNoBlock
	case h.typ == typePushPromise:
		return ErrPush
	}
	return h.check()
}

// keptDebug is how much debug data of a GOAWAY the caller gets.
const keptDebug = 256

// needs returns how many bytes of a frame must be there at once. The rest of the frame is taken or skipped as it arrives.
func (c *Conn) needs(h frameHeader) int {
	switch {
	case h.typ == typeData && h.has(flagPadded):
		return headerLen + 1
	case h.typ == typeData || !h.typ.isKnown():
		return headerLen
	case h.typ == typeGoAway:
		return headerLen + min(int(h.length), 8+keptDebug)
	}
	return headerLen + int(h.length)
}

// take takes a frame with as much of its payload as needs asks for.
func (c *Conn) take(h frameHeader, payload []byte, m *Message, ev *Event) *Error {
	switch h.typ {
	case typeData:
		return c.beginData(h, payload, ev)
	case typeHeaders:
		return c.takeHeaders(h, payload, m, ev)
	case typeContinuation:
		return c.takeContinuation(h, payload, m, ev)
	case typeWindowUpdate:
		return c.takeWindowUpdate(h.stream, u31(payload), ev)
	case typeRSTStream:
		return c.takeRSTStream(h.stream, Code(u32(payload)), ev)
	}
	c.skip = h.length - uint32(len(payload))
	if err := c.abuse.take(controlFrames, 1); err != nil {
		return err
	}
	switch h.typ {
	case typeSettings:
		return c.takeSettings(h, payload, ev)
	case typePing:
		return c.takePing(h, payload, ev)
	case typeGoAway:
		return c.takeGoAway(parseGoAway(payload), ev)
	case typePriority:
		return c.takePriority(h.stream, u31(payload), ev)
	case typePriorityUpdate:
		return c.takePriorityUpdate(payload)
	}
	return nil // unknown types are ignored
}

// Fail ends the connection: it appends GOAWAY, and nothing is sent after it. The caller may call it with an error of its own, such as
// ErrSettingsTimeout. If the connection has failed before, Fail does nothing.
func (c *Conn) Fail(err *Error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	c.out.buf = appendGoAway(c.out.buf, c.closed.accepted, err.Code, err.Reason)
}

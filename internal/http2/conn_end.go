package http2

// recvEnd notes that the peer has ended its side of a stream.
func (c *Conn) recvEnd(slot int) {
	st := &c.streams.slots[slot]
	c.setState(slot, st.state.afterRecvEnd())
}

// sendEnd notes that this side has ended its side of a stream.
func (c *Conn) sendEnd(slot int) {
	st := &c.streams.slots[slot]
	if c.cfg.Role == Server {
		c.abuse.put(earlyEnds, 1)
	}
	c.setState(slot, st.state.afterSendEnd())
}

// setState changes the state of a stream that is not closed.
func (c *Conn) setState(slot int, s state) {
	st := &c.streams.slots[slot]
	st.state = s
	if !s.maySend() {
		if st.waiting == forTurn {
			c.sched.remove(&c.streams, slot)
		}
		st.waiting = forCaller
	}
	if s == closed {
		c.streams.live--
	}
}

// closeStream closes a stream that is reset.
func (c *Conn) closeStream(slot int, by resetBy) {
	c.streams.slots[slot].reset = by
	c.setState(slot, closed)
}

func (c *Conn) sendReset(id uint32, code Code) {
	c.out.buf = appendRSTStream(c.out.buf, id, code)
	c.out.noteControl()
}

// failStream resets a stream that is not closed because of an error of the peer. It returns the error if the connection has
// to fail: if the server is at work for the stream, or if the peer causes too many resets.
func (c *Conn) failStream(id uint32, err *Error, ev *Event) *Error {
	slot := c.streams.find(id)
	st := &c.streams.slots[slot]
	if c.cfg.Role == Server {
		if st.state == halfRemote {
			return err
		}
		if flood := c.abuse.take(earlyEnds, 1); flood != nil {
			return flood
		}
	}
	c.closeStream(slot, resetByUs)
	c.sendReset(id, err.Code)
	*ev = Event{Kind: Reset, Stream: id, Slot: slot, Code: err.Code, Err: err}
	return nil
}

// reject resets a new stream that the caller does not know.
func (c *Conn) reject(id uint32, err *Error, ev *Event) *Error {
	if err == ErrRefused && c.own.unacked > 0 && c.own.freeRefusals > 0 {
		c.own.freeRefusals-- // the peer does not know the limit yet
	} else if flood := c.abuse.take(earlyEnds, 1); flood != nil {
		return flood
	}
	c.closed.noteReset(id, resetByUs)
	c.sendReset(id, err.Code)
	*ev = Event{Kind: Rejected, Stream: id, Slot: noSlot, Code: err.Code, Err: err}
	return nil
}

// isIdle reports whether a stream has not been opened yet. Streams that only the other side could open are always idle.
func (c *Conn) isIdle(id uint32) bool { return id%2 == 0 || id > c.closed.highest }

// largeFrame is the length in bytes from which on DATA costs its sender enough.
const largeFrame = 256

// lateFrame judges a DATA frame, or a header block, on a stream that may not receive it (RFC 9113 §5.1). The table may lack the
// stream; slot is noSlot then. The length of DATA is n. A nil result means that the frame is ignored.
//
// If this side resets a stream, DATA may be in flight that fills the stream's window. So large frames are not counted.
func (c *Conn) lateFrame(id uint32, slot int, n uint32) *Error {
	by, known := notReset, true
	if slot != noSlot {
		st := &c.streams.slots[slot]
		if st.state == halfRemote {
			return ErrHalfClosed
		}
		by = st.reset
	} else if c.isIdle(id) {
		return ErrIdleStream
	} else if by, known = c.closed.resetOf(id); by == notReset && c.closed.wasSkipped(id) {
		return ErrStreamID
	}
	if by == notReset && known {
		return ErrClosed
	}
	if by != resetByUs {
		c.sendReset(id, ErrReset.Code)
	} else if n >= largeFrame {
		return nil
	}
	return c.abuse.take(controlFrames, 1)
}

// takeRSTStream takes RST_STREAM.
func (c *Conn) takeRSTStream(id uint32, code Code, ev *Event) *Error {
	if c.isIdle(id) {
		return ErrIdleStream
	}
	slot := c.streams.find(id)
	if slot == noSlot || c.streams.slots[slot].state == closed {
		return c.abuse.take(controlFrames, 1)
	}
	if st := &c.streams.slots[slot]; c.cfg.Role == Server && st.state.maySend() {
		if flood := c.abuse.take(earlyEnds, 1); flood != nil {
			return flood
		}
	}
	c.closeStream(slot, resetByPeer)
	*ev = Event{Kind: Reset, Stream: id, Slot: slot, Code: code}
	return nil
}

// Reset resets a stream, unless it is closed. There is no event. The caller still has to call Release.
//
// A server that has responded before the request's body has arrived uses NoError (RFC 9113 §8.1). The RST_STREAM is then
// written after the response, with a call of its own. Some versions of curl, such as 7.88, read a TLS record at a time. If a
// record has both the response and the RST_STREAM, they fail and discard the response.
func (c *Conn) Reset(id uint32, code Code) {
	slot := c.streams.find(id)
	if slot == noSlot || c.streams.slots[slot].state == closed {
		return
	}
	c.closeStream(slot, resetByUs)
	if c.failed == nil {
		if code == NoError {
			c.out.separate()
		}
		c.out.buf = appendRSTStream(c.out.buf, id, code)
	}
}

// Release gives a stream's slot back. The caller must not use the stream any more. A stream that is not closed is reset: with
// NoError if this side has ended it, otherwise with Cancel.
func (c *Conn) Release(id uint32) {
	slot := c.streams.find(id)
	if slot == noSlot {
		return
	}
	st := &c.streams.slots[slot]
	if st.state != closed {
		code := Cancel
		if st.state == halfLocal && c.cfg.Role == Server {
			code = NoError
		}
		c.Reset(id, code)
	}
	if st.reset != notReset {
		c.closed.noteReset(id, st.reset)
	}
	c.streams.remove(slot)
}

package http2

// dataFrame is a DATA frame whose payload has not arrived completely. The zero value means that no frame is unfinished.
//
//	header | [pad length] | data: left bytes to come | padding: pad bytes to come
type dataFrame struct {
	stream uint32
	left   uint32
	pad    uint8
	end    bool // END_STREAM, not reported yet
	drop   bool // nobody gets the data
}

// beginData takes the header of a DATA frame, and the pad length if there is one. The frame is judged as a whole, because its
// length counts for the windows from now on.
func (c *Conn) beginData(h frameHeader, padLength []byte, ev *Event) *Error {
	overhead := uint32(0)
	if len(padLength) > 0 {
		overhead = 1 + uint32(padLength[0])
	}
	switch {
	case overhead > h.length:
		return ErrPadding
	case !c.recv.take(int32(h.length)):
		return ErrConnWindow
	}
	d := dataFrame{stream: h.stream, left: h.length - overhead, end: h.has(flagEndStream)}
	d.pad = uint8(overhead - uint32(len(padLength)))
	err := c.abuse.data(int(d.left), d.end)
	if err != nil {
		return err
	}
	slot := c.streams.find(h.stream)
	if slot == noSlot || !c.streams.slots[slot].state.mayReceive() {
		d.drop, err = true, c.lateFrame(h.stream, slot, h.length)
	} else if err = c.admitData(&c.streams.slots[slot], h.length, d.left, d.end); err != nil {
		d.drop, err = true, c.failStream(h.stream, err, ev)
	}
	if err != nil {
		return err
	}
	c.credit(int32(h.length), d.drop)
	if overhead > 0 && !d.drop {
		c.creditStream(slot, int32(overhead))
	}
	c.data = d
	if d.left == 0 && d.pad == 0 {
		c.endData(ev)
	}
	return nil
}

// admitData counts a DATA frame on a stream that may receive it.
func (c *Conn) admitData(st *stream, length, data uint32, end bool) *Error {
	switch {
	case !st.recv.take(int32(length)):
		return ErrStreamWindow
	case c.cfg.Role == Client && !st.gotHead:
		return ErrDataBeforeHead
	case st.length == noLength:
	case int64(data) > st.length || end && int64(data) != st.length:
		return ErrContentMismatch
	default:
		st.length -= int64(data)
	}
	return nil
}

// takeData takes bytes of the payload. It returns how many, and perhaps an event.
func (c *Conn) takeData(p []byte, ev *Event) (n int) {
	d := &c.data
	if d.left > 0 {
		n = min(int(d.left), len(p))
		d.left -= uint32(n)
		if n > 0 && c.wantsData() {
			*ev = Event{Kind: Data, Stream: d.stream, Slot: c.streams.find(d.stream), Data: p[:n:n]}
		}
	}
	if d.left == 0 {
		skipped := min(int(d.pad), len(p)-n)
		d.pad -= uint8(skipped)
		n += skipped
	}
	if d.left == 0 && d.pad == 0 {
		c.endData(ev)
	}
	return n
}

// wantsData reports whether the caller gets the data of the current frame. The caller may have reset the stream meanwhile.
func (c *Conn) wantsData() bool {
	if c.data.drop {
		return false
	}
	slot := c.streams.find(c.data.stream)
	return slot != noSlot && c.streams.slots[slot].state.mayReceive()
}

// endData ends the current frame, and the body if the frame has END_STREAM.
func (c *Conn) endData(ev *Event) {
	if c.data.end && c.wantsData() {
		slot := c.streams.find(c.data.stream)
		c.recvEnd(slot)
		*ev = Event{Kind: Data, Stream: c.data.stream, Slot: slot, Data: ev.Data, End: true}
	}
	c.data = dataFrame{}
}

// credit gives back n bytes of the connection's window. Bytes that the caller got are given back when they arrive, because the
// windows of streams bound what the caller stores. One slow reader thus does not block other streams.
func (c *Conn) credit(n int32, dropped bool) {
	if c.holds && !dropped {
		c.held += n
		return
	}
	if increment := c.recv.give(n); increment > 0 {
		c.out.buf = appendWindowUpdate(c.out.buf, 0, increment)
	}
}

func (c *Conn) creditStream(slot int, n int32) {
	st := &c.streams.slots[slot]
	if increment := st.recv.give(n); increment > 0 && st.state.mayReceive() {
		c.out.buf = appendWindowUpdate(c.out.buf, st.id, increment)
	}
}

// Consumed says that a program has read n bytes of a stream's body, so the peer may send as many further bytes.
func (c *Conn) Consumed(id uint32, n int) {
	c.Delivered(n)
	c.Collected(id, n)
}

// Delivered says that a program has got n bytes of a body for which the peer has got credit, or needs none.
func (c *Conn) Delivered(n int) {
	c.abuse.put(tinyData, int32(min(n, int(bucketRules[tinyData].burst))))
}

// Collected says that the peer may send n further bytes of a stream's body, although no program has read the bytes that have
// arrived. Unlike Consumed, it permits no further tiny frames. Delivered does so when the body is complete.
func (c *Conn) Collected(id uint32, n int) {
	if slot := c.streams.find(id); slot != noSlot {
		c.creditStream(slot, int32(n))
	}
}

// HoldCredit stops giving back the connection's window for data that arrives, if hold is true. If hold is false, it gives back
// what was held. A program that runs short of memory thus slows its peers down.
func (c *Conn) HoldCredit(hold bool) {
	if c.holds = hold; !hold && c.held > 0 {
		n := c.held
		c.held = 0
		c.credit(n, true)
	}
}

// GrowWindow makes the receive window of a stream larger, or the one of the connection if id is 0.
func (c *Conn) GrowWindow(id uint32, size uint32) {
	w := &c.recv
	if id != 0 {
		slot := c.streams.find(id)
		if slot == noSlot || !c.streams.slots[slot].state.mayReceive() {
			return
		}
		w = &c.streams.slots[slot].recv
	}
	if n := w.grow(int32(min(size, largestWindow))); n > 0 {
		c.out.buf = appendWindowUpdate(c.out.buf, id, n)
	}
}

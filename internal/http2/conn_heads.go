package http2

import "github.com/gallop-http/gallop/internal/message"

// takeHeaders takes a HEADERS frame.
func (c *Conn) takeHeaders(h frameHeader, payload []byte, m *Message, ev *Event) *Error {
	in, depends, err := fragment(h, payload)
	if err != nil {
		return err
	}
	if h.stream%2 == 0 { // this side's on a server, pushed on a client
		return ErrStreamID
	}
	var verdict *Error
	if depends == h.stream {
		verdict = ErrSelfDependency
	}
	end := h.has(flagEndStream)
	if h.has(flagEndHeaders) {
		if len(in) > c.cfg.MaxBlock {
			return ErrBlockTooLarge
		}
		return c.takeBlock(h.stream, in, end, verdict, m, ev)
	}
	c.block.begin(h.stream, end, verdict)
	return c.block.add(in, c.cfg.MaxBlock)
}

// takeContinuation takes a CONTINUATION frame of the unfinished block.
func (c *Conn) takeContinuation(h frameHeader, payload []byte, m *Message, ev *Event) *Error {
	b := &c.block
	if err := b.add(payload, c.cfg.MaxBlock); err != nil || !h.has(flagEndHeaders) {
		return err
	}
	in, verdict := b.block.buf, b.block.verdict
	id, end := b.stream, b.end
	b.finish()
	return c.takeBlock(id, in, end, verdict, m, ev)
}

// takeBlock takes a complete header block. Every block is decoded, because each changes the table.
func (c *Conn) takeBlock(id uint32, in []byte, end bool, verdict *Error, m *Message, ev *Event) *Error {
	slot := c.streams.find(id)
	switch {
	case slot != noSlot && c.streams.slots[slot].state.mayReceive():
		return c.laterBlock(slot, in, end, verdict, m, ev)
	case slot == noSlot && id > c.closed.highest && c.cfg.Role == Server:
		return c.newRequest(id, in, end, verdict, m, ev)
	}
	if fatal := c.discard(in, m); fatal != nil {
		return fatal
	}
	return c.lateFrame(id, slot, 0)
}

// discard decodes a block that nobody needs.
func (c *Conn) discard(in []byte, m *Message) (fatal *Error) {
	return discard(&c.dec, in, &c.cfg.Header, m)
}

// newRequest takes the head of a request on a new stream.
func (c *Conn) newRequest(id uint32, in []byte, end bool, verdict *Error, m *Message, ev *Event) *Error {
	c.closed.use(id)
	early, wasEarly := c.closed.takeEarly(id)
	ignored := c.shutdown == lastAnnounced
	if !ignored && verdict == nil && c.isCrowded() {
		verdict = ErrRefused
	}
	if ignored || verdict != nil {
		if fatal := c.discard(in, m); fatal != nil {
			return fatal
		}
		if ignored {
			c.closed.noteReset(id, resetByUs)
			return c.abuse.take(controlFrames, 1)
		}
		return c.reject(id, verdict, ev)
	}
	out := decode(&c.dec, in, &c.cfg.Header, m, requestBlock)
	if out.fatal != nil {
		return out.fatal
	}
	if verdict = out.malformed; verdict == nil && out.excess == nil {
		verdict = c.frameRequest(m, end)
	}
	if verdict != nil {
		m.Head.Reset()
		return c.reject(id, verdict, ev)
	}
	c.closed.accepted = id
	slot := c.open(id)
	st := &c.streams.slots[slot]
	st.gotHead = true
	if wasEarly {
		m.Priority = early
	}
	if m.prioritized || wasEarly {
		st.priority, st.explicit = m.Priority, true
	}
	if m.Head.Body == message.Fixed && out.excess == nil {
		st.length = m.Head.Length
	}
	if end {
		c.recvEnd(slot)
	}
	*ev = Event{Kind: Head, Stream: id, Slot: slot, End: end, Excess: out.excess}
	return nil
}

// isCrowded reports whether the peer has too many streams: open ones, or ones that the caller has not released.
func (c *Conn) isCrowded() bool {
	limit := c.maxStreams()
	return int(c.streams.live) >= limit || int(c.streams.used) >= 2*limit
}

// maxStreams returns how many streams the peer may have open at a time.
func (c *Conn) maxStreams() int { return int(min(c.own.newestValues().maxConcurrentStreams, 1<<14)) }

// open adds a stream to the table.
func (c *Conn) open(id uint32) (slot int) {
	slot = c.streams.add(id)
	st := &c.streams.slots[slot]
	st.send = sendWindow(c.peer.InitialWindowSize)
	st.recv = newRecvWindow(int32(c.own.acked.initialWindowSize))
	c.permitUpdates(updatesPerStream)
	c.abuse.put(controlFrames, perRequest)
	c.abuse.put(tinyData, perRequest)
	return slot
}

// frameRequest says where the body of a request ends, and checks what depends on this connection.
func (c *Conn) frameRequest(m *Message, end bool) *Error {
	h := m.Head
	if h.MethodID != message.Connect {
		return frameRequest(h, end)
	}
	switch {
	case m.Protocol.Len > 0 && !c.cfg.ExtendedConnect:
		return ErrConnectProtocol
	case h.Length > 0: // CONNECT has no body; DATA belongs to the tunnel
		return ErrContentLength
	}
	h.Length = -1
	return nil
}

// laterBlock takes a block on a stream that may receive it: trailers, or a response.
func (c *Conn) laterBlock(slot int, in []byte, end bool, verdict *Error, m *Message, ev *Event) *Error {
	st := &c.streams.slots[slot]
	kind := trailerBlock
	if !st.gotHead {
		kind = responseBlock
	}
	out := decode(&c.dec, in, &c.cfg.Header, m, kind)
	if out.fatal != nil {
		return out.fatal
	}
	if verdict == nil {
		verdict = out.malformed
	}
	if verdict == nil && kind == trailerBlock {
		verdict = trailersFit(st, end)
	} else if verdict == nil {
		verdict = c.responseFits(st, m.Head, end, out.excess != nil)
	}
	if verdict != nil {
		m.Head.Reset()
		return c.failStream(st.id, verdict, ev)
	}
	*ev = Event{Kind: Trailers, Stream: st.id, Slot: slot, End: end, Excess: out.excess}
	if kind == responseBlock {
		ev.Kind = Interim
		if st.gotHead {
			ev.Kind = Head
		}
	}
	if end {
		c.recvEnd(slot)
	}
	return nil
}

// trailersFit checks trailers against the message that they end.
func trailersFit(st *stream, end bool) *Error {
	switch {
	case !end:
		return ErrTrailersNotLast
	case st.length > 0:
		return ErrContentMismatch
	}
	return nil
}

// responseFits takes the head of a response on the stream of its request.
func (c *Conn) responseFits(st *stream, h *message.Head, end, excess bool) *Error {
	if excess {
		st.gotHead = true
		return nil
	}
	if h.Status < 200 {
		st.interims++
		switch {
		case end:
			return ErrInterimEnd
		case int(st.interims) > c.cfg.MaxInterims:
			return ErrTooManyInterims
		}
		return nil
	}
	st.gotHead = true
	if err := frameResponse(h, st.isBodiless, st.isConnect, end); err != nil {
		return err
	}
	switch {
	case h.Body == message.Fixed:
		st.length = h.Length
	case h.Body == message.NoBody && !(st.isConnect && h.Status < 300):
		st.length = 0
	}
	return nil
}

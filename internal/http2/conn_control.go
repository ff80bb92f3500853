package http2

import "encoding/binary"

const (
	// settingsPerToken is how many settings in a frame cost as much as a control frame.
	settingsPerToken = 16

	// A peer may send some WINDOW_UPDATE frames that are not counted: for each stream, for each DATA frame that this side sends,
	// and for each bytesPerUpdate bytes of it. Clients in Go send two for every 4 KiB that they have read. The peer cannot collect
	// more than maxFreeUpdates, which is enough for 64 MiB that were sent before they were read.
	updatesPerStream = 2
	updatesPerData   = 2
	bytesPerUpdate   = 1 << 10
	maxFreeUpdates   = 1<<16 - 1
)

// takeSettings takes SETTINGS.
func (c *Conn) takeSettings(h frameHeader, payload []byte, ev *Event) *Error {
	if h.has(flagAck) {
		return c.takeSettingsAck(ev)
	}
	if err := c.abuse.take(controlFrames, int32(len(payload)/(settingLen*settingsPerToken))); err != nil {
		return err
	}
	from := Client
	if c.cfg.Role == Client {
		from = Server
	}
	before := c.peer
	if err := c.peer.applyPeer(payload, !c.gotSettings, from); err != nil {
		return err
	}
	c.gotSettings = true
	if c.peer.HeaderTableSize != before.HeaderTableSize {
		c.enc.SetPeerMaxTableSize(c.peer.HeaderTableSize)
	}
	if err := c.changeSendWindows(int64(c.peer.InitialWindowSize) - int64(before.InitialWindowSize)); err != nil {
		return err
	}
	c.out.buf = appendSettingsAck(c.out.buf)
	c.out.noteControl()
	ev.Kind = SettingsChanged
	return nil
}

// changeSendWindows changes the windows of all streams (RFC 9113 §6.9.2).
func (c *Conn) changeSendWindows(difference int64) *Error {
	if difference == 0 {
		return nil
	}
	for slot := range c.streams.slots {
		st := &c.streams.slots[slot]
		if st.id == 0 || !st.state.maySend() {
			continue
		}
		if !st.send.add(difference) {
			return ErrInitialOverflow
		}
		st.progress.credit(max(difference, 0))
		c.wake(slot)
	}
	return nil
}

// wake gives a stream that waits for its window a turn, if the window is open. It reports whether that is so.
func (c *Conn) wake(slot int) bool {
	st := &c.streams.slots[slot]
	if st.waiting != forWindow || st.send <= 0 {
		return false
	}
	c.sched.add(&c.streams, slot)
	return true
}

func (c *Conn) takeSettingsAck(ev *Event) *Error {
	before, after, ok := c.own.ack()
	if !ok {
		return nil // it was counted as a control frame
	}
	c.abuse.put(controlFrames, 1)
	if after.headerTableSize != before.headerTableSize {
		c.dec.SetMaxTableSize(int(after.headerTableSize))
	}
	if difference := int32(after.initialWindowSize) - int32(before.initialWindowSize); difference != 0 {
		c.changeRecvWindows(difference)
	}
	ev.Kind = SettingsAcked
	return nil
}

// changeRecvWindows changes the windows of all streams, as changeSendWindows does on the other side.
func (c *Conn) changeRecvWindows(difference int32) {
	for slot := range c.streams.slots {
		st := &c.streams.slots[slot]
		if st.id == 0 || !st.state.mayReceive() {
			continue
		}
		if increment := st.recv.resize(difference); increment > 0 {
			c.out.buf = appendWindowUpdate(c.out.buf, st.id, increment)
		}
	}
}

// takePing takes PING. Responses go to the output before anything that the caller adds.
func (c *Conn) takePing(h frameHeader, payload []byte, ev *Event) *Error {
	data := binary.BigEndian.Uint64(payload)
	switch {
	case !h.has(flagAck):
		c.out.buf = appendPing(c.out.buf, data, flagAck)
		c.out.noteControl()
	case data == shutdownPing && c.shutdown == announced:
		c.abuse.put(controlFrames, 1)
		c.FinishShutdown()
	case c.pings > 0:
		c.abuse.put(controlFrames, 1)
		c.pings--
		*ev = Event{Kind: Pong, Ping: data}
	}
	return nil
}

// Ping sends PING. The Pong event has the same data.
func (c *Conn) Ping(data uint64) {
	c.pings++
	c.out.buf = appendPing(c.out.buf, data, 0)
}

// permitUpdates permits n more WINDOW_UPDATE frames that are not counted.
func (c *Conn) permitUpdates(n int) {
	c.freeUpdates = uint16(min(int(c.freeUpdates)+n, maxFreeUpdates))
}

// takeWindowUpdate takes WINDOW_UPDATE.
func (c *Conn) takeWindowUpdate(id, increment uint32, ev *Event) *Error {
	if c.freeUpdates > 0 {
		c.freeUpdates--
	} else if err := c.abuse.take(controlFrames, 1); err != nil {
		return err
	}
	if id == 0 {
		return c.openConnWindow(increment, ev)
	}
	if c.isIdle(id) {
		return ErrIdleStream
	}
	slot := c.streams.find(id)
	if slot == noSlot || c.streams.slots[slot].state == closed {
		return nil
	}
	st := &c.streams.slots[slot]
	switch {
	case increment == 0:
		return c.failStream(id, ErrStreamIncrement, ev)
	case !st.send.add(int64(increment)):
		return c.failStream(id, ErrStreamOverflow, ev)
	}
	st.progress.credit(int64(increment))
	if c.wake(slot) && c.send > 0 {
		ev.Kind = Writable
	}
	return nil
}

func (c *Conn) openConnWindow(increment uint32, ev *Event) *Error {
	wasShut := c.send <= 0
	switch {
	case increment == 0:
		return ErrConnIncrement
	case !c.send.add(int64(increment)):
		return ErrConnOverflow
	}
	if wasShut && c.sched.filled != 0 {
		ev.Kind = Writable
	}
	return nil
}

// takePriority takes PRIORITY, whose content is ignored (RFC 9113 §5.3.2).
func (c *Conn) takePriority(id, depends uint32, ev *Event) *Error {
	if id != depends {
		return nil
	}
	return c.failPriority(id, ErrSelfDependency, ev)
}

// failPriority judges an invalid PRIORITY frame. An idle stream cannot be reset, so the connection fails.
func (c *Conn) failPriority(id uint32, err *Error, ev *Event) *Error {
	if c.isIdle(id) {
		return err
	}
	if slot := c.streams.find(id); slot != noSlot && c.streams.slots[slot].state != closed {
		return c.failStream(id, err, ev)
	}
	c.sendReset(id, err.Code)
	return c.abuse.take(controlFrames, 1)
}

// takePriorityUpdate takes PRIORITY_UPDATE (RFC 9218 §7.1). An update for a closed stream, or with an invalid value, is dropped.
func (c *Conn) takePriorityUpdate(payload []byte) *Error {
	id := u31(payload)
	if id%2 == 0 || c.cfg.Role == Client {
		return ErrPriorityUpdate
	}
	p, ok := ParsePriority(payload[4:])
	switch slot := c.streams.find(id); {
	case !ok:
	case slot != noSlot:
		c.setPriority(slot, p)
	case c.isIdle(id) && !c.closed.noteEarly(id, p, c.maxStreams()-c.Streams()) && c.own.unacked == 0:
		return ErrEarlyPriorities
	}
	return nil
}

func (c *Conn) setPriority(slot int, p Priority) {
	st := &c.streams.slots[slot]
	waits := st.waiting == forTurn
	if waits {
		c.sched.remove(&c.streams, slot)
	}
	st.priority, st.explicit = p, true
	if waits {
		c.sched.add(&c.streams, slot)
	}
}

// MergePriority takes the Priority field of a response, which replaces what the client asked for (RFC 9218 §8). The client's value
// counts where the field says nothing.
func (c *Conn) MergePriority(id uint32, value []byte) {
	slot := c.streams.find(id)
	if slot == noSlot {
		return
	}
	asked := c.streams.slots[slot].priority
	if p, ok := mergePriority(asked, asked, value); ok {
		c.setPriority(slot, p)
	}
}

// UpdatePriority tells the server about a new priority of a stream (RFC 9218 §7.1). Client only.
func (c *Conn) UpdatePriority(id uint32, p Priority) {
	c.out.buf = appendPriorityUpdate(c.out.buf, id, p)
}

// Announce sends SETTINGS with new values of HeaderTableSize, MaxConcurrentStreams, InitialWindowSize and MaxFrameSize. It reports
// false, and sends nothing, if the peer has not acknowledged the two latest SETTINGS.
func (c *Conn) Announce(s Settings) bool {
	before := c.own.newest()
	next := before
	next.HeaderTableSize, next.MaxConcurrentStreams = s.HeaderTableSize, s.MaxConcurrentStreams
	next.InitialWindowSize, next.MaxFrameSize = min(s.InitialWindowSize, largestWindow), s.MaxFrameSize
	buf, ok := c.own.announce(c.out.buf, &next, &before)
	c.out.buf = buf
	return ok
}

// Announced returns the settings that this side has announced last.
func (c *Conn) Announced() Settings { return c.own.newest() }

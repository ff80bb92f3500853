package http2

// closedStreams knows enough about streams that are not in the table to treat early and late frames as RFC 9113 §5.1 says. Its memory
// is bounded: it remembers the newest resets, the newest gap between identifiers, and priorities of streams that are about to be
// opened.
//
//	… skippedFrom … skippedTo … highest     identifiers between the first two were never used
type closedStreams struct {
	highest     uint32 // the highest identifier that was used
	accepted    uint32 // the highest stream of the peer that became a Head event
	skippedFrom uint32
	skippedTo   uint32

	resets *resets // nil until a stream is reset, or has a priority before it is opened
}

// resets remembers the newest streams that were reset. Hardly any connection has early priorities, so they are here, too.
type resets struct {
	newest  []uint32 // the identifiers, shifted left, and whether the peer reset the stream
	oldest  uint8    // index in newest of the oldest one, if it is full
	evicted bool     // older resets were forgotten

	early []earlyPriority
}

// earlyPriority is the priority of a stream that is not opened yet (RFC 9218 §7).
type earlyPriority struct {
	id uint32
	p  Priority
}

// keptResets is how many resets are remembered.
const keptResets = 64

// use notes that a stream was opened. Its identifier is higher than all others.
func (c *closedStreams) use(id uint32) {
	if id > c.highest+2 {
		c.skippedFrom, c.skippedTo = c.highest, id
	}
	c.highest = id
}

// wasSkipped reports whether the identifier, which is at most highest, was never used. It may miss older gaps.
func (c *closedStreams) wasSkipped(id uint32) bool { return id > c.skippedFrom && id < c.skippedTo }

// noteReset remembers who reset a stream.
func (c *closedStreams) noteReset(id uint32, by resetBy) {
	if c.resets == nil {
		c.resets = new(resets)
	}
	c.resets.add(id, by)
}

// noteEarly remembers the priority of a stream that is not opened yet. It reports false if that makes more than limit streams.
func (c *closedStreams) noteEarly(id uint32, p Priority, limit int) bool {
	if c.resets == nil {
		c.resets = new(resets)
	}
	for i := range c.resets.early {
		if e := &c.resets.early[i]; e.id == id {
			e.p = p
			return true
		}
	}
	if len(c.resets.early) >= limit {
		return false
	}
	c.resets.early = append(c.resets.early, earlyPriority{id, p})
	return true
}

// takeEarly returns the priority that was remembered for a stream that is opened now. It forgets those of older streams, which are
// not going to be opened any more.
func (c *closedStreams) takeEarly(id uint32) (p Priority, ok bool) {
	if c.resets == nil {
		return p, false
	}
	kept := c.resets.early[:0]
	for _, e := range c.resets.early {
		if e.id > id {
			kept = append(kept, e)
		} else if e.id == id {
			p, ok = e.p, true
		}
	}
	c.resets.early = kept
	return p, ok
}

func (r *resets) add(id uint32, by resetBy) {
	entry := id << 1
	if by == resetByPeer {
		entry |= 1
	}
	if len(r.newest) < keptResets {
		r.newest = append(r.newest, entry)
		return
	}
	r.newest[r.oldest] = entry
	r.oldest = (r.oldest + 1) % keptResets
	r.evicted = true
}

// resetOf returns who reset a stream. known is false if the stream may be one whose reset was forgotten.
func (c *closedStreams) resetOf(id uint32) (by resetBy, known bool) {
	if c.resets == nil {
		return notReset, true
	}
	for _, entry := range c.resets.newest {
		if entry>>1 == id {
			return resetByUs + resetBy(entry&1), true
		}
	}
	return notReset, !c.resets.evicted
}

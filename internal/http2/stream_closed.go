package http2

// closedStreams knows enough about streams that are not in the table to treat late frames as RFC 9113 §5.1 says. It takes a
// fixed amount of memory: it remembers the newest resets, and the newest gap between identifiers.
//
//	… skippedFrom … skippedTo … highest     identifiers between the first two were never used
type closedStreams struct {
	highest     uint32 // the highest identifier that was used
	accepted    uint32 // the highest stream of the peer that became a Head event
	skippedFrom uint32
	skippedTo   uint32

	resets *resets // nil until a stream is reset
}

// resets remembers the newest streams that were reset.
type resets struct {
	newest  []uint32 // the identifiers, shifted left, and whether the peer reset the stream
	oldest  uint8    // index in newest of the oldest one, if it is full
	evicted bool     // older resets were forgotten
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

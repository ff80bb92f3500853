package http2

// closedStreams knows enough about streams that are not in the table to treat late frames as RFC 9113 §5.1 says. It takes a
// fixed amount of memory: it remembers the newest resets, and the newest gap between identifiers.
//
//	… skippedFrom … skippedTo … highest     identifiers between the first two were never used
type closedStreams struct {
	highest     uint32 // the highest identifier that was used
	skippedFrom uint32
	skippedTo   uint32

	resets  []uint32 // the newest streams that were reset: the identifier, shifted left, and whether the peer reset it
	oldest  int      // index in resets of the oldest one, if it is full
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
	entry := id << 1
	if by == resetByPeer {
		entry |= 1
	}
	if len(c.resets) < keptResets {
		c.resets = append(c.resets, entry)
		return
	}
	c.resets[c.oldest] = entry
	c.oldest = (c.oldest + 1) % keptResets
	c.evicted = true
}

// resetOf returns who reset a stream. known is false if the stream may be one whose reset was forgotten.
func (c *closedStreams) resetOf(id uint32) (by resetBy, known bool) {
	for _, entry := range c.resets {
		if entry>>1 == id {
			return resetByUs + resetBy(entry&1), true
		}
	}
	return notReset, !c.evicted
}

package http2

// shutdownState is how far the graceful end of a connection has come (RFC 9113 §6.8).
//
//	          Shutdown               acknowledgment of its PING, or FinishShutdown
//	serving ───────────▶ announced ────────────────────────────────────────────────▶ lastAnnounced
type shutdownState uint8

const (
	serving       shutdownState = iota
	announced                   // GOAWAY without a last stream was sent; new streams are still accepted
	lastAnnounced               // GOAWAY with the last stream was sent; newer streams are ignored
)

// shutdownPing is the data of the PING that Shutdown sends.
const shutdownPing = 0x67616c6c6f702121

// Shutdown begins the graceful end of a connection. It announces the end, and measures with PING when the peer has seen that.
// FinishShutdown happens then by itself, or when the caller calls it. The connection ends when Streams returns 0.
func (c *Conn) Shutdown() {
	if c.shutdown != serving || c.failed != nil {
		return
	}
	c.shutdown = announced
	c.out.buf = appendGoAway(c.out.buf, maxStreamID, NoError, "")
	c.out.buf = appendPing(c.out.buf, shutdownPing, 0)
}

// FinishShutdown announces the last stream of the peer that this side has accepted. Newer ones are ignored.
func (c *Conn) FinishShutdown() {
	if c.shutdown == lastAnnounced || c.failed != nil {
		return
	}
	c.shutdown = lastAnnounced
	c.out.buf = appendGoAway(c.out.buf, c.closed.accepted, NoError, "")
}

// ShuttingDown reports whether Shutdown was called, and whether the last stream was announced.
func (c *Conn) ShuttingDown() (began, last bool) {
	return c.shutdown != serving, c.shutdown == lastAnnounced
}

// takeGoAway takes GOAWAY. Streams of a client that the server has not accepted are closed.
func (c *Conn) takeGoAway(g goAway, ev *Event) *Error {
	if c.peerGone && g.last > c.peerLast {
		return ErrGoAwayRaised
	}
	c.peerGone, c.peerLast = true, g.last
	if c.cfg.Role == Client {
		for slot := range c.streams.slots {
			if st := &c.streams.slots[slot]; st.id > g.last && st.state != closed {
				c.closeStream(slot, resetByPeer)
			}
		}
	}
	*ev = Event{Kind: GoingAway, Stream: g.last, Code: g.code, Data: g.debug}
	return nil
}

// IsUnprocessed reports whether the peer has promised that it has not acted on a stream of this side, which can therefore be
// repeated on another connection (RFC 9113 §8.7).
func (c *Conn) IsUnprocessed(id uint32) bool { return c.peerGone && id > c.peerLast }

package http2

import "github.com/gallop-http/gallop/internal/bufpool"

const (
	// maxData is how many bytes of output may wait before no more DATA is appended. With the header of one more frame, they fit
	// into a buffer of 64 KiB.
	maxData = 64<<10 - 64

	// maxUnsent is how many bytes may wait before Next reads no further. The peer then has to read first. It is larger than
	// maxData, so that bodies alone do not keep this side from reading.
	maxUnsent = 128 << 10

	// maxControl is how many control frames may wait before Next reads no further.
	maxControl = 1000
)

// output has the bytes that wait to be written: buf[sent:].
//
// Control frames are counted in two generations, because the output may never be empty: those before the mark, and those
// behind it. When everything before the mark was written, the second generation becomes the first.
//
//	buf    written | older control frames | newer control frames
//	               sent                   mark                 len(buf)
//
// Unless cut is 0, sent < cut ≤ len(buf), and the bytes before cut are written on their own.
type output struct {
	buf   []byte
	sent  uint32
	mark  uint32
	cut   uint32
	older uint16
	newer uint16
}

func (o *output) unsent() int { return len(o.buf) - int(o.sent) }

// makeRoom makes room for a frame of n bytes. If more bytes of the same body follow, it makes room for those that may wait with it,
// so that the buffer grows once.
func (o *output) makeRoom(n, follow int) {
	if follow > 0 {
		n = max(n, maxData+headerLen-len(o.buf))
	}
	o.buf = bufpool.Grow(o.buf, n)
}

// noteControl counts a control frame that was appended because of the peer.
func (o *output) noteControl() { o.newer++ }

// isFull reports whether the peer has to read before it may cause more output.
func (o *output) isFull() bool {
	return o.unsent() >= maxUnsent || int(o.older)+int(o.newer) >= maxControl
}

// wrote drops the first n bytes.
func (o *output) wrote(n int) {
	o.sent += uint32(n)
	if int(o.sent) == len(o.buf) {
		*o = output{buf: o.buf[:0]}
		return
	}
	if o.sent >= o.cut {
		o.cut = 0
	}
	if o.sent >= o.mark {
		o.older, o.newer, o.mark = o.newer, 0, uint32(len(o.buf))
	}
	if int(o.sent) >= o.unsent() {
		o.cut -= min(o.cut, o.sent)
		o.buf, o.mark, o.sent = o.buf[:copy(o.buf, o.buf[o.sent:])], o.mark-o.sent, 0
	}
}

// separate has what follows written on its own, unless an earlier place waits for that.
func (o *output) separate() {
	if o.cut == 0 && o.unsent() > 0 {
		o.cut = uint32(len(o.buf))
	}
}

// Out returns the bytes to write. They are valid until the next call of another method.
func (c *Conn) Out() []byte { return c.out.buf[c.out.sent:] }

// OutPiece returns the bytes of Out that are written with one call. It is all of Out, or what Reset does not want to follow
// in the same call.
func (c *Conn) OutPiece() []byte {
	if c.out.cut == 0 {
		return c.Out()
	}
	return c.out.buf[c.out.sent:c.out.cut]
}

// Sent says that the first n bytes of Out were written.
func (c *Conn) Sent(n int) { c.out.wrote(n) }

// IsFull reports whether so much output is unsent that Next returns Full.
func (c *Conn) IsFull() bool { return c.out.isFull() }

// LendOut gives the output a buffer, and returns the one it had. It must be called while Out is empty. A connection that waits
// for its peer can thus give its buffer away. The buffer comes from package bufpool, or is nil: when the output grows, it returns
// the buffer to its pool.
func (c *Conn) LendOut(buf []byte) (had []byte) {
	had = c.out.buf
	c.out = output{buf: buf[:0]}
	return had
}

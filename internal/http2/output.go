package http2

const (
	// maxUnsent is how many bytes of output may wait before Next reads no further, and before no more DATA is appended. The
	// peer then has to read first. Heads and control frames that are due are appended regardless.
	maxUnsent = 64 << 10

	// maxControl is how many control frames may wait before Next reads no further.
	maxControl = 1000
)

// output has the bytes that wait to be written: buf[sent:].
type output struct {
	buf     []byte
	sent    int
	control int // control frames since the output was empty
}

func (o *output) unsent() int { return len(o.buf) - o.sent }

// isFull reports whether the peer has to read before it may cause more output.
func (o *output) isFull() bool { return o.unsent() >= maxUnsent || o.control >= maxControl }

// wrote drops the first n bytes.
func (o *output) wrote(n int) {
	if o.sent += n; o.sent == len(o.buf) {
		o.buf, o.sent, o.control = o.buf[:0], 0, 0
	}
}

// Out returns the bytes to write. They are valid until the next call of another method.
func (c *Conn) Out() []byte { return c.out.buf[c.out.sent:] }

// Sent says that the first n bytes of Out were written.
func (c *Conn) Sent(n int) { c.out.wrote(n) }

// LendOut gives the output a buffer, and returns the one it had. It must be called while Out is empty. A connection that waits
// for its peer can thus give its buffer away.
func (c *Conn) LendOut(buf []byte) (had []byte) {
	had = c.out.buf
	c.out = output{buf: buf[:0]}
	return had
}

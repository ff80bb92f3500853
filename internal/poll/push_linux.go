package poll

import "net"

// Push writes the bytes of p that the socket accepts now, and returns their number. Push never waits. If the socket does
// not accept all of p, c is served when there is room for more. If c is being served already, Park reports false then.
// Either way, the goroutine that serves c pushes the rest.
//
// Any goroutine may call Push, whether c is being served or parked. Calls for the same connection must not overlap, so
// guard the unsent bytes with a lock, and hold it while appending to them and while pushing them. TryWrite, Write and
// Worker.Later know nothing about unsent bytes, so do not use them on a connection that has some. After an error, nothing
// can be written any more.
func (c *Conn) Push(p []byte) (n int, err error) {
	if !c.use() {
		return 0, c.named("write", net.ErrClosed)
	}
	defer c.done()
	c.wantRoom() // before the try: an event that comes right after it must find the bit
	if n, err = c.TryWrite(p); err == nil && n < len(p) {
		err = c.named("write", c.wantWritable())
	}
	if err != nil || n == len(p) {
		c.state.And(^uint32(want))
	}
	return n, err
}

// EndPush is called when no Push follows. If one has left bytes, c is not served for them any more.
func (c *Conn) EndPush() { c.state.And(^uint32(want)) }

// wantRoom sets want and clears writable, so that only room that appears from now on counts.
func (c *Conn) wantRoom() {
	for {
		s := c.state.Load()
		if c.state.CompareAndSwap(s, (s|want)&^writable) {
			return
		}
	}
}

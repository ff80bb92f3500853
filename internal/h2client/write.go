package h2client

import (
	"runtime"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// flush sends the output, unless another goroutine does that already. yields lets other calls append their requests first. c is
// locked, and is not afterwards.
func (c *Conn) flush(yields bool) {
	c.sendRests()
	if c.writing || !c.hasOutput() {
		c.unlock()
		return
	}
	c.writing = true
	if !c.socket.ok() {
		c.unlock()
		go c.writeFunc()
		return
	}
	if yields && c.held > 1 {
		c.unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	for c.takeOutput() {
		c.unlock()
		n, err := c.socket.write(c.out)
		c.mu.Lock()
		if c.wroteSome(n, err); err == nil && n < len(c.out) {
			c.unsent = c.out[n:]
			c.unlock()
			go c.writeFunc()
			return
		}
	}
	c.writing = false
	ends := c.failed != nil
	c.unlock()
	if ends {
		c.endFailed(true)
	}
}

// write writes until there is no output. Unlike flush, it may wait.
func (c *Conn) write() {
	c.mu.Lock()
	for len(c.unsent) > 0 || c.takeOutput() {
		out := c.unsent
		if len(out) == 0 {
			out = c.out
		}
		c.unlock()
		piece := out
		if stall := c.opts.WriteStall; stall > 0 {
			piece = out[:min(len(out), stallPiece)]
			_ = c.nc.SetWriteDeadline(time.Now().Add(stall))
		}
		n, err := c.nc.Write(piece)
		c.mu.Lock()
		if c.unsent = out[len(piece):]; len(c.unsent) == 0 {
			c.unsent = nil // so that out can be freed
		}
		c.wroteSome(n, err)
	}
	c.writing = false
	c.unlock()
	c.endFailed(true)
}

// stallPiece is how many bytes have to be written within Options.WriteStall.
const stallPiece = 16 << 10

func (c *Conn) hasOutput() bool { return len(c.engine.Out()) > 0 }

// takeOutput moves output from the engine to c.out, and reports whether there is some. c is locked.
func (c *Conn) takeOutput() bool {
	c.sendRests()
	out := c.engine.Out()
	if c.broken != nil || c.closed {
		c.engine.Sent(len(out))
		return false
	}
	if len(out) == 0 {
		return false
	}
	c.out = append(bufpool.Grow(c.out[:0], len(out)), out...)
	c.engine.Sent(len(out))
	c.handed += int64(len(out))
	c.drained.Broadcast()
	return true
}

// wroteSome notes that n bytes were written, or that writing failed. c is locked.
func (c *Conn) wroteSome(n int, err error) {
	c.wrote += int64(n)
	if err == nil {
		return
	}
	c.unsent, c.broken = nil, err
	c.updateRoom()
	if !c.reading || c.retiring {
		c.fail(err)
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lastResponses))
}

// lastResponses is how long a connection waits for responses after it could not write. A server that closes the connection has
// perhaps sent them before.
const lastResponses = 100 * time.Millisecond

// reached returns how many bytes the server may have got. While a goroutine writes, that may be all that it writes. c is locked.
func (c *Conn) reached() int64 {
	if c.broken != nil {
		return c.wrote
	}
	return c.handed
}

// sendRests appends frames of request bodies that waited. c is locked.
func (c *Conn) sendRests() {
	if c.failed != nil {
		return
	}
	for {
		_, slot, ok := c.engine.NextWriter()
		if !ok {
			return
		}
		c.calls[slot].sendRest()
	}
}

package gallop

import (
	"runtime"
	"sync/atomic"
)

// serverCounts are the counts of some of the server's connections. They have a cache line of their own.
type serverCounts struct {
	turns, refused, read, written atomic.Int64

	_ [32]byte
}

// countShards is how many serverCounts a server has. Connections are spread over them.
const countShards = 16

// countLag is how many bytes are counted at most before the server's counts have them.
const countLag = 64 << 10

func (c *connection) counts() *serverCounts { return &c.hub.counts[c.id%countShards] }

// publish adds what c has counted to the counts of the server. Nobody else may use the input and the output.
func (c *connection) publish() {
	if c.counted|c.input.counted|c.output.counted != 0 {
		n := c.counts()
		n.turns.Add(c.counted)
		c.counted = 0
		c.input.publish(n)
		c.output.publish(n)
	}
}

func (in *input) publish(n *serverCounts) {
	n.read.Add(in.counted)
	in.counted = 0
}

func (o *output) publish(n *serverCounts) {
	n.written.Add(o.counted)
	o.counted = 0
}

// count counts bytes that were read.
func (in *input) count(n int) {
	if in.counted += int64(n); in.counted >= countLag {
		in.publish(in.c.counts())
	}
}

// count counts bytes that were written.
func (o *output) count(n int64) {
	if o.counted += n; o.counted >= countLag {
		o.publish(o.c.counts())
	}
}

// countPause is how many connections are looked at before others may have the lock of the table.
const countPause = 256

// connCounts are the connections of a table, by what they do. accepted counts all connections that there ever were.
type connCounts struct{ accepted, open, active, idle, shaking uint64 }

// countStates counts the connections, by what they do.
func (t *connTable) countStates() (n connCounts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.accepted = t.accepted
	if t.conns.next == nil {
		return n // the server has not begun
	}
	looked := 0
	for c := t.conns.next; c != &t.conns; c = c.next {
		if c.nc == nil {
			continue // a bookmark
		}
		n.open++
		switch c.state.Load() {
		case phaseIdle, phaseLast:
			n.idle++
		case phaseShaking:
			n.shaking++
		default:
			n.active++
		}
		if looked++; looked%countPause == 0 {
			c = t.pauseBehind(c)
		}
	}
	return n
}

// pauseBehind lets others have the lock. It returns the entry behind which to go on: c, or the last one left before it.
func (t *connTable) pauseBehind(c *tableEntry) *tableEntry {
	mark := &tableEntry{prev: c, next: c.next}
	mark.prev.next, mark.next.prev = mark, mark
	t.mu.Unlock()
	runtime.Gosched()
	t.mu.Lock()
	mark.prev.next, mark.next.prev = mark.next, mark.prev
	return mark.prev
}

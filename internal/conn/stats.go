package conn

import (
	"runtime"
	"sync/atomic"
)

// Counts are the counts of some of the server's connections. They have a cache line of their own.
type Counts struct {
	Turns, Refused, Read, Written atomic.Int64

	_ [32]byte
}

// countShards is how many Counts a server has. Connections are spread over them.
const countShards = 16

// countLag is how many bytes are counted at most before the server's counts have them.
const countLag = 64 << 10

func (c *Conn) Counts() *Counts { return &c.Server.Counts[c.ID%countShards] }

// Publish adds what c has counted to the counts of the server. Nobody else may use the input and the output.
func (c *Conn) Publish() {
	if c.counted|c.Input.counted|c.Output.counted != 0 {
		c.publishTurns()
		c.Output.publish(c.Counts())
	}
}

// publishTurns does the same without the output.
func (c *Conn) publishTurns() {
	n := c.Counts()
	n.Turns.Add(c.counted)
	c.counted = 0
	c.Input.publish(n)
}

func (in *Input) publish(n *Counts) {
	n.Read.Add(in.counted)
	in.counted = 0
}

func (o *Output) publish(n *Counts) {
	n.Written.Add(o.counted)
	o.counted = 0
}

// Count counts bytes that were read.
func (in *Input) Count(n int) {
	if in.counted += int64(n); in.counted >= countLag {
		in.publish(in.C.Counts())
	}
}

// count counts bytes that were written.
func (o *Output) count(n int64) {
	if o.C.Wakeable {
		return
	}
	if o.counted += n; o.counted >= countLag {
		o.publish(o.C.Counts())
	}
}

// countPause is how many connections are looked at before others may have the lock of the table.
const countPause = 256

// counts are the connections of a table, by what they do. accepted counts all connections that there ever were. Running are the
// active connections whose turn has arrived, so that the program is called for it now, or has been called and the output is written.
type counts struct{ Accepted, Open, Active, Running, Idle, Shaking uint64 }

// RunsApart says whether the connection does not count as running, even if it is active. Either it waits for the rest of a turn, or
// its wire counts calls of the program itself. So the calls of the program need no counter.
func (c *Conn) RunsApart(apart bool) {
	if apart {
		c.Entry.marks.Or(markApart)
	} else {
		c.Entry.marks.And(^uint32(markApart))
	}
}

// CountStates counts the connections, by what they do.
func (t *Table) CountStates() (n counts) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	n.Accepted = t.accepted
	if t.conns.next == nil {
		return n // the server has not begun
	}
	looked := 0
	for c := t.conns.next; c != &t.conns; c = c.next {
		if c.NC == nil {
			continue // a bookmark
		}
		n.Open++
		switch c.now() {
		case phaseIdle, phaseLast:
			n.Idle++
		case phaseShaking:
			n.Shaking++
		case phaseActive, phaseStarted, phaseQueued:
			n.Active++
			if c.marks.Load()&markApart == 0 {
				n.Running++
			}
		default:
			n.Active++
		}
		if looked++; looked%countPause == 0 {
			c = t.pauseBehind(c)
		}
	}
	return n
}

// pauseBehind lets others have the lock. It returns the entry behind which to go on: c, or the last one left before it.
func (t *Table) pauseBehind(c *Entry) *Entry {
	mark := &Entry{prev: c, next: c.next}
	mark.prev.next, mark.next.prev = mark, mark
	t.Mu.Unlock()
	runtime.Gosched()
	t.Mu.Lock()
	mark.prev.next, mark.next.prev = mark.next, mark.prev
	return mark.prev
}

package poll

import (
	"runtime"
	"sync/atomic"
)

// A loop reads from several connections in a row before it serves them. The kernel's receive path, and then the
// server's code, stay in the processor's caches that way.

// ahead holds what was read from connections before they are served. If the worker that serves them is overtaken, the
// next leader serves the remaining ones.
type ahead struct {
	reads  []early
	served int // number of reads that were served
	buf    []byte
	lost   atomic.Int32 // number of overtaken workers that may still use this ahead, see letGo
	left   bool         // the loop uses another ahead now; Loop.mu guards it
}

// early is what was read from one connection before it is served.
type early struct {
	c        *Conn
	from, to int   // part of ahead.buf
	full     bool  // there may be more to read
	err      error // set if the read failed
}

const (
	mostReads = 16
	readRoom  = 4 << 10 // for each connection

	// fewStarts is how many workers may be started off the loop before the loop yields to them.
	fewStarts = 4
)

// readAhead reads from the connections of the remaining events. It stops at an event for a listener, and when enough
// connections are ready to be served. It reports false if there is nothing to do.
func (w *Worker) readAhead() bool {
	l := w.loop
	a := l.ahead
	if a != nil && a.served < len(a.reads) {
		return true
	}
	if l.next == l.n {
		return false
	}
	if a == nil || a.lost.Load() > 0 {
		a = l.freshAhead()
		l.ahead = a
	}
	a.reads, a.served = a.reads[:0], 0
	l.takeBreakBetween()
	l.letOthersRun()
	handed := 0
	for from := 0; l.next < l.n && len(a.reads)+handed < mostReads; l.next++ {
		event := &l.events[l.next]
		if l.isListener(event) {
			break
		}
		switch c := l.ready(event); {
		case c == nil:
		case c.Away:
			c.HandOver()
			handed++
		case !c.Ahead:
			a.reads = append(a.reads, early{c: c})
		default:
			n, err := l.read(int(c.fd), a.buf[from:from+readRoom])
			if n == 0 {
				err = c.noRead(err)
			}
			a.reads = append(a.reads, early{c, from, from + n, n == readRoom, err})
			from += n
		}
	}
	return true
}

// freshAhead returns an ahead that no worker uses.
func (l *Loop) freshAhead() *ahead {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.ahead; a != nil {
		if a.lost.Load() == 0 {
			return a
		}
		a.left = true
	}
	if a := l.spare; a != nil {
		l.spare = nil
		return a
	}
	return &ahead{reads: make([]early, 0, mostReads), buf: make([]byte, mostReads*readRoom)}
}

// letGo is called by an overtaken worker that will not use a again. If more threads want to run than there are
// processors, that happens a hundred times a second, so a is kept for reuse.
func (l *Loop) letGo(a *ahead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.lost.Add(-1) == 0 && a.left {
		clear(a.reads)
		a.left, l.spare = false, a
	}
}

// letOthersRun yields the processor to the workers that the loop started lately. A worker that is done with one
// connection can serve the next one; if none has started yet, each connection costs another stack and other buffers.
func (l *Loop) letOthersRun() {
	away := l.g.away.Load()
	if away >= l.away+fewStarts {
		runtime.Gosched()
		away = l.g.away.Load()
		l.away = away
	}
	l.away = min(l.away, away)
}

// takeAhead makes w serve the next connection that was read from.
func (w *Worker) takeAhead(a *ahead) *Conn {
	w.early = &a.reads[a.served]
	a.served++
	return w.early.c
}

// HasAhead reports whether the loop has read from c before w serves it.
func (w *Worker) HasAhead(c *Conn) bool { return w.early != nil && w.early.c == c && c.Ahead }

// TakeBytes is like TakeAhead if there are bytes. If not, it reports false and leaves the state unchanged.
func (w *Worker) TakeBytes(c *Conn) (p []byte, more, ok bool) {
	e := w.early
	if e == nil || e.c != c || e.err != nil || e.to == e.from {
		return nil, false, false
	}
	w.early = nil
	return w.ahead.buf[e.from:e.to], e.full, true
}

// TakeAhead returns what was read from c, with the results of TryRead, and whether there may be more. It may be
// called once, if HasAhead is true. The bytes are valid until w has served c.
func (w *Worker) TakeAhead() (p []byte, more bool, err error) {
	e := w.early
	w.early = nil
	return w.ahead.buf[e.from:e.to], e.full, e.err
}

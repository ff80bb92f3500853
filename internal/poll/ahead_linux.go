package poll

import (
	"runtime"
	"sync/atomic"
)

// A loop reads from several connections, one behind the other, before it serves them: that
// keeps the kernel's way in, and then the server, in the processor's caches.

// ahead is what was read from connections. If the worker that serves them is overtaken, who leads
// instead goes on with those that it has not come to.
type ahead struct {
	reads  []early
	served int // of them
	buf    []byte
	lost   atomic.Int32 // how many workers were overtaken that may still look at it, see letGo
	left   bool         // the loop has gone on to another one; Loop.mu guards it
}

// early is what was read from a connection before it is served.
type early struct {
	c        *Conn
	from, to int   // in ahead.buf
	full     bool  // there may be more
	err      error // instead
}

const (
	mostReads = 16
	readRoom  = 4 << 10 // for each

	// fewStarts is how many workers are started off the loop before they get to run.
	fewStarts = 4
)

// readAhead looks at the events that are left up to one that is not a connection's, or
// until enough connections are there to be served, and reads from these. It reports false
// if there is nothing to do.
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

// freshAhead returns an ahead that nobody looks at.
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

// letGo is called by a worker that has been overtaken, and looks at a no more. Where more threads
// want processors than there are that happens a hundred times a second, so a is kept.
func (l *Loop) letGo(a *ahead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.lost.Add(-1) == 0 && a.left {
		clear(a.reads)
		a.left, l.spare = false, a
	}
}

// letOthersRun gives the processor to workers that the loop has had started lately: who is
// done with one connection serves the next, while those that have not begun would each have
// a stack and buffers of their own.
func (l *Loop) letOthersRun() {
	away := l.g.away.Load()
	if away >= l.away+fewStarts {
		runtime.Gosched()
		away = l.g.away.Load()
		l.away = away
	}
	l.away = min(l.away, away)
}

// takeAhead makes w the one who serves the next connection that was read from.
func (w *Worker) takeAhead(a *ahead) *Conn {
	w.early = &a.reads[a.served]
	a.served++
	return w.early.c
}

// HasAhead reports whether something was read from c before w serves it.
func (w *Worker) HasAhead(c *Conn) bool { return w.early != nil && w.early.c == c && c.Ahead }

// TakeBytes is TakeAhead if that returns bytes; else it reports false, and has not been called.
func (w *Worker) TakeBytes(c *Conn) (p []byte, more, ok bool) {
	e := w.early
	if e == nil || e.c != c || e.err != nil || e.to == e.from {
		return nil, false, false
	}
	w.early = nil
	return w.ahead.buf[e.from:e.to], e.full, true
}

// TakeAhead returns what was read from c, as TryRead does, once, and whether there may be
// more. HasAhead has to be true. The bytes may be looked at until w has served c.
func (w *Worker) TakeAhead() (p []byte, more bool, err error) {
	e := w.early
	w.early = nil
	return w.ahead.buf[e.from:e.to], e.full, e.err
}

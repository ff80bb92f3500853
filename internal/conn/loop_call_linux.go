package conn

import (
	"time"

	"github.com/gallop-http/gallop/internal/poll"
)

// MayRunAt reports whether the program may be called by the worker, for the place with this index: on the loop, or, if the
// worker does not lead, off it. If not on the loop, the next turn of the connection is read off it too, in the hope that it
// is for the same place: that is cheaper than to pass it on.
func (c *Conn) MayRunAt(what uint32) bool {
	place := &c.Server.Places.Places[what]
	c.Loop.place, c.Loop.what = place, what
	c.Loop.Conn.Away = !IsFast(place.Load())
	return !c.Loop.Conn.Away || !c.Loop.Worker.Leads()
}

// RunAway has the program called off the loop. It reports whether the worker may do so.
func (c *Conn) RunAway() bool {
	c.Loop.Conn.Away = true
	return !c.Loop.Worker.Leads()
}

// StartOffLoop is called before the program is called off the loop. It returns when that was, or a bit earlier.
func (c *Conn) StartOffLoop() time.Time {
	c.Server.Loops.pooled.Add(1)
	start := c.Now // not much before: clocks are dear
	if c.Entry.is(phaseQueued) {
		start = time.Now()
	}
	return start
}

// EndOffLoop is called when the program has returned.
func (c *Conn) EndOffLoop(start time.Time) {
	seat := &c.Loop
	seat.Ended = start.Add(time.Since(start))
	if seat.place != nil && seat.Conn.Away {
		ran(seat.place, seat.Ended.Sub(start))
	}
}

// SeatAt returns a seat for calls of the program that w makes for the place with this index, while the connection is parked. A
// wire that serves several things at once parks the connection first. If the program then does not return at once, it does
// not hold up the others.
func (s *Server) SeatAt(w *poll.Worker, what uint32) Seat {
	return Seat{Worker: w, place: &s.Places.Places[what], what: what}
}

// RanOffLoop takes note of a call of the program for the place with this index. The call was made off the loops, while the
// connection was parked or another goroutine served it.
func (s *Server) RanOffLoop(what uint32, took time.Duration) {
	s.Loops.pooled.Add(1)
	ran(&s.Places.Places[what], took)
}

// StartOnLoop is called before the program is called on the loop. It returns when that was, if it is to be timed.
func (l *Seat) StartOnLoop() (start poll.Moment, timed bool) {
	if timed = isSample(l.Worker.Count(l.what)); timed {
		start = poll.Now()
	}
	return start, timed
}

// EndOnLoop is called when the program has returned that was called on the loop.
func (l *Seat) EndOnLoop(start poll.Moment, timed bool) {
	if !l.Worker.Leads() {
		if told := l.Worker.Done(); !told && l.place != nil {
			mispredicted(l.place)
		}
	} else if timed {
		took := time.Duration(poll.Now() - start)
		l.Worker.Pace(took)
		if l.place != nil {
			ran(l.place, took)
		}
	}
}

// Leave makes another worker lead the loop, if the worker leads it. It is for a program that is about to wait.
func (l *Seat) Leave() {
	if l.Worker != nil {
		l.Worker.Leave()
	}
}

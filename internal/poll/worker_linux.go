package poll

import (
	"slices"
	"sync/atomic"
	"time"
)

// Worker is a goroutine that leads a loop or serves a connection off the loops.
type Worker struct {
	// Local belongs to the handler, which can keep state there from one connection to the next.
	Local any

	g          *Group
	loop       *Loop // the loop that it leads, or led last
	run        uint64
	one        bool          // it serves only one connection in this run
	later      *Conn         // connection that gets laterBytes after the run
	laterBytes []byte        // what to send
	laterBy    Moment        // until when later is parked afterwards
	ahead      *ahead        // its loop's, for the run
	early      *early        // what was read ahead from the connection that it serves
	pace       time.Duration // about the longest duration of recent runs
	now        time.Time     // when its loop last read the clock
	at         Moment        // now, as a Moment
	queued     int           // how many connections its loop served again after this run began
	accepted   accepted      // result of the last accept
	accept4    func(uintptr) // function that sets accepted
	tasks      chan task
	since      uint64 // the reaper's round in which it became idle

	// late changes when an overtaken run ends, and when the handler is told that such a run goes on. The side that
	// changes it first has decided between the two. ended is the value of late that the worker itself knows.
	late  atomic.Uint32
	ended uint32
}

// task is what a worker does next.
type task struct {
	lead *Loop
	data any
}

// handed is a connection that a worker off the loops must serve.
type handed struct{ c *Conn }

// Hand makes a worker off the loops call Handler.Run with data.
func (g *Group) Hand(data any) {
	g.away.Add(1)
	g.start(task{data: data})
}

// runTask does a task off the loops.
func (w *Worker) runTask(t task) {
	w.loop = nil
	switch data := t.data.(type) {
	case handed:
		w.g.h.Serve(w, data.c)
	case unsent:
		w.g.h.Unsent(w, data.c, data.rest)
	case taken:
		data.take(w)
	default:
		w.g.h.Run(w, data)
	}
}

// start gives a task to the worker that worked most recently, or to a new one.
func (g *Group) start(t task) {
	g.mu.Lock()
	if n := len(g.idle); n > 0 {
		w := g.idle[n-1]
		g.idle[n-1] = nil
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		w.tasks <- t
		return
	}
	g.mu.Unlock()
	w := &Worker{g: g, tasks: make(chan task, 1)}
	w.tasks <- t
	g.workers.Add(1)
	go w.work()
}

// work does tasks until the worker has been idle for too long.
func (w *Worker) work() {
	finished := false
	defer func() {
		w.g.workers.Add(-1)
		if !finished { // the goroutine ends by runtime.Goexit, or the process by a panic
			w.abandon()
		}
	}()
	for t := range w.tasks {
		if t.lead != nil {
			if w.lead(t.lead) {
				break
			}
		} else {
			w.runTask(t)
		}
		w.g.away.Add(-1)
		if !w.rest() {
			break
		}
	}
	finished = true
}

// abandon passes on what a worker held whose goroutine ends in the middle of a call.
func (w *Worker) abandon() {
	w.Done()
	if w.loop != nil {
		w.loop.steal(w.run)
	}
	w.g.away.Add(-1)
}

// Group returns the group that w belongs to.
func (w *Worker) Group() *Group { return w.g }

// Leads reports whether w serves a connection on the loop, which waits meanwhile.
func (w *Worker) Leads() bool { return w.loop != nil && w.loop.baton.Load() == w.run }

// Leave makes another worker lead the loop if w leads it. A worker that is about to wait calls Leave, unless it waits in a
// method of a Conn that it serves.
func (w *Worker) Leave() {
	if w.loop != nil {
		w.loop.steal(w.run)
	}
}

// ServeIfOvertaken has c, which is parked, served by the worker that takes over the loop if w is overtaken or leaves. w leads.
func (w *Worker) ServeIfOvertaken(c *Conn) { w.loop.left.Store(c) }

// whatBits is the number of bits of the numbers that Count is passed.
const whatBits = 10

// Whats is the number of values that Count accepts: from 0 to Whats-1.
const Whats = 1 << whatBits

// Count increments the counter of the loop that w leads and returns the new count. what is remembered for
// Handler.Overdue. Each loop has its own counter, so that processors do not compete for it.
func (w *Worker) Count(what uint32) uint64 {
	called := &w.loop.called
	was := called.Load() % Whats
	return called.Add(Whats+uint64(what)-was) / Whats // a count may get lost if w has just been overtaken
}

// Done says that w has finished what it passed to Count, even if w no longer leads. It reports whether
// Handler.Overdue was called for it.
func (w *Worker) Done() (told bool) {
	told = !w.late.CompareAndSwap(w.ended, w.ended+1)
	w.ended++
	return told
}

// Now returns the time. If w leads, that is when its loop last read the clock.
func (w *Worker) Now() time.Time {
	if w.Leads() {
		return w.now
	}
	return time.Now()
}

// Moment returns the moment at which the loop last read the clock before the run, even if w no longer leads.
func (w *Worker) Moment() Moment { return w.at }

// Queued returns how many connections the loop was to serve without an event when the run began.
func (w *Worker) Queued() int { return w.queued }

// rest puts w among the idle workers. It reports false if there are no loops any more.
func (w *Worker) rest() bool {
	g := w.g
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.closed:
		return false
	default:
	}
	w.since = g.round
	g.idle = append(g.idle, w)
	if !g.reaper {
		g.reaper = true
		time.AfterFunc(g.idleTime, g.reap)
	}
	return true
}

// reap ends the workers that have been idle for too long.
func (g *Group) reap() {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := 0
	for old < len(g.idle) && g.idle[old].since < g.round {
		close(g.idle[old].tasks)
		old++
	}
	g.round++
	g.idle = append(g.idle[:0], g.idle[old:]...)
	clear(g.idle[len(g.idle):cap(g.idle)])
	if g.reaper = len(g.idle) > 0; g.reaper {
		time.AfterFunc(g.idleTime, g.reap)
	}
}

// The watchdog looks at the batons every tick. It takes a baton that has not changed since the last tick while
// something was being served. It sleeps while no loop is awake.

const dogTick = time.Millisecond

// overdue is how long an overtaken worker may go on before the handler is told. If more threads want to run than
// there are processors, workers are overtaken that are not waiting for anything; these take less time.
const overdue = 50 * time.Millisecond

// overtaken is a run from which the watchdog took the baton.
type overtaken struct {
	w     *Worker
	late  uint32 // value of w.late when it was overtaken
	what  uint32
	since Moment
}

// overtake takes the baton from the worker of this run and returns who that is.
func (l *Loop) overtake(run uint64) (o overtaken, ok bool) {
	w := l.leader.Load() // it serves the run, provided that the baton can still be taken
	o = overtaken{w: w, late: w.late.Load(), what: uint32(l.called.Load() % Whats), since: Now()}
	return o, l.steal(run)
}

// remind tells the handler about runs that take too long. It returns those that have neither ended nor been reported.
func (g *Group) remind(all []overtaken) []overtaken {
	now := Now()
	return slices.DeleteFunc(all, func(o overtaken) bool {
		if o.w.late.Load() == o.late && now < o.since.Add(overdue) {
			return false
		}
		if o.w.late.CompareAndSwap(o.late, o.late+1) {
			g.h.Overdue(o.what)
		}
		return true
	})
}

func (g *Group) dog() {
	var seen []uint64
	var late []overtaken
	timer := time.NewTimer(dogTick)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-g.closed:
			return
		}
		for i, l := range g.all() {
			if i == len(seen) {
				seen = append(seen, 0)
			}
			baton := l.baton.Load()
			if baton&1 == 1 && baton == seen[i] {
				if o, ok := l.overtake(baton); ok {
					g.stolen.Add(1)
					late = append(late, o)
				}
			}
			seen[i] = baton
		}
		if len(late) > 0 {
			late = g.remind(late)
		} else if !g.anyAwake() && !g.dogSleeps() {
			return
		}
		timer.Reset(dogTick)
	}
}

func (g *Group) anyAwake() bool {
	for _, l := range g.all() {
		if l.awake.Load() {
			return true
		}
	}
	return false
}

// dogSleeps waits until a loop wakes up. It reports false if all loops have ended.
func (g *Group) dogSleeps() bool {
	g.dogAsleep.Store(true)
	defer g.dogAsleep.Store(false)
	if g.anyAwake() { // a loop may have looked at dogAsleep just before
		return true
	}
	select {
	case <-g.dogBell:
		return true
	case <-g.closed:
		return false
	}
}

// watch wakes the watchdog. A loop calls it when it wakes up.
func (g *Group) watch() {
	if g.dogAsleep.Load() {
		select {
		case g.dogBell <- struct{}{}:
		default:
		}
	}
}

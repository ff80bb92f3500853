package poll

import (
	"slices"
	"sync/atomic"
	"time"
)

// Worker is a goroutine that leads a loop, or serves a connection off the loops. What it
// has in Local it keeps from one connection to the next.
type Worker struct {
	// Local is the handler's.
	Local any

	g          *Group
	loop       *Loop // that it leads, or led last
	run        uint64
	one        bool          // it serves no more than one connection in this run
	later      *Conn         // what it shall send to after the run,
	laterBytes []byte        // this
	laterBy    Moment        // and then park
	ahead      *ahead        // its loop's, for the run
	early      *early        // what of that was read from what it serves
	pace       time.Duration // what a run takes, at most, lately
	now        time.Time     // when its loop last looked at the clock
	at         Moment        // now
	accepted   accepted      // at last,
	accept4    func(uintptr) // by this
	tasks      chan task
	since      uint64 // the reaper's round in which it became idle

	// late is another number whenever a run has ended that was overtaken, or the handler has been told that it goes
	// on. Whoever makes it the next one tells; ended is what it was for the worker at last.
	late  atomic.Uint32
	ended uint32
}

// task is what a worker does next.
type task struct {
	lead *Loop
	data any
}

// kick is a connection to be served by a worker off the loops.
type kick struct{ c *Conn }

// Hand has Run called with data by a worker off the loops.
func (g *Group) Hand(data any) {
	g.away.Add(1)
	g.start(task{data: data})
}

// runTask does a task off the loops.
func (w *Worker) runTask(t task) {
	w.loop = nil
	switch data := t.data.(type) {
	case kick:
		w.g.h.Serve(w, data.c)
	case unsent:
		w.g.h.Unsent(w, data.c, data.rest)
	case taken:
		data.take(w)
	default:
		w.g.h.Run(w, data)
	}
}

// start gives a task to the worker that worked last, or to a new one.
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

// work does tasks until there has been none for long.
func (w *Worker) work() {
	finished := false
	defer func() {
		w.g.workers.Add(-1)
		if !finished { // runtime.Goexit, or a panic that ends the process
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

// whatBits is how many bits there are for what Count is told.
const whatBits = 10

// Whats is how many numbers there are for what Count is told: those below it.
const Whats = 1 << whatBits

// Count counts something that w does on the loop that it leads, and tells what, for Handler.Overdue. Loops
// count by themselves, so that no processor has to ask another one for the number. It returns how much that is.
func (w *Worker) Count(what uint32) uint64 {
	called := &w.loop.called
	was := called.Load() % Whats
	return called.Add(Whats+uint64(what)-was) / Whats // of two, should w have been overtaken just now, one may be lost
}

// Done tells that w is done with what it has told Count, though it does not lead any more. It reports whether
// Handler.Overdue was told that it was not.
func (w *Worker) Done() (told bool) {
	told = !w.late.CompareAndSwap(w.ended, w.ended+1)
	w.ended++
	return told
}

// Now returns the time: for who leads, that when its loop last looked at the clock.
func (w *Worker) Now() time.Time {
	if w.Leads() {
		return w.now
	}
	return time.Now()
}

// Moment is Now for a worker that led at the beginning of the run, whether it does still or not.
func (w *Worker) Moment() Moment { return w.at }

// rest puts w among the idle ones. It reports false if there are no loops any more.
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

// reap ends the workers that have been idle for long.
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

// The watchdog looks at the batons every tick, and takes one that has not moved while
// something was served. While no loop is awake it sleeps.

const dogTick = time.Millisecond

// overdue is after how long the handler is told that a worker goes on that was overtaken. Where more threads want processors
// than there are, many are overtaken that have nothing to wait for; they do not take as long.
const overdue = 50 * time.Millisecond

// overtaken is a run that the watchdog has taken the baton from.
type overtaken struct {
	w     *Worker
	late  uint32 // w's, then
	what  uint32
	since Moment
}

// overtake takes the baton from who serves the run, and says whom that is.
func (l *Loop) overtake(run uint64) (o overtaken, ok bool) {
	w := l.leader.Load() // who serves the run, if it is that one still when the baton is taken
	o = overtaken{w: w, late: w.late.Load(), what: uint32(l.called.Load() % Whats), since: Now()}
	return o, l.steal(run)
}

// remind tells the handler of those that go on for too long, and returns those of which that is not known yet.
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

// dogSleeps waits until a loop wakes up, and reports false if all have ended.
func (g *Group) dogSleeps() bool {
	g.dogAsleep.Store(true)
	defer g.dogAsleep.Store(false)
	if g.anyAwake() { // it may have looked before
		return true
	}
	select {
	case <-g.dogBell:
		return true
	case <-g.closed:
		return false
	}
}

// watch wakes the watchdog up. A loop calls it when it is awake.
func (g *Group) watch() {
	if g.dogAsleep.Load() {
		select {
		case g.dogBell <- struct{}{}:
		default:
		}
	}
}

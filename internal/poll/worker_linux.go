package poll

import (
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
}

// task is what a worker does next.
type task struct {
	lead *Loop
	data any
}

// kick is a connection to be served by a worker off the loops.
type kick struct{ c *Conn }

// idleWorker is how often workers are ended that have waited for something to do ever since the
// last time.
const idleWorker = 10 * time.Second

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
	if w.loop != nil {
		w.loop.steal(w.run)
	}
	w.g.away.Add(-1)
}

// Group returns the group that w belongs to.
func (w *Worker) Group() *Group { return w.g }

// Leads reports whether w serves a connection on the loop, which waits meanwhile.
func (w *Worker) Leads() bool { return w.loop != nil && w.loop.baton.Load() == w.run }

// Count counts something that w does on the loop that it leads. Loops count by themselves, so
// that no processor has to ask another one for the number.
func (w *Worker) Count() { w.loop.called.Add(1) }

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
		time.AfterFunc(idleWorker, g.reap)
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
		time.AfterFunc(idleWorker, g.reap)
	}
}

// The watchdog looks at the batons every tick, and takes one that has not moved while
// something was served. While no loop is awake it sleeps.

const dogTick = time.Millisecond

func (g *Group) dog() {
	var seen []uint64
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
			if baton&1 == 1 && baton == seen[i] && l.steal(baton) {
				g.stolen.Add(1)
			}
			seen[i] = baton
		}
		if !g.anyAwake() && !g.dogSleeps() {
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

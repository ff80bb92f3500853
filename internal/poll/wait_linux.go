package poll

import (
	"runtime"
	"syscall"
	"time"
)

// How a loop waits.
//
// A wait in the kernel is cheapest, but it keeps the loop's processor from the rest of the program. The runtime
// starts no other goroutine there, fires no timers, and polls the network only every 10 ms. It does not even notice
// the wait, see pollFor. A wait through the
// runtime, whose epoll watches the loop's epoll, takes twice as many system calls. So a loop waits in the kernel only
// while no other goroutine needs the processor.
//
//  - Other goroutines may run first. The loop looks for events again as long as any of them did.
//  - The loop waits through the runtime if other goroutines wait for the network (see others) or workers run off the
//    loops.
//  - The loop waits through the runtime unless its last waits were short. A loop with little to do gains nothing in
//    the kernel.
//  - A clock ticks during waits in the kernel, so no wait is longer than a millisecond. A timeout for each wait
//    would cost as much as a wait through the runtime on virtual machines, which trap whenever the processor's timer
//    is set.
//
// A loop that always has something to do takes a break every breakAfter.

const (
	// shortWait is the maximum duration of a short wait. After shortWaits short ones a loop waits in the kernel. A
	// longer wait outweighs longWait short ones, and at most mostShort are counted. So a busy loop stays in the
	// kernel after a single long wait, and a loop that becomes idle leaves the kernel after at most three long waits.
	shortWait  = 200 * time.Microsecond
	shortWaits = 8
	longWait   = 4
	mostShort  = 16

	// kernelWait is the maximum time that a loop waits in the kernel.
	kernelWait = time.Millisecond

	// pollWithin is the maximum time between two network polls of the runtime while loops are busy. It matters for
	// goroutines that others does not know yet.
	pollWithin = 4 * time.Millisecond

	// parkWithin is the maximum time in which a loop has only waits in the kernel. During a wait through the runtime, its
	// processor takes over goroutines that others have no time for.
	parkWithin = 2 * time.Millisecond

	// breakAfter is how long a loop is busy before it lets other goroutines run.
	breakAfter = 200 * time.Microsecond

	// someoneRan is a duration. If looking for events and runtime.Gosched take longer, another goroutine ran.
	someoneRan = 5 * time.Microsecond
)

// waits is what a loop knows about its waits. It belongs to the leader.
type waits struct {
	rested  Moment // when other goroutines could run last
	polled  Moment // when the runtime could poll the network last
	looked  Moment // when the loop looked for events last
	short   int    // number of short waits, minus those that long waits outweigh
	ticking bool   // the loop's clock is running

	expires Moment                // the deadline of Loop.file, or 0
	look    func(fd uintptr) bool // looks for events; returns true once there are any
	looks   int                   // number of calls of look
	knock   func(fd uintptr) bool // makes the runtime poll once
	knocked bool
}

// wait waits for events or other work. It reports false if the loop has to end.
func (l *Loop) wait() bool {
	if l.g.away.Load() > 0 {
		runtime.Gosched() // workers off the loops have something to do
	}
	l.n, l.next = 0, 0
	alone := l.alone()
	if alone {
		l.look()
	} else {
		l.tick() // look for events before waiting
	}
	for l.idle() {
		if l.g.users.Load() == 0 {
			return false
		}
		if alone && (l.yield() || !l.idle()) {
			continue
		}
		from := l.now
		l.sleep(alone)
		l.tick()
		l.waits.looked = l.now
		l.waits.note(l.now - from)
		alone = l.alone()
	}
	if l.n == 0 {
		l.catchUp() // a connection that is served again and again does not keep the loop from looking for events
	} else {
		l.takeBreak()
	}
	return true
}

func (l *Loop) idle() bool { return l.n == 0 && len(l.due) == 0 && l.again.len() == 0 }

// look fetches the events that are there.
func (l *Loop) look() {
	l.tick()
	l.waits.looked = l.now
	if l.kernel != nil {
		l.n, l.next = l.kernel.EpollWait(l.ep, l.events[:], 0), 0
		return
	}
	n, err := pollNow(l.ep, l.events[:])
	if err != nil && err != syscall.EINTR {
		panic("poll: epoll_wait: " + err.Error())
	}
	l.n, l.next = max(n, 0), 0
}

// tick reads the clock and does what is due.
func (l *Loop) tick() {
	l.time = l.watch.Now()
	l.now = MomentOf(l.time)
	l.takePosts()
	l.wheel.Advance(int64(l.now), l.fire)
}

// yield lets other goroutines run, and reports whether any did. If so, it looks for events again. Otherwise, the wait does.
func (l *Loop) yield() (ran bool) {
	from := l.now
	runtime.Gosched()
	l.tick()
	if ran = l.kernel == nil && l.now-from > Moment(someoneRan); ran || l.kernel != nil {
		l.look()
	}
	l.waits.rested = l.now
	return ran
}

// takeBreakBetween is takeBreak between two batches of connections, since each batch may take long.
func (l *Loop) takeBreakBetween() {
	if l.kernel != nil || l.next == 0 { // wait has just returned the first batch, so no break is due
		return
	}
	l.time = l.watch.Now()
	if l.now = MomentOf(l.time); l.now >= l.waits.rested.Add(breakAfter) {
		l.send()
		l.takeBreak()
	}
}

// catchUp looks for events and takes a break, if that was not done for long because the same connections keep sending
// requests.
func (l *Loop) catchUp() {
	if l.kernel != nil || Now() < l.waits.looked.Add(againTime) {
		return
	}
	l.look()
	l.takeBreak()
}

// takeBreak lets other goroutines run and timers fire, and makes the runtime poll the network for them, unless all of
// that was possible lately.
func (l *Loop) takeBreak() {
	w := &l.waits
	if l.kernel != nil || l.now < w.rested.Add(breakAfter) {
		return
	}
	poll := l.now >= w.polled.Add(pollWithin) || !l.quiet()
	if poll {
		l.pollNetwork()
	}
	runtime.Gosched()
	l.tick()
	if w.rested = l.now; poll {
		w.polled = l.now
	}
}

// pollNetwork makes the runtime poll the network, by waiting for something that the poll finds.
func (l *Loop) pollNetwork() {
	l.waits.knocked = false
	l.expireBy(0)
	_ = l.queue.Read(l.waits.knock)
}

// sleep waits until there may be an event or other work.
func (l *Loop) sleep(alone bool) {
	l.awake.Store(false)
	defer func() {
		l.awake.Store(true)
		l.g.watch()
	}()
	if l.posts.Load() > 0 || l.g.users.Load() == 0 {
		return
	}
	at, timed := l.wheel.Next()
	if !timed {
		at = 0
	}
	switch {
	case l.kernel != nil:
		timeout := time.Duration(-1)
		if timed {
			timeout = time.Duration(max(at-int64(Now()), 1))
		}
		l.n, l.next = l.kernel.EpollWait(l.ep, l.events[:], timeout), 0
	case alone:
		timeout := -1
		if !l.tickWhile(true) {
			timeout = int(kernelWait / time.Millisecond)
		}
		l.n, _ = pollFor(l.ep, l.events[:], timeout)
		l.next = 0
	default:
		if l.waits.ticking && (l.waits.short == 0 || !l.quiet()) {
			l.tickWhile(false)
		}
		l.expireBy(Moment(at))
		l.waits.looks = 0
		if _ = l.queue.Read(l.waits.look); l.waits.looks > 1 { // the runtime ran other goroutines in between
			l.waits.polled = Now()
			l.waits.rested = l.waits.polled
		}
	}
}

// note records how long a wait took.
func (w *waits) note(took Moment) {
	if took > Moment(shortWait) {
		w.short = max(w.short-longWait, 0)
	} else if w.short < mostShort {
		w.short++
	}
}

// tickWhile starts or stops the loop's clock, and reports whether the loop has one.
func (l *Loop) tickWhile(on bool) bool {
	if l.clock < 0 {
		return false
	}
	if on != l.waits.ticking {
		l.waits.ticking = on
		every := time.Duration(0)
		if on {
			every = kernelWait
		}
		setTicker(l.clock, every)
	}
	return true
}

// alone reports whether the loop may wait in the kernel.
func (l *Loop) alone() bool {
	w := &l.waits
	return l.kernel != nil || w.short >= shortWaits && l.now < w.polled.Add(parkWithin) && l.quiet()
}

// quiet reports whether no other goroutine is known to need the loop's processor.
func (l *Loop) quiet() bool {
	g := l.g
	return g.away.Load() == 0 && !theOthers.wait(l.now, runtime.NumGoroutine()-int(g.workers.Load()))
}

// initWaits creates the functions that queue.Read calls, so that they are not allocated each time.
func (l *Loop) initWaits() {
	l.waits.look = func(uintptr) bool {
		l.waits.looks++
		n, _ := pollNow(l.ep, l.events[:])
		l.n, l.next = max(n, 0), 0
		return n != 0
	}
	l.waits.knock = func(uintptr) bool {
		if l.waits.knocked {
			return true
		}
		l.waits.knocked = true // so the runtime has to poll to notice
		ringBell(l.bell)
		return false
	}
}

// expireBy makes queue.Read end at a moment, or clears the deadline if at is 0. Read may end too early once.
func (l *Loop) expireBy(at Moment) {
	w := &l.waits
	over := w.expires != 0 && w.expires <= Now()
	if !over && (at == 0 || w.expires != 0 && w.expires <= at) {
		return
	}
	var until time.Time
	if at != 0 {
		until = time.Now().Add(time.Duration(at - Now()))
	}
	_ = l.file.SetReadDeadline(until)
	w.expires = at
}

package poll

import (
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// Loop waits for events on the sockets of many connections and has the connections served one by one, by the worker
// that leads it. A worker leads while it holds the baton. If the connection that it serves has to wait, or takes
// long, the baton is taken from it and another worker leads. The overtaken worker serves its connection to the end,
// notices that it no longer leads, and retires.
//
// All fields belong to the leader, except those marked as shared.
type Loop struct {
	g     *Group
	ep    int
	bell  int // an eventfd
	clock int // a timer as a descriptor, or -1
	queue syscall.RawConn
	file  *os.File // makes the runtime watch ep; queue is its raw connection

	kernel Kernel // the group's; if set, only ep is used, and bell, clock, queue and file are not

	// baton is shared. It is even while nothing is served, and odd while something is, with a new number each time. A
	// worker that changes an odd baton leads.
	baton atomic.Uint64

	conns  atomic.Int32  // shared: number of connections
	awake  atomic.Bool   // shared: the loop is not waiting for events
	called atomic.Uint64 // shared: Worker.Count's count in the high bits, the last number it was passed in the low bits

	leader atomic.Pointer[Worker] // shared
	left   atomic.Pointer[Conn]   // shared: to be served if the leader loses the baton, see ServeIfOvertaken

	events  [256]syscall.EpollEvent
	n, next int // number of events, and index of the next one to look at
	ahead   *ahead
	spare   *ahead // nil, or an ahead that no worker uses; mu guards it
	away    int64  // workers off the loops that already had a chance to run, see letOthersRun
	wheel   *clock.Wheel[*Conn]
	due     []*Conn    // connections that expired
	dues    int        // how many of them were served since the loop has looked at events
	again   againQueue // connections to serve without an event: they have something to read, or Kick or Requeue was called
	agains  int        // how many of them were served since the loop has looked at events
	againBy Moment     // when the loop looks at events, although some of them are left
	answers [mostAnswers]answer
	waiting int    // number of collected responses in answers
	bytes   []byte // bytes of the collected responses
	watch   clock.Watch
	now     Moment
	time    time.Time // now, as a time.Time
	waits   waits
	self    file // file, for theOthers

	mu     sync.Mutex // guards what other goroutines post
	ended  bool
	posted []post
	posts  atomic.Int32 // len(posted)
}

// post is a message to the leader about a connection.
type post struct {
	c    *Conn
	what int8
}

const (
	postTime  = iota // the connection is new, or expires earlier than before
	postGone         // the connection was detached
	postServe        // the connection was claimed, and is to be served
)

const (
	eventsIn   = syscall.EPOLLIN | syscall.EPOLLRDHUP | edgeTriggered
	eventsBoth = eventsIn | syscall.EPOLLOUT

	edgeTriggered = 1 << 31
	exclusive     = 1 << 28
)

func newLoop(g *Group) (*Loop, error) {
	l := &Loop{g: g, kernel: g.kernel}
	l.time = l.watch.Now()
	l.now = MomentOf(l.time)
	l.wheel = clock.NewWheel[*Conn](wheelTick, 1024, int64(l.now))
	var err error
	if l.kernel != nil {
		l.ep, err = l.kernel.EpollCreate()
		l.bell = math.MinInt32 // not a valid descriptor
		return l, err
	}
	if l.ep, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.bell, err = eventfd(); err != nil {
		_ = syscall.Close(l.ep)
		return nil, os.NewSyscallError("eventfd", err)
	}
	if err = l.control(syscall.EPOLL_CTL_ADD, l.bell, syscall.EPOLLIN|edgeTriggered, 0); err == nil {
		err = syscall.SetNonblock(l.ep, true) // so that package os watches it
	}
	if err != nil {
		_ = syscall.Close(l.bell)
		_ = syscall.Close(l.ep)
		return nil, err
	}
	l.file = os.NewFile(uintptr(l.ep), "epoll")
	l.self = theOthers.add(l.ep)
	l.clock = l.newClock()
	if l.queue, err = l.file.SyscallConn(); err != nil {
		l.close()
		return nil, err
	}
	l.initWaits()
	return l, nil
}

func (l *Loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.kernel != nil {
		_ = l.kernel.Close(l.ep)
		return
	}
	theOthers.remove(l.self)
	_ = l.file.Close()
	_ = syscall.Close(l.bell)
	if l.clock >= 0 {
		_ = syscall.Close(l.clock)
	}
}

// newClock returns a ticker that the loop watches, or -1.
func (l *Loop) newClock() int {
	fd := newTicker()
	if fd >= 0 && l.control(syscall.EPOLL_CTL_ADD, fd, syscall.EPOLLIN|edgeTriggered, 0) != nil {
		_ = syscall.Close(fd)
		return -1
	}
	return fd
}

func (l *Loop) control(op, fd int, events uint32, gen uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(fd), Pad: int32(gen)}
	return os.NewSyscallError("epoll_ctl", l.epollCtl(op, fd, &event))
}

func (l *Loop) modify(c *Conn, events uint32) error {
	return l.control(syscall.EPOLL_CTL_MOD, int(c.fd), events, c.gen.Load())
}

// forget stops events for c, whose descriptor stays open.
func (l *Loop) forget(c *Conn) { _ = l.control(syscall.EPOLL_CTL_DEL, int(c.fd), 0, 0) }

// post sends the leader a message about c.
func (l *Loop) post(c *Conn, what int8) {
	l.mu.Lock()
	l.posted = append(l.posted, post{c, what})
	l.posts.Store(int32(len(l.posted)))
	l.mu.Unlock()
	if what == postGone {
		l.conns.Add(-1)
		l.g.leave()
	} else {
		l.wake()
	}
}

// wake ends the wait for events.
func (l *Loop) wake() {
	if !l.awake.Load() {
		l.ring()
	}
}

func (l *Loop) ring() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
	case l.kernel != nil:
		l.kernel.Ring(l.ep)
	default:
		ringBell(l.bell)
	}
}

// takePosts handles the messages from other goroutines.
func (l *Loop) takePosts() {
	if l.posts.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.posted {
		switch {
		case p.what == postGone:
			l.wheel.Del(&p.c.timer)
		case p.what == postServe:
			l.again.push(p.c)
		case p.c.state.Load()&gone == 0:
			l.schedule(p.c, p.c.by.Load())
		}
	}
	clear(l.posted)
	l.posted = l.posted[:0]
	if cap(l.posted) > 1024 {
		l.posted = nil
	}
	l.posts.Store(0)
}

// recheck is the time after which an expired connection is looked at again if it is being served.
const recheck = time.Second

// schedule sets the timer of c to the moment by, or to a minute from now if by is 0.
func (l *Loop) schedule(c *Conn, by int64) {
	if by == 0 {
		by = int64(l.now.Add(time.Minute))
	}
	c.timer.Owner = c
	l.wheel.Add(&c.timer, by)
}

// fire looks at a connection whose timer has fired.
func (l *Loop) fire(t *clock.Timer[*Conn]) {
	c := t.Owner
	if c.state.Load()&gone != 0 {
		return
	}
	switch by := c.by.Load(); {
	case by == 0 || by > int64(l.now):
		l.schedule(c, by)
	case c.claimIdle():
		l.due = append(l.due, c)
		l.schedule(c, int64(l.now.Add(recheck)))
	default:
		l.schedule(c, int64(l.now.Add(recheck)))
	}
}

// claimIdle claims c if it is not being served and nothing has arrived.
func (c *Conn) claimIdle() bool {
	s := c.state.Load()
	return s&(busy|readable|gone) == 0 && c.state.CompareAndSwap(s, s|busy)
}

// lead leads the loop until the baton is lost or the loop ends. It reports whether the loop ended.
func (w *Worker) lead(l *Loop) (ended bool) {
	w.loop = l
	l.leader.Store(w)
	l.awake.Store(true)
	l.g.watch()
	for {
		l.send() // also what the previous leader left
		// Events come first. A client that sends without a pause has its connection queued again and again.
		for w.readAhead() {
			for a := l.ahead; a.served < len(a.reads); {
				c := w.takeAhead(a)
				w.begin(c)
				if w.g.h.Serve(w, c); !w.end() {
					return false
				}
			}
			if l.next < l.n && l.isListener(&l.events[l.next]) {
				index := int(-l.events[l.next].Fd - 1) // read before begin, after which w may not touch the loop
				l.next++
				l.send()
				w.begin(nil)
				if l.g.accept(w, index); !w.end() {
					return false
				}
			}
		}
		for l.dues < mostDue && len(l.due) > 0 {
			l.dues++
			c := l.due[len(l.due)-1]
			l.due = l.due[:len(l.due)-1]
			w.begin(c)
			if w.g.h.Expire(w, c); !w.end() {
				return false
			}
		}
		for l.mayServeAgain() {
			l.agains++
			c := l.again.pop()
			w.begin(c)
			if w.g.h.Serve(w, c); !w.end() {
				return false
			}
		}
		l.dues, l.agains = 0, 0
		if l.send(); l.again.len() > 0 || len(l.due) > 0 {
			l.catchUp()
			continue
		}
		w.g.h.Rest(w)
		if !l.wait() {
			l.g.ended(l)
			return true
		}
	}
}

// mostDue is how many expired connections are handled before the loop looks at events, even if other workers lead it meanwhile. All
// connections of a tick expire together, and each may cost as much as ten requests, because it gets a response and is closed.
const mostDue = 4

// mostAgain and againTime limit how many connections are served without an event, and for how long, before the loop looks at
// events. Thousands can be kicked at once, and clients that send faster than the server reads have their connections queued
// again and again. Requests on other connections do not wait for all of them.
const (
	mostAgain = 16
	againTime = 40 * time.Microsecond
)

// mayServeAgain reports whether a connection is to be served without an event.
func (l *Loop) mayServeAgain() bool {
	switch {
	case l.again.len() == 0 || l.agains == mostAgain:
		return false
	case l.agains == 0:
		l.againBy = Now().Add(againTime)
		return true
	}
	return Now() < l.againBy
}

// isListener reports whether an event is for a listener.
func (l *Loop) isListener(event *syscall.EpollEvent) bool {
	return event.Fd < 0 && event.Fd != int32(l.bell)
}

// ready returns the connection that an event is for, if it must be served.
func (l *Loop) ready(event *syscall.EpollEvent) *Conn {
	fd := int(event.Fd)
	if fd == l.bell { // it does not have to be read, because each write is an event
		return nil
	}
	c := l.g.table.get(fd)
	if c == nil || c.gen.Load() != uint32(event.Pad) {
		return nil
	}
	if event.Events == syscall.EPOLLIN && c.state.CompareAndSwap(0, busy) { // the most common case
		return c
	}
	bits := uint32(0)
	if event.Events&(syscall.EPOLLIN|syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		bits |= readable
	}
	if event.Events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		bits |= hungUp
	}
	if event.Events&(syscall.EPOLLOUT|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		bits |= writable
	}
	if event.Events&(syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		bits |= broken
	}
	if !c.claim(bits) {
		return nil
	}
	return c
}

// begin begins a run, in which w serves c unless c is nil. Until the run ends, w may be overtaken and must not touch
// the loop.
func (w *Worker) begin(c *Conn) {
	l := w.loop
	w.run, w.now, w.at, w.ahead, w.queued = l.baton.Load()+1, l.time, l.now, l.ahead, l.again.len()
	l.baton.Store(w.run)
	if w.one = c != nil; w.one {
		if c.led.Load() != l { // rare
			c.led.Store(l)
		}
		c.run.Store(w.run)
	}
}

// end ends a run and reports whether w still leads.
func (w *Worker) end() bool {
	leads := w.loop.baton.CompareAndSwap(w.run, w.run+1)
	w.early = nil
	if !leads {
		w.overtaken()
	}
	if w.later != nil {
		w.settle(leads)
	}
	return leads
}

// overtaken ends a run of a worker that no longer leads.
func (w *Worker) overtaken() {
	w.Done()
	w.g.h.Rest(w)
	if w.ahead != nil {
		w.loop.letGo(w.ahead)
		w.ahead = nil
	}
}

// again ends a run and begins another one. It is for a worker that does many short things in a row, so that the
// watchdog does not mistake them for one long run. It reports false if w was leading and no longer does.
func (w *Worker) again() bool {
	if w.loop == nil {
		return true
	}
	if !w.end() {
		return false
	}
	w.loop.letOthersRun()
	w.begin(nil)
	return true
}

// steal takes the baton from the worker of this run and makes another worker lead.
func (l *Loop) steal(run uint64) bool {
	if !l.baton.CompareAndSwap(run, run+1) {
		return false
	}
	if l.ahead != nil {
		l.ahead.lost.Add(1)
	}
	l.g.away.Add(1) // the overtaken worker goes on off the loop
	l.g.start(task{lead: l})
	if c := l.left.Swap(nil); c != nil {
		c.Kick()
	}
	return true
}

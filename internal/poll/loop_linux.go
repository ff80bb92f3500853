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

// Loop waits for the sockets of many connections and has them served, one after the
// other, by the worker that leads it. A worker leads as long as it holds the baton. When
// what it serves has to wait, or takes its time, somebody takes the baton from it:
// another worker leads from then on, and the one that was overtaken serves its connection
// to the end, finds that it leads no longer, and retires.
//
// All fields belong to who leads, but for those said to be everybody's.
type Loop struct {
	g     *Group
	ep    int
	bell  int // an eventfd
	clock int // a timer as a descriptor, or -1
	queue syscall.RawConn
	file  *os.File // queue's

	kernel Kernel // the group's; if it is not nil there are ep and no bell, clock, queue or file

	// baton is everybody's: an even number while nothing is served, and an odd one while
	// something is, a new one each time. Who changes an odd one leads.
	baton atomic.Uint64

	conns  atomic.Int32  // everybody's: how many connections it has
	awake  atomic.Bool   // everybody's: it does not wait for events
	called atomic.Uint64 // everybody's: how much Worker.Count has counted, above the last of what it was told

	leader atomic.Pointer[Worker] // everybody's

	events  [256]syscall.EpollEvent
	n, next int // events there are, and have been looked at
	ahead   *ahead
	spare   *ahead // nil, or one that nobody looks at; mu guards it
	away    int64  // workers off the loops that had their chance to run, see letOthersRun
	wheel   *clock.Wheel[*Conn]
	due     []*Conn // whose time has come
	again   []*Conn // that have something to read, though no event says so
	answers [mostAnswers]answer
	waiting int    // to be sent, of the answers
	bytes   []byte // theirs
	watch   clock.Watch
	now     Moment
	time    time.Time // now
	waits   waits
	self    file // file, for theOthers

	mu     sync.Mutex // for what others post
	ended  bool
	posted []post
	posts  atomic.Int32 // how many
}

// post is what somebody has to tell the leader about a connection.
type post struct {
	c    *Conn
	what int8
}

const (
	postTime = iota // it is new, or is to expire earlier than before
	postGone        // it is no more
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
		l.bell = math.MinInt32 // which is no descriptor
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
		err = syscall.SetNonblock(l.ep, true) // which has package os watch it
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

// forget has no more events reported for c, whose descriptor stays open.
func (l *Loop) forget(c *Conn) { _ = l.control(syscall.EPOLL_CTL_DEL, int(c.fd), 0, 0) }

// post tells the leader something about c.
func (l *Loop) post(c *Conn, what int8) {
	l.mu.Lock()
	l.posted = append(l.posted, post{c, what})
	l.posts.Store(int32(len(l.posted)))
	l.mu.Unlock()
	if what == postTime {
		l.wake()
	}
	if what == postGone {
		l.conns.Add(-1)
		l.g.leave()
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

// takePosts does what others have asked for.
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

// recheck is after how long a connection is looked at again that is being served when
// its time comes.
const recheck = time.Second

// schedule has c looked at, at the moment by, or later if that is 0.
func (l *Loop) schedule(c *Conn, by int64) {
	if by == 0 {
		by = int64(l.now.Add(time.Minute))
	}
	c.timer.Owner = c
	l.wheel.Add(&c.timer, by)
}

// fire looks at a connection whose timer has run out.
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

// claimIdle claims c if nobody serves it and nothing has come.
func (c *Conn) claimIdle() bool {
	s := c.state.Load()
	return s&(busy|readable|gone) == 0 && c.state.CompareAndSwap(s, s|busy)
}

// lead leads the loop until the baton is lost, or the loop ends.
func (w *Worker) lead(l *Loop) (ended bool) {
	w.loop = l
	l.leader.Store(w)
	l.awake.Store(true)
	l.g.watch()
	for {
		l.send() // what another leader has left, too
		for len(l.due) > 0 {
			c := l.due[len(l.due)-1]
			l.due = l.due[:len(l.due)-1]
			w.begin(c)
			if w.g.h.Expire(w, c); !w.end() {
				return false
			}
		}
		for len(l.again) > 0 {
			c := l.again[len(l.again)-1]
			l.again = l.again[:len(l.again)-1]
			w.begin(c)
			if w.g.h.Serve(w, c); !w.end() {
				return false
			}
		}
		for w.readAhead() {
			for a := l.ahead; a.served < len(a.reads); {
				c := w.takeAhead(a)
				w.begin(c)
				if w.g.h.Serve(w, c); !w.end() {
					return false
				}
			}
			if l.next < l.n && l.isListener(&l.events[l.next]) {
				index := int(-l.events[l.next].Fd - 1) // the event is the loop's
				l.next++
				l.send()
				w.begin(nil)
				if l.g.accept(w, index); !w.end() {
					return false
				}
			}
		}
		if l.send(); len(l.again) > 0 {
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

// isListener reports whether an event is for a listener.
func (l *Loop) isListener(event *syscall.EpollEvent) bool {
	return event.Fd < 0 && event.Fd != int32(l.bell)
}

// ready returns the connection that an event is for if it is to be served.
func (l *Loop) ready(event *syscall.EpollEvent) *Conn {
	fd := int(event.Fd)
	if fd == l.bell { // which need not be read: each write is an event
		return nil
	}
	c := l.g.table.get(fd)
	if c == nil || c.gen.Load() != uint32(event.Pad) {
		return nil
	}
	if event.Events == syscall.EPOLLIN && c.state.CompareAndSwap(0, busy) { // as it is nearly always
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
	if bits&readable == 0 { // nobody waits to write while nobody serves it
		c.note(bits)
		return nil
	}
	if !c.claim(bits) {
		return nil
	}
	return c
}

// note notes an event that is no reason to serve c.
func (c *Conn) note(bits uint32) {
	c.state.Or(bits)
	if v := c.view.Load(); v != nil {
		v.wake()
	}
}

// begin begins a run, in which c is served if it is not nil. Until it ends the worker may
// be overtaken, and may not touch the loop.
func (w *Worker) begin(c *Conn) {
	l := w.loop
	w.run, w.now, w.at, w.ahead = l.baton.Load()+1, l.time, l.now, l.ahead
	l.baton.Store(w.run)
	if w.one = c != nil; w.one {
		if c.led.Load() != l { // as it hardly ever is
			c.led.Store(l)
		}
		c.run.Store(w.run)
	}
}

// end ends a run, and reports whether w leads still.
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

// overtaken ends a run of a worker that leads no longer.
func (w *Worker) overtaken() {
	w.Done()
	w.g.h.Rest(w)
	if w.ahead != nil {
		w.loop.letGo(w.ahead)
		w.ahead = nil
	}
}

// again ends a run and begins another one, for who does many things of which none takes long:
// so nobody takes them for one that does. It reports false if w has led and leads no longer.
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

// steal takes the baton from who serves the run, and has another worker lead.
func (l *Loop) steal(run uint64) bool {
	if !l.baton.CompareAndSwap(run, run+1) {
		return false
	}
	if l.ahead != nil {
		l.ahead.lost.Add(1)
	}
	l.g.away.Add(1) // who served goes on, off the loop
	l.g.start(task{lead: l})
	return true
}

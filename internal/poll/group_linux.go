package poll

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Handler is who owns the connections.
type Handler interface {
	// Accept is told of a new connection, which is the handler's to Add or close. With one
	// that was added and is to be served Begin is called. It must not wait: who ends the
	// listener waits for it.
	Accept(w *Worker, ln *Listener, fd int, peer netip.AddrPort) *Conn

	// Begin serves such a connection, as Serve does.
	Begin(w *Worker, c *Conn)

	// Serve serves a connection that may have something to read, until it parks or
	// finishes it. It must not return before.
	Serve(w *Worker, c *Conn)

	// Run is called with what was handed over.
	Run(w *Worker, data any)

	// Expire does so with a connection whose time has come.
	Expire(w *Worker, c *Conn)

	// Sent is told that the socket has taken what was left to Worker.Later, and reports
	// whether the connection may be parked. If not it is served.
	Sent(c *Conn) bool

	// Unsent serves a connection whose socket has not taken all of that: rest is what it
	// has not.
	Unsent(w *Worker, c *Conn, rest []byte)

	// Rest is told that w, which has served connections on a loop, serves none for now.
	Rest(w *Worker)

	// Overdue is told of what Worker.Count was told last on a loop, when the watchdog has taken that from its worker
	// and this goes on for long.
	Overdue(what uint32)

	// Failed is told when connections cannot be accepted for now, and that this is tried
	// again after the pause.
	Failed(ln *Listener, pause time.Duration, err error)
}

// Group is loops, one for each processor, and the workers that lead them and serve
// connections off them.
type Group struct {
	h      Handler
	kernel Kernel // nil: the operating system
	loops  atomic.Pointer[[]*Loop]
	procs  atomic.Int32 // how many of them get new connections: the first ones
	fixed  bool         // there are as many loops as somebody has said, and not processors
	sizing sync.Mutex
	table  table
	gens   atomic.Uint32

	users   atomic.Int64 // listeners and connections; without any the loops end
	away    atomic.Int64 // workers that serve something off the loops
	workers atomic.Int32
	running atomic.Int32 // loops
	stolen  atomic.Uint64

	dogAsleep atomic.Bool
	dogBell   chan struct{}

	idleTime  time.Duration // how often workers are ended that have been idle since the last time
	mu        sync.Mutex
	idle      []*Worker // the one that worked last is the last one
	reaper    bool
	round     uint64 // of the reaper
	listeners []*Listener
	closed    chan struct{} // when the loops have ended
}

// Stats are counts since the group began.
type Stats struct {
	Counted   uint64 // by Worker.Count
	Overtaken uint64 // batons taken by the watchdog
}

// Stats returns what was done so far.
func (g *Group) Stats() Stats {
	s := Stats{Overtaken: g.stolen.Load()}
	for _, l := range g.all() {
		s.Counted += l.called.Load() / Whats
	}
	return s
}

// NewGroup starts n loops, or, if n is 0, as many as there are processors, and more when
// there are more, on a kernel, or, if it is nil, on the operating system. Without the means
// for so many there are fewer. They end when they have had a connection or listener, and have
// none any more: the caller holds it by Enter meanwhile. A worker ends when it has been idle for idleTime, or up to twice as long.
func NewGroup(h Handler, n int, kernel Kernel, idleTime time.Duration) (*Group, error) {
	g := &Group{h: h, kernel: kernel, idleTime: idleTime, fixed: n > 0, dogBell: make(chan struct{}, 1), closed: make(chan struct{})}
	g.loops.Store(new([]*Loop))
	g.users.Store(1)
	if !g.fixed {
		n = runtime.GOMAXPROCS(0)
	}
	if err := g.grow(n); err != nil && len(g.all()) == 0 {
		return nil, err
	}
	go g.dog()
	return g, nil
}

// all returns the loops.
func (g *Group) all() []*Loop { return *g.loops.Load() }

// follow sees to it that there are as many loops as processors, and is called when there are
// connections to accept. If there are fewer processors than before, the loops too many keep
// what connections they have, and get no others.
func (g *Group) follow() {
	if g.fixed {
		return
	}
	n := runtime.GOMAXPROCS(0)
	if n == int(g.procs.Load()) || !g.Enter() {
		return
	}
	defer g.Leave()
	_ = g.grow(n) // it is tried again the next time
}

// grow starts loops until there are n, which get the new connections from now on. The caller
// keeps the group from ending.
func (g *Group) grow(n int) (err error) {
	g.sizing.Lock()
	defer g.sizing.Unlock()
	for len(g.all()) < n && err == nil {
		err = g.addLoop()
	}
	g.procs.Store(int32(min(n, len(g.all()))))
	return err
}

// addLoop starts another loop. g.sizing is locked.
func (g *Group) addLoop() error {
	l, err := newLoop(g)
	if err != nil {
		return err
	}
	g.running.Add(1)
	loops := append(slices.Clone(g.all()), l) // the old ones are being read
	g.mu.Lock()
	g.loops.Store(&loops)
	listeners := slices.Clone(g.listeners)
	g.mu.Unlock()
	for _, ln := range listeners {
		if ln != nil {
			ln.join(l)
		}
	}
	g.start(task{lead: l})
	return nil
}

// Enter keeps the loops running until Leave. It reports false if they are ending.
func (g *Group) Enter() bool {
	for {
		n := g.users.Load()
		if n == 0 {
			return false
		}
		if g.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave is the end of an Enter, and of NewGroup.
func (g *Group) Leave() { g.leave() }

func (g *Group) leave() {
	if g.users.Add(-1) == 0 {
		for _, l := range g.all() {
			l.ring()
		}
	}
}

// ended is told when a loop has ended.
func (g *Group) ended(l *Loop) {
	l.close()
	if g.running.Add(-1) > 0 {
		return
	}
	close(g.closed)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.idle {
		close(w.tasks)
	}
	g.idle = nil
}

// Init makes c the connection with this descriptor, of a peer whose address is not valid if
// the socket is a unix one.
func (c *Conn) Init(fd int, peer netip.AddrPort) {
	c.fd, c.addr, c.port = int32(fd), peer.Addr(), peer.Port()
}

// Add gives c, whose Data is set, to a loop, as that of a listener that w has accepted
// it from: w serves it until it parks or finishes it, by the moment by. With an error c is
// closed.
func (g *Group) Add(w *Worker, c *Conn, by Moment) error {
	l, fd := g.pick(), int(c.fd)
	gen := g.gens.Add(1)
	c.gen.Store(gen)
	c.loop = l
	c.by.Store(int64(by))
	c.state.Store(busy)
	if w.loop != nil {
		c.run.Store(w.run)
		c.led.Store(w.loop)
	}
	g.users.Add(1)
	l.conns.Add(1)
	g.table.put(fd, c)
	if err := l.control(syscall.EPOLL_CTL_ADD, fd, eventsIn, gen); err != nil {
		g.table.clear(fd)
		l.conns.Add(-1)
		g.leave()
		_ = g.close(fd)
		return err
	}
	l.post(c, postTime)
	return nil
}

// pick returns the loop with the fewest connections.
func (g *Group) pick() *Loop {
	n := g.procs.Load() // first: there are as many loops by now, and may be more
	loops := g.all()[:n]
	best := loops[0]
	fewest := best.conns.Load()
	for _, l := range loops[1:] {
		if n := l.conns.Load(); n < fewest {
			best, fewest = l, n
		}
	}
	return best
}

// Kick has c served though nothing may have come, unless somebody serves it, who will
// find it readable then.
func (c *Conn) Kick() {
	if c.claim(readable) {
		c.HandOver()
	}
}

// HandOver has c served by a worker off the loops, and no more by the caller.
func (c *Conn) HandOver() {
	c.run.Store(0)
	c.loop.g.Hand(kick{c})
}

// Listener is a listening socket that the loops accept connections from.
type Listener struct {
	// Data is the owner's.
	Data any

	g      *Group
	raw    syscall.RawConn
	index  int
	self   file // for theOthers
	mu     sync.Mutex
	paused bool
	silent bool   // see Silence
	rested Moment // when the last pause ended
	pause  time.Duration
	ended  bool

	tune    func(fd int) // see Listen
	emptied atomic.Bool  // its queue was empty once

	accepting gate
	last      chan struct{} // closed when nobody accepts any more, if End had to wait for that
}

// Listen accepts connections from a listener until End. It keeps no descriptor of its own. If tune is not nil it is
// called for connections that may have waited in the listener's queue when Listen was called.
func (g *Group) Listen(raw syscall.RawConn, data any, tune func(fd int)) (*Listener, error) {
	ln := &Listener{Data: data, g: g, raw: raw, tune: tune, last: make(chan struct{})}
	if !g.Enter() {
		return nil, errEnding
	}
	g.mu.Lock()
	ln.index = len(g.listeners)
	for i, other := range g.listeners {
		if other == nil {
			ln.index = i
			break
		}
	}
	if ln.index == len(g.listeners) {
		g.listeners = append(g.listeners, ln)
	} else {
		g.listeners[ln.index] = ln
	}
	g.mu.Unlock()
	if g.kernel == nil {
		_ = raw.Control(func(fd uintptr) { ln.self = theOthers.add(int(fd)) })
	}
	if err := ln.register(); err != nil {
		ln.End()
		return nil, err
	}
	return ln, nil
}

var errEnding = errors.New("poll: the loops are ending")

// register has all loops told of new connections.
func (ln *Listener) register() (err error) {
	for _, l := range ln.g.all() {
		if e := ln.registerOn(l); e != nil {
			err = e
		}
	}
	return err
}

func (ln *Listener) registerOn(l *Loop) (err error) {
	if cerr := ln.raw.Control(func(fd uintptr) {
		event := syscall.EpollEvent{Events: syscall.EPOLLIN | exclusive, Fd: int32(-ln.index - 1)}
		if e := l.epollCtl(syscall.EPOLL_CTL_ADD, int(fd), &event); e != nil && e != syscall.EEXIST {
			err = os.NewSyscallError("epoll_ctl", e)
		}
	}); cerr != nil {
		return cerr
	}
	return err
}

// join has a new loop told of new connections. If it cannot be, the others are.
func (ln *Listener) join(l *Loop) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if !ln.paused && !ln.silent && !ln.ended {
		_ = ln.registerOn(l)
	}
}

func (ln *Listener) unregister() {
	_ = ln.raw.Control(func(fd uintptr) {
		for _, l := range ln.g.all() {
			_ = l.epollCtl(syscall.EPOLL_CTL_DEL, int(fd), &syscall.EpollEvent{})
		}
	})
}

// Err returns an error if the listener was closed.
func (ln *Listener) Err() error { return ln.raw.Control(func(uintptr) {}) }

// Silence has no loop told of new connections any more. It is for who closes the listener before End is called: of one whose
// socket others have as well, as another process may, the loops could not be rid then.
func (ln *Listener) Silence() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.silent = true; !ln.ended { // by then the loops may have gone
		ln.unregister()
	}
}

// End ends accepting. Connections that wait in the listener's queue stay there; those that
// were accepted are known to the handler when it returns.
func (ln *Listener) End() {
	ln.mu.Lock()
	if ln.ended {
		ln.mu.Unlock()
		return
	}
	ln.ended = true
	ln.unregister()
	ln.mu.Unlock()
	if !ln.accepting.shut() {
		<-ln.last
	}
	if ln.g.kernel == nil {
		theOthers.remove(ln.self)
	}
	ln.g.mu.Lock()
	ln.g.listeners[ln.index] = nil
	ln.g.mu.Unlock()
	ln.g.leave()
}

// acceptBatch is how many connections are accepted before others are served.
const acceptBatch = 64

// accept accepts connections. They go to the loop that has the fewest, so that load is
// even, however unevenly the kernel wakes up loops.
func (g *Group) accept(w *Worker, index int) {
	g.mu.Lock()
	var ln *Listener
	if index < len(g.listeners) {
		ln = g.listeners[index]
	}
	g.mu.Unlock()
	g.follow()
	if ln != nil {
		ln.Accept(w, acceptBatch)
	}
}

// Accept accepts what waits in the listener's queue, at most so many, and returns how
// many that was. It does not go on behind one that Pause was called for.
func (ln *Listener) Accept(w *Worker, most int) (n int) {
	for n < most {
		c, err := ln.acceptOne(w)
		switch err {
		case nil:
			if n++; c != nil {
				ln.g.h.Begin(w, c)
			} else if ln.Rests() {
				return n
			}
			if !w.again() {
				return n
			}
		case syscall.EINTR, syscall.ECONNABORTED:
		case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
			ln.rest(os.NewSyscallError("accept4", err), n > 0)
			return n
		default: // it is empty, or closed
			return n
		}
	}
	return n
}

// acceptOne accepts a connection, and returns it if it is to be served.
func (ln *Listener) acceptOne(w *Worker) (c *Conn, err error) {
	if !ln.accepting.enter() {
		return nil, errEnding
	}
	defer ln.leave()
	early := ln.tune != nil && !ln.emptied.Load()
	got := w.accept(ln.raw)
	if got.err == nil {
		if early {
			ln.tune(got.fd)
		}
		c = ln.g.h.Accept(w, ln, got.fd, got.peer)
	} else if early && got.err == syscall.EAGAIN {
		ln.emptied.Store(true)
	}
	return c, got.err
}

// leave is the end of an ln.accepting.enter.
func (ln *Listener) leave() {
	if ln.accepting.leave() {
		close(ln.last)
	}
}

// Take has the loops serve a connection of the listener that they have not accepted themselves. fd is theirs from now on. It reports false
// if it is too late.
func (ln *Listener) Take(fd int) bool {
	if !ln.accepting.enter() {
		_ = ln.g.close(fd)
		return false
	}
	ln.g.Hand(taken{ln, fd})
	return true
}

// taken is a connection that a worker has yet to make known to the handler.
type taken struct {
	ln *Listener
	fd int
}

// take makes it known, and serves it.
func (t taken) take(w *Worker) {
	peer, _ := syscall.Getpeername(t.fd)
	if t.ln.tune != nil {
		t.ln.tune(t.fd)
	}
	c := t.ln.g.h.Accept(w, t.ln, t.fd, addrPort(peer))
	t.ln.leave()
	if c != nil {
		t.ln.g.h.Begin(w, c)
	}
}

// accepted is what has come of accepting a connection.
type accepted struct {
	fd   int
	peer netip.AddrPort
	err  error
}

// accept accepts a connection. What it takes is kept in w, so that none of it is garbage.
func (w *Worker) accept(ln syscall.RawConn) accepted {
	if w.accept4 == nil {
		w.accept4 = func(fd uintptr) {
			a := &w.accepted
			a.fd, a.peer, a.err = w.g.accept4(int(fd))
		}
	}
	w.accepted = accepted{fd: -1, err: syscall.EBADF} // if it is closed
	_ = ln.Control(w.accept4)
	return w.accepted
}

// maxPause is how long accepting rests at most when there are no descriptors.
const maxPause = 250 * time.Millisecond

// rest stops accepting until others may have given back what is missing: not for long if they have
// lately, as accepting went well up to now.
func (ln *Listener) rest(err error, went bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if went && !ln.paused {
		ln.pause = 0
	}
	ln.restLocked(err)
}

func (ln *Listener) restLocked(err error) {
	if ln.paused { // another loop has found out as well
		return
	}
	if Now() > ln.rested.Add(maxPause) {
		ln.pause = 0 // it went well meanwhile
	}
	ln.pause = min(max(2*ln.pause, 5*time.Millisecond), maxPause)
	ln.rested = Now().Add(ln.pause)
	if ln.stop(ln.pause) {
		ln.g.h.Failed(ln, ln.pause, err)
	}
}

// Pause stops accepting for a while.
func (ln *Listener) Pause(d time.Duration) {
	if d > 0 {
		ln.mu.Lock()
		defer ln.mu.Unlock()
		ln.stop(d)
	}
}

// Rests reports whether accepting has stopped for a while.
func (ln *Listener) Rests() bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.paused
}

// stop stops accepting for a while, unless it has stopped already. ln is locked.
func (ln *Listener) stop(d time.Duration) bool {
	if ln.paused || ln.ended {
		return false
	}
	ln.paused = true
	ln.unregister()
	time.AfterFunc(d, ln.resume)
	return true
}

// resume goes on accepting after a pause, or begins another one if that is not possible.
func (ln *Listener) resume() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.paused = false
	if ln.silent || ln.ended {
		return
	}
	if err := ln.register(); err != nil && ln.Err() == nil { // with an error it is closed, which its owner finds
		ln.restLocked(err)
	}
}

// table finds connections by their descriptors.
type table struct {
	mu     sync.Mutex
	chunks atomic.Pointer[[]*chunk]
}

const chunkSize = 1024

type chunk [chunkSize]atomic.Pointer[Conn]

func (t *table) get(fd int) *Conn {
	chunks := t.chunks.Load()
	if chunks == nil || fd/chunkSize >= len(*chunks) {
		return nil
	}
	return (*chunks)[fd/chunkSize][fd%chunkSize].Load()
}

func (t *table) put(fd int, c *Conn) {
	chunks := t.chunks.Load()
	if chunks == nil || fd/chunkSize >= len(*chunks) {
		chunks = t.grow(fd/chunkSize + 1)
	}
	(*chunks)[fd/chunkSize][fd%chunkSize].Store(c)
}

func (t *table) clear(fd int) { (*t.chunks.Load())[fd/chunkSize][fd%chunkSize].Store(nil) }

func (t *table) grow(n int) *[]*chunk {
	t.mu.Lock()
	defer t.mu.Unlock()
	var more []*chunk
	if old := t.chunks.Load(); old != nil {
		more = append(more, *old...)
	}
	for len(more) < n {
		more = append(more, new(chunk))
	}
	t.chunks.Store(&more)
	return &more
}

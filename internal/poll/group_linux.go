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

// Handler is the owner of the connections. The loops and workers of a Group call its methods.
type Handler interface {
	// Accept is called for a new connection, which the handler passes to Add or closes. It returns an added
	// connection that is to be served at once with Begin, or nil. Accept must not block, because Listener.End waits
	// for it.
	Accept(w *Worker, ln *Listener, fd int, peer netip.AddrPort) *Conn

	// Begin serves a connection that Accept returned, like Serve.
	Begin(w *Worker, c *Conn)

	// Serve serves a connection that may have something to read. It must not return before the connection is parked
	// or finished.
	Serve(w *Worker, c *Conn)

	// Run is called with the data that was passed to Group.Hand.
	Run(w *Worker, data any)

	// Expire is called to serve a connection whose time is over.
	Expire(w *Worker, c *Conn)

	// Sent is called when the socket has accepted a response that was passed to Worker.Later. It reports whether the
	// connection may be parked. If not, the connection is served.
	Sent(c *Conn) bool

	// Unsent serves a connection whose socket has not accepted a whole response that was passed to Worker.Later. rest
	// is the unsent part.
	Unsent(w *Worker, c *Conn, rest []byte)

	// Rest is called when w, which served connections on a loop, has none to serve for now.
	Rest(w *Worker)

	// Overdue is called if a worker runs for long after the watchdog took the loop from it. what is the number that
	// the worker passed to Worker.Count last.
	Overdue(what uint32)

	// Failed is called when connections cannot be accepted for now. Accepting is tried again after the pause.
	Failed(ln *Listener, pause time.Duration, err error)
}

// Group is a set of loops, one per processor, and of the workers that lead them and serve connections off them.
type Group struct {
	h      Handler
	kernel Kernel // nil: the operating system
	loops  atomic.Pointer[[]*Loop]
	procs  atomic.Int32 // number of loops that get new connections; these are the first ones in loops
	fixed  bool         // the number of loops was given, so it does not follow the number of processors
	sizing sync.Mutex
	table  table
	gens   atomic.Uint32

	users   atomic.Int64 // listeners and connections; at 0 the loops end
	away    atomic.Int64 // workers that serve something off the loops
	workers atomic.Int32
	running atomic.Int32 // number of running loops
	stolen  atomic.Uint64

	dogAsleep atomic.Bool
	dogBell   chan struct{}

	idleTime  time.Duration // interval at which workers are ended that stayed idle since the last time
	mu        sync.Mutex
	idle      []*Worker // the last one worked most recently
	reaper    bool
	round     uint64 // number of reaper rounds so far
	listeners []*Listener
	closed    chan struct{} // closed when all loops have ended
}

// Stats holds counters since the group was created.
type Stats struct {
	Counted   uint64 // calls of Worker.Count
	Overtaken uint64 // how often the watchdog took a baton
}

// Stats returns the counters.
func (g *Group) Stats() Stats {
	s := Stats{Overtaken: g.stolen.Load()}
	for _, l := range g.all() {
		s.Counted += l.called.Load() / Whats
	}
	return s
}

// NewGroup starts n loops. If n is 0, it starts one per processor and adds loops when processors are added. The loops
// use kernel, or the operating system if kernel is nil. If the system refuses to create all loops, the group has
// fewer.
//
// The caller holds the group open as with Enter, until it calls Leave. The loops end when there are no listeners,
// connections and holders left. A worker ends when it was idle for idleTime, or at most for twice as long.
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

// follow adapts the number of loops to the number of processors. It is called when there are connections to accept.
// If processors were removed, the surplus loops keep their connections but get no new ones.
func (g *Group) follow() {
	if g.fixed {
		return
	}
	n := runtime.GOMAXPROCS(0)
	if n == int(g.procs.Load()) || !g.Enter() {
		return
	}
	defer g.Leave()
	_ = g.grow(n) // on failure the next call tries again
}

// grow starts loops until there are n, which get all new connections from now on. The caller keeps the group from
// ending.
func (g *Group) grow(n int) (err error) {
	g.sizing.Lock()
	defer g.sizing.Unlock()
	for len(g.all()) < n && err == nil {
		err = g.addLoop()
	}
	g.procs.Store(int32(min(n, len(g.all()))))
	return err
}

// addLoop starts another loop. The caller holds g.sizing.
func (g *Group) addLoop() error {
	l, err := newLoop(g)
	if err != nil {
		return err
	}
	g.running.Add(1)
	loops := append(slices.Clone(g.all()), l) // other goroutines may be reading the old slice
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

// Enter keeps the loops running until Leave. It reports false if they are already ending.
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

// Leave undoes an Enter. It also ends the hold that NewGroup gave to its caller.
func (g *Group) Leave() { g.leave() }

func (g *Group) leave() {
	if g.users.Add(-1) == 0 {
		for _, l := range g.all() {
			l.ring()
		}
	}
}

// ended is called when a loop has ended.
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

// Init sets the descriptor and the peer's address of c. The address is invalid for unix sockets.
func (c *Conn) Init(fd int, peer netip.AddrPort) {
	c.fd, c.addr, c.port = int32(fd), peer.Addr(), peer.Port()
}

// Add gives c to a loop. c.Data must be set. w is the worker that accepted c from a listener; it serves c until it
// parks or finishes it, and c expires at the moment by. If Add returns an error, c is closed.
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
	n := g.procs.Load() // read before the slice, which has at least this many loops
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

// Kick has the loop of c serve c although nothing may have arrived. If c is already being served, it becomes readable
// instead.
func (c *Conn) Kick() {
	if c.claim(readable) {
		c.loop.post(c, postServe)
	}
}

// HandOver has c served by a worker off the loops. The caller must not use c any more.
func (c *Conn) HandOver() {
	c.run.Store(0)
	c.loop.g.Hand(handed{c})
}

// Listener is a listening socket from which the loops accept connections.
type Listener struct {
	// Data belongs to the owner.
	Data any

	g      *Group
	raw    syscall.RawConn
	index  int
	self   file // for theOthers
	mu     sync.Mutex
	paused bool
	silent bool   // Silence was called
	rested Moment // when the last pause ended
	pause  time.Duration
	ended  bool

	tune    func(fd int) // see Group.Listen
	emptied atomic.Bool  // the queue was empty once

	accepting gate
	last      chan struct{} // closed when the last accept ended, if End had to wait for it
}

// Listen accepts connections from a listener until End. It does not duplicate the descriptor. tune, unless nil, is
// called for each connection that may have waited in the listener's queue before Listen was called.
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

// register makes all loops watch for new connections.
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

// join makes a new loop watch for new connections. If that fails, the other loops still do.
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

// Silence makes all loops stop watching for new connections. Call it before closing the listener if End is called
// only afterwards. If another process shares the socket, the loops could not stop watching it once it is closed.
func (ln *Listener) Silence() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.silent = true; !ln.ended { // once ended, the loops may be gone
		ln.unregister()
	}
}

// End stops accepting. Connections that wait in the listener's queue stay there. When End returns, the handler knows
// all connections that were accepted.
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

// acceptBatch is how many connections are accepted before other connections are served.
const acceptBatch = 64

// accept accepts connections. Each goes to the loop with the fewest connections, so the load is even although the
// kernel wakes the loops unevenly.
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

// Accept accepts at most the given number of connections from the listener's queue and returns how many it accepted.
// It stops after a connection for which the handler called Pause.
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
		default: // the queue is empty, or the listener closed
			return n
		}
	}
	return n
}

// acceptOne accepts a connection and returns it if it is to be served.
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

// leave ends an ln.accepting.enter.
func (ln *Listener) leave() {
	if ln.accepting.leave() {
		close(ln.last)
	}
}

// Take makes the loops serve a connection of the listener that was accepted elsewhere. The loops own fd from now on.
// Take reports false, and closes fd, if the listener has ended.
func (ln *Listener) Take(fd int) bool {
	if !ln.accepting.enter() {
		_ = ln.g.close(fd)
		return false
	}
	ln.g.Hand(taken{ln, fd})
	return true
}

// taken is a connection that was passed to Listener.Take and that the handler does not know yet.
type taken struct {
	ln *Listener
	fd int
}

// take passes the connection to the handler and serves it.
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

// accepted is the result of accepting a connection.
type accepted struct {
	fd   int
	peer netip.AddrPort
	err  error
}

// accept accepts a connection. It keeps its closure and result in w to avoid allocations.
func (w *Worker) accept(ln syscall.RawConn) accepted {
	if w.accept4 == nil {
		w.accept4 = func(fd uintptr) {
			a := &w.accepted
			a.fd, a.peer, a.err = w.g.accept4(int(fd))
		}
	}
	w.accepted = accepted{fd: -1, err: syscall.EBADF} // stays like this if ln is closed
	_ = ln.Control(w.accept4)
	return w.accepted
}

// maxPause is the maximum time for which accepting pauses when descriptors run out.
const maxPause = 250 * time.Millisecond

// rest pauses accepting until descriptors or memory may be free again. The pause is short if accepting worked until
// now, because that means that something was freed lately.
func (ln *Listener) rest(err error, went bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if went && !ln.paused {
		ln.pause = 0
	}
	ln.restLocked(err)
}

func (ln *Listener) restLocked(err error) {
	if ln.paused { // another loop has noticed the problem as well
		return
	}
	if Now() > ln.rested.Add(maxPause) {
		ln.pause = 0 // accepting worked in the meantime
	}
	ln.pause = min(max(2*ln.pause, 5*time.Millisecond), maxPause)
	ln.rested = Now().Add(ln.pause)
	if ln.stop(ln.pause) {
		ln.g.h.Failed(ln, ln.pause, err)
	}
}

// Pause pauses accepting for d.
func (ln *Listener) Pause(d time.Duration) {
	if d > 0 {
		ln.mu.Lock()
		defer ln.mu.Unlock()
		ln.stop(d)
	}
}

// Rests reports whether accepting is paused.
func (ln *Listener) Rests() bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.paused
}

// stop pauses accepting for d and reports true, unless it is already paused. The caller holds ln.mu.
func (ln *Listener) stop(d time.Duration) bool {
	if ln.paused || ln.ended {
		return false
	}
	ln.paused = true
	ln.unregister()
	time.AfterFunc(d, ln.resume)
	return true
}

// resume accepts connections again after a pause. If that fails, it starts another pause.
func (ln *Listener) resume() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.paused = false
	if ln.silent || ln.ended {
		return
	}
	if err := ln.register(); err != nil && ln.Err() == nil { // if Err fails, the listener is closed, which its owner will notice
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

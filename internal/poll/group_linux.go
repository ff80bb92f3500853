package poll

import (
	"net/netip"
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
	c.fd = int32(fd)
	c.setPeer(peer)
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

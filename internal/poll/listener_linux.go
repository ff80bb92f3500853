package poll

import (
	"errors"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

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

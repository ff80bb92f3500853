package gallop

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/conn"
)

// lifetime is the part of a request that implements context.Context. It costs nothing until Done is called.
type lifetime struct {
	used     atomic.Bool // a method other than Err was called; before that, nothing needs the lock
	mu       sync.Mutex
	done     chan struct{} // made by the first call of Done
	err      error
	deadline time.Time
	unhooks  []func() bool   // functions that stop waiting for the end of the server and of parent
	follows  *byte           // not nil while the lifetime waits for the end of parent; a new pointer each time
	watcher  *conn.Watch     // watches the connection; nil while nothing does
	canWatch bool            // the body was read; the next byte belongs to the next request
	parent   context.Context // from Server.ConnContext or InitContext; may be nil
	gone     *disconnect     // list of the calls of OnDisconnect, the latest first
	after    *disconnect     // list of the calls of AfterFunc, the latest first; they have called Done

	// The server leaves a request that has timed out to its handlers.
	left  bool // the server no longer uses the request
	given bool // TimeoutError was called, so unknown goroutines may hold the request
	users int  // running handlers of TimeoutHandler
}

// Done returns a channel that is closed when the client goes away or the request's deadline passes. The channel is also
// closed when the server shuts down or the handler has returned.
//
// The client goes away when it closes or resets the connection, or when it stops reading the response. See
// Server.AllowHalfClose and ServeConn for clients that close only their sending side. To notice a close or a reset, the
// server has to watch the connection. The first call of Done makes the server watch the connection. The server watches
// the connection only after the request body has been read. If the client has already sent another request, the server
// notices a reset but not a close.
func (ctx *RequestCtx) Done() <-chan struct{} {
	l := &ctx.life
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done != nil {
		return l.done
	}
	l.done = make(chan struct{})
	if l.err != nil {
		close(l.done)
		return l.done
	}
	done := l.done
	if ctx.ex != nil {
		l.unhooks = append(l.unhooks, context.AfterFunc(ctx.ex.server.conns.Stopped, func() { l.cancelIf(done, context.Canceled) }))
		ctx.ex.watch(l)
	}
	l.followParent()
	return done
}

// OnDisconnect registers a function f. If the request is cancelled before the handler returns, the server calls f on a
// separate goroutine. The argument cause says why the request was cancelled:
//
//   - context.Canceled: the client went away. See Done for when the server notices that the client went away.
//   - context.DeadlineExceeded: the request timed out.
//   - the error of the parent context: the context from Server.BaseContext or Server.ConnContext is done.
//
// A shutdown of the server does not cause a call of f. If the client has already gone away, or a deadline has already passed, the
// server calls f immediately. The function f must not use ctx.
//
// You may call OnDisconnect several times, for example in several middleware. The server calls each registered function
// at most once. stop unregisters f and returns true. If f was already called, or if stop was called before, stop
// returns false. Any goroutine may call stop at any time. You do not have to call stop before the handler returns.
func (ctx *RequestCtx) OnDisconnect(f func(cause error)) (stop func() bool) {
	l := &ctx.life
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &disconnect{f: f, log: ctx.config().logger(), next: l.gone}
	d.life.Store(l)
	l.gone = d
	if l.err != nil {
		l.tellGone(l.err)
	} else {
		if ctx.ex != nil {
			ctx.ex.watch(l)
		}
		l.followParent()
	}
	return d.stop
}

// AfterFunc registers a function f. The server calls f on a separate goroutine once the channel that Done returns is
// closed, so also when the handler has returned. If the channel is closed already, the server calls f immediately. The
// function f must not use ctx.
//
// Package context calls AfterFunc for contexts that are derived from ctx. Without this method, it would start a goroutine for
// each call of context.WithCancel, context.WithTimeout or context.AfterFunc. To run a function only when the request is
// cancelled, use OnDisconnect.
//
// The server calls each registered function at most once. If f panics, the server logs the panic. stop unregisters f and
// returns true. If f was already called, or if stop was called before, stop returns false. Any goroutine may call AfterFunc
// before the handler returns. Any goroutine may call stop at any time.
func (ctx *RequestCtx) AfterFunc(f func()) (stop func() bool) {
	ctx.Done() // f runs once this channel is closed, and the server does not reuse ctx
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &disconnect{f: func(error) { f() }, log: ctx.config().logger(), next: l.after}
	d.life.Store(l)
	l.after = d
	if l.err != nil {
		callAll(&l.after, l.err)
	}
	return d.stop
}

// followParent makes the lifetime end when its parent does. l is locked.
func (l *lifetime) followParent() {
	if l.parent == nil || l.follows != nil {
		return
	}
	this, parent := new(byte), l.parent
	l.follows = this
	l.unhooks = append(l.unhooks, context.AfterFunc(parent, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.follows == this { // and l does not belong to another request by now
			l.cancelLocked(parent.Err())
			l.tellGone(parent.Err())
		}
	}))
}

// disconnect is one call of OnDisconnect or of AfterFunc. The program may keep it beyond the request, because the results of
// these methods are its method stop.
type disconnect struct {
	f    func(error)
	log  Logger                   // gets a line if f panics
	over atomic.Bool              // f was called, or must not be called any more
	life atomic.Pointer[lifetime] // the lifetime whose list has it; nil once it is in no list
	next *disconnect              // of the previous call
}

// stop is the result of OnDisconnect and of AfterFunc.
func (d *disconnect) stop() bool {
	if l := d.life.Load(); l != nil {
		l.forget(d)
	}
	return !d.over.Swap(true)
}

// Err returns nil as long as the channel that Done returns is open. Once the channel is closed, Err returns
// context.Canceled or context.DeadlineExceeded.
func (ctx *RequestCtx) Err() error {
	l := &ctx.life
	if !l.used.Load() { // usually true
		if ctx.ex != nil && ctx.ex.server.conns.Stopped.Err() != nil {
			return context.Canceled
		}
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && ctx.ex != nil && ctx.ex.server.conns.Stopped.Err() != nil {
		return context.Canceled
	}
	if l.err == nil && l.parent != nil {
		return l.parent.Err()
	}
	return l.err
}

// Deadline returns the earlier of two deadlines: the deadline that TimeoutHandler set, and the parent context's
// deadline.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) {
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	deadline = l.deadline
	if l.parent != nil {
		if at, ok := l.parent.Deadline(); ok {
			deadline = clock.Earlier(deadline, at)
		}
	}
	return deadline, !deadline.IsZero()
}

// Value returns the user value for the key. If there is no such user value, the result is the parent context's value for the key.
func (ctx *RequestCtx) Value(key any) (v any) {
	if key != cancelKey {
		v = ctx.UserValue(key)
	}
	if v == nil && ctx.life.parent != nil {
		return ctx.life.parent.Value(key)
	}
	return v
}

// cancelKey is the key with which package context asks a parent whether it is one of its own contexts. A
// context that is derived from a RequestCtx may ask at any time, for example when its timer fires, while the
// handler sets user values. Value must therefore not look at user values for this key.
var cancelKey = findCancelKey()

func findCancelKey() (key any) {
	_, cancel := context.WithCancel(keyProbe{context.Background(), &key})
	cancel()
	return key
}

// keyProbe is a context that stores the first key that it is asked for.
type keyProbe struct {
	context.Context
	key *any
}

// Done implements context.Context.
func (p keyProbe) Done() <-chan struct{} { return make(chan struct{}) }

// Value implements context.Context.
func (p keyProbe) Value(key any) any {
	if *p.key == nil {
		*p.key = key
	}
	return nil
}

// AfterFunc keeps package context from starting a goroutine that waits for Done.
func (p keyProbe) AfterFunc(func()) func() bool { return func() bool { return true } }

// setDeadline makes t the deadline, unless there is an earlier one.
func (l *lifetime) setDeadline(t time.Time) {
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = clock.Earlier(l.deadline, t)
}

// cancelIf cancels the lifetime if done is still its channel. After the request has ended, l may belong to
// another request.
func (l *lifetime) cancelIf(done chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == done {
		l.cancelLocked(err)
	}
}

func (l *lifetime) cancelLocked(err error) {
	if l.err != nil {
		return
	}
	l.err = err
	if l.done != nil {
		close(l.done)
	}
	callAll(&l.after, err)
	l.unhook()
}

// unhook stops waiting for the end of the server and of parent. l is locked.
func (l *lifetime) unhook() {
	for _, stop := range l.unhooks {
		stop()
	}
	l.unhooks, l.follows = nil, nil
}

// end ends the lifetime together with the request. It reports whether l can be used for another request. It
// cannot after a call of Done, because derived contexts look at l when they learn that it has ended, which may
// be later.
func (l *lifetime) end() (again bool) {
	if l.used.Load() {
		return l.endUsed()
	}
	l.canWatch = false
	return true
}

func (l *lifetime) endUsed() (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canWatch = false
	for l.gone != nil {
		takeFirst(&l.gone)
	}
	if l.done != nil {
		l.cancelLocked(context.Canceled)
		return false
	}
	l.unhook()
	l.err, l.deadline, l.parent = nil, time.Time{}, nil
	l.used.Store(false)
	return true
}

// leave ends the lifetime for the server. It reports whether no handler uses the request either.
func (l *lifetime) leave(err error) (over bool) {
	l.used.Store(true) // a handler that still runs may use it
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelLocked(err)
	l.tellGone(err)
	l.left = true
	return l.overLocked()
}

// lost ends the lifetime because the client has disconnected.
func (l *lifetime) lost() {
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelLocked(context.Canceled)
	l.tellGone(context.Canceled)
}

// tellGone calls the functions of OnDisconnect. l is locked.
func (l *lifetime) tellGone(err error) { callAll(&l.gone, err) }

// callAll empties a list and calls its functions, each on a goroutine. The lock of the list's lifetime is held.
func callAll(list **disconnect, err error) {
	for *list != nil {
		if d := takeFirst(list); !d.over.Swap(true) {
			go d.call(err)
		}
	}
}

// takeFirst removes the first call from a list, which must not be empty. The lock of the list's lifetime is held.
func takeFirst(list **disconnect) *disconnect {
	d := *list
	*list = d.next
	d.life.Store(nil)
	return d
}

// forget removes d from its list. If it is in none by now, forget does nothing.
func (l *lifetime) forget(d *disconnect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [...]**disconnect{&l.gone, &l.after} {
		for at := list; *at != nil; at = &(*at).next {
			if *at == d {
				*at = d.next
				d.life.Store(nil)
				return
			}
		}
	}
}

// call calls the function and logs a panic in it.
func (d *disconnect) call(err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Printf("panic in a function that was passed to OnDisconnect or AfterFunc: %v\n%s", v, debug.Stack())
		}
	}()
	d.f(err)
}

// enter counts a handler that may outlive the request.
func (l *lifetime) enter() {
	l.used.Store(true)
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
}

// exit ends the count of enter. It reports whether nothing uses the request any more.
func (l *lifetime) exit() (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	return l.overLocked()
}

func (l *lifetime) overLocked() bool { return l.left && !l.given && l.users == 0 }

// SetReadDeadline sets the deadline for reading the rest of the request. The deadline replaces the server's time
// limits. After the deadline, pending and later reads of the body fail with os.ErrDeadlineExceeded. The zero time means
// no limit.
//
// The deadline applies to this request only, not to later requests on the connection. The deadline has no effect after
// the handler has returned. Before the handler returns, any goroutine may call SetReadDeadline. SetReadDeadline fails if
// the request has timed out. If the request is not served by a Server, the error wraps errors.ErrUnsupported.
func (ctx *RequestCtx) SetReadDeadline(t time.Time) error {
	return ctx.limit((*exchange).setReadDeadline, t)
}

// SetWriteDeadline sets the deadline for writing the response. The deadline replaces the server's time limits. The zero
// time means no limit. If the response is not complete at the deadline, the server truncates the response. The server
// then closes the HTTP/1 connection or the HTTP/2 stream.
//
// The deadline has no effect after the handler has returned. Use SetWriteDeadline with StreamResponse. For a response
// that the server sends after the handler has returned, the server's time limits apply. Before the handler returns, any
// goroutine may call SetWriteDeadline. SetWriteDeadline fails if the request has timed out. If the request is not served
// by a Server, the error wraps errors.ErrUnsupported.
func (ctx *RequestCtx) SetWriteDeadline(t time.Time) error {
	return ctx.limit((*exchange).setWriteDeadline, t)
}

// limit calls set, unless the request was left to its handlers. Afterwards, without the lock of the lifetime, it calls the function
// that set has returned.
func (ctx *RequestCtx) limit(set func(*exchange, time.Time) (after func(), err error), t time.Time) error {
	x, l := ctx.ex, &ctx.life
	if x == nil {
		return errNotServed
	}
	l.mu.Lock()
	if l.left {
		defer l.mu.Unlock()
		return l.err
	}
	after, err := set(x, t)
	l.mu.Unlock()
	after()
	return err
}

// baseContext returns the context for the connections of a listener, nil if the server has no contexts for connections.
func (s *Server) baseContext(ln net.Listener) context.Context {
	switch {
	case s.BaseContext != nil:
		ctx := s.BaseContext(ln)
		if ctx == nil {
			panic("gallop: BaseContext returned nil")
		}
		return ctx
	case s.ConnContext != nil:
		return context.Background()
	}
	return nil
}

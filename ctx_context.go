package gallop

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// lifetime is the part of a request that is a context.Context. It costs nothing
// until somebody asks for Done.
type lifetime struct {
	used     atomic.Bool // somebody asked for more than Err; until then nothing needs the lock
	mu       sync.Mutex
	done     chan struct{} // made by the first call of Done
	err      error
	deadline time.Time
	unhooks  []func() bool   // stop waiting for the end of the server and of parent
	follows  *byte           // not nil while the lifetime waits for the end of parent; each time is another one
	watcher  chan struct{}   // closed when the goroutine that watches the connection ends
	canWatch bool            // the body is read: what comes now is the next request, or the end
	ahead    []byte          // what the watcher has read
	parent   context.Context // that of the connection, see Server.ConnContext, or what InitContext was given; may be nil
	gone     *disconnect     // the latest of those to be told that the client went away, or nil

	// A request that has timed out is left to its handlers.
	left  bool // the server has nothing to do with it any longer
	given bool // it was left by TimeoutError, nobody knows to whom
	users int  // handlers of TimeoutHandler that run
}

// Done returns a channel that is closed when the client goes away, the deadline of the request passes, the server
// shuts down, or the handler has returned.
//
// A client goes away when it closes its side of the connection (see Server.AllowHalfClose and ServeConn for
// exceptions), resets the connection, or stops reading the response. To notice the first two, the connection is
// watched from the first call of Done on, but only once the body has been read. If the client has sent a further
// request, only a reset is noticed.
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
	if ctx.conn != nil {
		l.unhooks = append(l.unhooks, context.AfterFunc(ctx.conn.srv.stopped, func() { l.cancelIf(done, context.Canceled) }))
		ctx.conn.watch(l)
	}
	l.followParent()
	return done
}

// OnDisconnect arranges to call f on a goroutine of its own if the request ends before its handler returns. cause says why:
//
//   - context.Canceled: the client went away. See Done for when that is noticed.
//   - context.DeadlineExceeded: the request timed out.
//   - another error: that of the context that Server.BaseContext or Server.ConnContext returned, which has ended.
//
// A shutdown of the server does not count. If the request has ended that way already, f is called at once. f must not use ctx.
//
// OnDisconnect may be called many times, for example by several middleware: each f is called once. Calling stop undoes one call of
// OnDisconnect. It reports whether it has kept f from being called: false means that f was called, or stop was. stop may be called by any
// goroutine and at any time. There is no need to call it when the handler returns.
func (ctx *RequestCtx) OnDisconnect(f func(cause error)) (stop func() bool) {
	l := &ctx.life
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &disconnect{f: f, log: ctx.config().logger(), next: l.gone}
	l.gone = d
	if l.err != nil {
		l.tellGone(l.err)
	} else {
		if ctx.conn != nil {
			ctx.conn.watch(l)
		}
		l.followParent()
	}
	return func() bool {
		l.forget(d)
		return !d.over.Swap(true)
	}
}

// followParent has the lifetime end when its parent does. l is locked.
func (l *lifetime) followParent() {
	if l.parent == nil || l.follows != nil {
		return
	}
	this, parent := new(byte), l.parent
	l.follows = this
	l.unhooks = append(l.unhooks, context.AfterFunc(parent, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.follows == this { // and not another request's already
			l.cancelLocked(parent.Err())
			l.tellGone(parent.Err())
		}
	}))
}

// disconnect is what one call of OnDisconnect was given.
type disconnect struct {
	f    func(error)
	log  Logger      // told if f panics
	over atomic.Bool // f was called, or is not to be
	next *disconnect // of the call before
}

// Err returns nil until Done is closed, and then context.Canceled or context.DeadlineExceeded.
func (ctx *RequestCtx) Err() error {
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && ctx.conn != nil && ctx.conn.srv.stopped.Err() != nil {
		return context.Canceled
	}
	if l.err == nil && l.parent != nil {
		return l.parent.Err()
	}
	return l.err
}

// Deadline returns the deadline that TimeoutHandler set or the one of the parent context, whichever is earlier.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) {
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	deadline = l.deadline
	if l.parent != nil {
		if at, ok := l.parent.Deadline(); ok {
			deadline = earlier(deadline, at)
		}
	}
	return deadline, !deadline.IsZero()
}

// Value returns the user value with this key. If there is none, it returns the value of the parent context.
func (ctx *RequestCtx) Value(key any) (v any) {
	if key != cancelKey {
		v = ctx.UserValue(key)
	}
	if v == nil && ctx.life.parent != nil {
		return ctx.life.parent.Value(key)
	}
	return v
}

// cancelKey is the key with which package context asks a parent whether it is a context of its own. A context that is derived from a
// RequestCtx may do so at any time, as when its timer fires, while the handler sets user values. So that question
// must not look at them.
var cancelKey = findCancelKey()

func findCancelKey() (key any) {
	_, cancel := context.WithCancel(keyProbe{context.Background(), &key})
	cancel()
	return key
}

// keyProbe is a context that notes the key that it is asked for first.
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

// AfterFunc keeps package context from waiting for Done on a goroutine.
func (p keyProbe) AfterFunc(func()) func() bool { return func() bool { return true } }

// setDeadline makes t the deadline, if it is before the one there is.
func (l *lifetime) setDeadline(t time.Time) {
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = earlier(l.deadline, t)
}

// cancelIf is cancel if done is still this lifetime's channel, and not that of a
// request that is over.
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
	l.unhook()
}

// unhook stops waiting for the end of others. l is locked.
func (l *lifetime) unhook() {
	for _, stop := range l.unhooks {
		stop()
	}
	l.unhooks, l.follows = nil, nil
}

// end ends the lifetime with the request, and reports whether l is ready for another
// one. It is not if somebody has asked for Done: contexts that are derived from this one
// look at it when they learn of its end, which is after that.
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
	if l.done != nil {
		l.gone = nil
		l.cancelLocked(context.Canceled)
		return false
	}
	l.unhook()
	l.err, l.deadline, l.gone, l.parent = nil, time.Time{}, nil, nil
	l.used.Store(false)
	return true
}

// leave ends the lifetime for the server, and reports whether for everybody else, too.
func (l *lifetime) leave(err error) (over bool) {
	l.used.Store(true) // whoever still runs may be about to ask
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelLocked(err)
	l.tellGone(err)
	l.left = true
	return l.overLocked()
}

// lost ends the lifetime because the client has gone away.
func (l *lifetime) lost() {
	l.used.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelLocked(context.Canceled)
	l.tellGone(context.Canceled)
}

// tellGone calls what OnDisconnect was given. l is locked.
func (l *lifetime) tellGone(err error) {
	for d := l.gone; d != nil; d = d.next {
		if !d.over.Swap(true) {
			go d.call(err)
		}
	}
	l.gone = nil
}

// forget lets go of d, if l has it. Meanwhile l may be that of another request.
func (l *lifetime) forget(d *disconnect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := &l.gone; *at != nil; at = &(*at).next {
		if *at == d {
			*at = d.next
			return
		}
	}
}

// call calls the function. If it panics, that is logged.
func (d *disconnect) call(err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Printf("panic in a function that OnDisconnect was given: %v\n%s", v, debug.Stack())
		}
	}()
	d.f(err)
}

// enter counts a handler in that may be left behind.
func (l *lifetime) enter() {
	l.used.Store(true)
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
}

// exit counts it out, and reports whether it was the last one to use the request.
func (l *lifetime) exit() (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	return l.overLocked()
}

func (l *lifetime) overLocked() bool { return l.left && !l.given && l.users == 0 }

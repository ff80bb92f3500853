package gallop

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/list"
)

// A call that needs a new connection does not dial itself: another goroutine does. So the call ends on time
// whatever the dial does, and it takes a connection that becomes idle while it waits.

// dialing is a call that waits for a dial.
type dialing struct {
	over  chan struct{}      // closed when the wait has ended, and the fields below are set
	place list.Node[dialing] // in connPool.dials, unless the call takes no other connection

	// Guarded by the lock of the pool until over is closed:
	isOver  bool
	left    bool // the place was given back
	cc      *ClientConn
	err     error
	failure error // of a callback, see callback.Go
}

// startDial begins to make a connection, which counts in p.open already. Unless the call needs a fresh one, it is put
// on the list of those that take an idle one as well. With Dial and DialTimeout, no call is. p is locked.
func (p *connPool) startDial(ctx context.Context, deadline time.Time, fresh bool) (*dialing, context.CancelFunc) {
	d := &dialing{over: make(chan struct{})}
	if !fresh && !p.host.dialsSimply() {
		p.dials.Push(&d.place, d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	told := false
	callback.Go(func() {
		defer cancel()
		cc, err := p.dial(ctx, deadline)
		told = true
		p.dialed(d, cc, err, nil)
	}, func(failure error) {
		if !told {
			p.dialed(d, nil, nil, failure)
		}
	})
	return d, cancel
}

// dialed ends the wait for a dial. If the call has ended already, the connection goes to another one.
func (p *connPool) dialed(d *dialing, cc *ClientConn, err, failure error) {
	p.mu.Lock()
	taken := p.endDial(d, cc, err, failure)
	switch {
	case cc == nil && !d.left:
		p.leaveLocked()
	case cc != nil && d.left:
		p.open++ // put looks whether that is one too many
	}
	p.mu.Unlock()
	switch {
	case taken || cc == nil:
	case p.host.set.maxIdle == 0: // each connection is for one call
		p.discard(cc)
	default:
		cc.calls++ // the next call gets one that was idle
		p.put(cc)
	}
}

// endDial reports whether the call has waited still. p is locked.
func (p *connPool) endDial(d *dialing, cc *ClientConn, err, failure error) bool {
	if d.isOver {
		return false
	}
	p.dials.Remove(&d.place)
	d.isOver, d.cc, d.err, d.failure = true, cc, err, failure
	close(d.over)
	return true
}

// giveDialing gives cc to the first call that waits for a dial, and reports whether there is one. p is locked.
func (p *connPool) giveDialing(cc *ClientConn) bool {
	first := p.dials.First()
	return first != nil && p.endDial(first, cc, nil, nil)
}

// awaitDial returns the connection that d is given. It does not wait longer than ctx and the deadline allow.
func (p *connPool) awaitDial(ctx context.Context, deadline time.Time, d *dialing, cancel context.CancelFunc) (*ClientConn, error) {
	if !deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, deadline)
		defer stop()
	}
	select {
	case <-d.over:
	case <-ctx.Done():
		cancel()
		p.mu.Lock()
		ended := p.endDial(d, nil, endedBy(ctx), nil)
		if d.left = ended; ended {
			p.leaveLocked()
		}
		p.mu.Unlock()
		if !ended { // at the same time
			<-d.over
		}
	}
	if d.failure == nil && d.err == callback.ErrGoexit {
		d.failure = d.err
	}
	if d.failure == callback.ErrGoexit && ctx.Done() == nil {
		runtime.Goexit()
	}
	if d.failure != nil {
		return nil, callback.Again(d.failure)
	}
	return d.cc, d.err
}

// dial makes a connection.
func (p *connPool) dial(ctx context.Context, deadline time.Time) (cc *ClientConn, err error) {
	var nc net.Conn
	done := false
	defer func() {
		if !done && nc != nil { // a method of it has panicked
			nc.Close()
		}
	}()
	nc, addr, err := p.host.dialAny(ctx, deadline)
	if err != nil {
		return nil, err
	}
	cc = newClientConn(p, nc, addr)
	p.mu.Lock()
	p.usedAt = momentNow()
	p.mu.Unlock()
	done = true
	return cc, nil
}

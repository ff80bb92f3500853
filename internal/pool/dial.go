package pool

import (
	"context"
	"runtime"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/list"
)

// A call that needs a new connection does not dial itself: another goroutine does. So the call ends on time regardless
// of the dial, and it can take a connection that becomes idle while it waits.

// dialing is a call that waits for a dial.
type dialing struct {
	over  chan struct{}      // closed when the wait has ended, and the fields below are set
	place list.Node[dialing] // in Pool.dials, unless the call takes no other connection

	// Guarded by the lock of the pool until over is closed:
	isOver  bool
	left    bool // the place was given back
	leads   bool // it counts in Pool.leading
	m       *Member
	err     error
	failure error // of a callback, see callback.Go
}

// startDial begins to open a connection, which counts in p.open already. If the call can use another connection, it is
// put on the list of those that do. leads says that the dial counts in p.leading already. p is locked.
func (p *Pool) startDial(ctx context.Context, deadline time.Time, fresh, leads bool) (*dialing, context.CancelFunc) {
	d := &dialing{over: make(chan struct{}), leads: leads}
	if !leads && !fresh && p.isShared() {
		d.leads = true
		p.leading++
	}
	if !fresh && !p.opts.Loyal {
		p.dials.Push(&d.place, d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	told := false
	callback.Go(func() {
		defer cancel()
		m, err := p.opts.Dial(ctx, deadline)
		told = true
		late := !deadline.IsZero() && !time.Now().Before(deadline)
		p.dialed(d, m, err, nil, late)
	}, func(failure error) {
		if !told {
			p.dialed(d, nil, nil, failure, false)
		}
	})
	return d, cancel
}

// dialed ends the wait for a dial. If the call has ended already, the connection goes to another one. late says that the
// deadline of the call has passed.
func (p *Pool) dialed(d *dialing, m *Member, err, failure error, late bool) {
	p.mu.Lock()
	if m != nil {
		m.calls = 1 // or so it seems to Put and Discard
		p.setRoom(m, m.room)
		p.usedAt = Now()
	}
	taken, led := p.endDial(d, m, err, failure), p.stopLeading(d)
	if led && err != nil && !d.left && !late {
		p.failFollowers(p.opts.DialFailed(err))
	}
	switch {
	case m == nil && !d.left:
		p.leave()
	case m != nil && d.left:
		p.open++ // Put looks whether that is one too many
	}
	if m != nil && taken {
		p.offer(m)
	}
	p.mu.Unlock()
	switch {
	case taken || m == nil:
	case p.opts.MaxIdle == 0: // each connection is for one call
		p.Discard(m)
	default:
		m.Uses = 1 // the next call gets one that was idle
		if p.Put(m) {
			p.opts.Kept(m)
		}
	}
	if led {
		p.mu.Lock()
		p.settle()
		p.mu.Unlock()
	}
}

// endDial ends the wait of d. It reports whether the call was still waiting. p is locked.
func (p *Pool) endDial(d *dialing, m *Member, err, failure error) bool {
	if d.isOver {
		return false
	}
	p.dials.Remove(&d.place)
	d.isOver, d.m, d.err, d.failure = true, m, err, failure
	close(d.over)
	return true
}

// giveDialing gives room on m to the first call that waits for a dial, and reports whether there is one. p is locked.
func (p *Pool) giveDialing(m *Member) bool {
	first := p.dials.First()
	if first == nil || !p.endDial(first, m, nil, nil) {
		return false
	}
	m.calls++
	return true
}

// awaitDial returns the connection that d is given. It does not wait longer than ctx and the deadline allow.
func (p *Pool) awaitDial(ctx context.Context, deadline time.Time, d *dialing, cancel context.CancelFunc) (*Member, error) {
	if !deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, deadline)
		defer stop()
	}
	select {
	case <-d.over:
	case <-ctx.Done():
		p.mu.Lock()
		ended := p.endDial(d, nil, p.opts.Ended(ctx), nil)
		if d.left = ended; ended {
			led := p.stopLeading(d)
			if p.leave(); led {
				p.settle()
			}
		}
		p.mu.Unlock()
		cancel()    // not earlier, or the call could end with the error of the cancelled dial
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
	return d.m, d.err
}

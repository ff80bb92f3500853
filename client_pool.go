package gallop

import (
	"context"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/pool"
)

// Package pool decides which call gets which connection. This file connects a HostClient with its pool.

// pooled is a ClientConn in a pool.
type pooled ClientConn

// Room implements pool.Conn.
func (cc *pooled) Room() int { return 1 }

// Close implements pool.Conn.
func (cc *pooled) Close() { (*ClientConn)(cc).close() }

// poolOptions returns the options of the pool.
func (c *HostClient) poolOptions() *pool.Options {
	return &pool.Options{
		Max: c.set.maxConns, MaxIdle: c.set.maxIdle, MaxIdleTime: c.set.maxIdleTime,
		Oldest: c.set.strategy == FIFO,
		Wait:   c.set.connWait,

		Dial: c.dialPooled, Loyal: c.dialsSimply(), Shared: c.expectsH2,

		Full: ErrNoFreeConns, Late: ErrTimeout, Ended: endedBy,
		DialFailed: func(err error) error { return inPhase(err, phaseDial, "") },
		Kept:       c.kept,

		Janitor: c.janitor, Forget: c.forget,
	}
}

// kept is called when a connection was dialed that no call needs now.
func (c *HostClient) kept(m *pool.Member) {
	switch cc := m.Conn().(type) {
	case *pooled:
		c.set.trace.putIdle(cc.addr)
	case *h2ClientConn:
		cc.wire.Start()
		c.set.trace.putIdle(cc.addr)
	}
}

// getHTTP1 returns an HTTP/1 connection for one call. If the pool has HTTP/2 connections, it dials.
func (c *HostClient) getHTTP1(ctx context.Context, deadline time.Time, trace *ClientTrace, fresh, roundTrip bool) (*ClientConn, error) {
	if c.mayUseH2() {
		ctx = context.WithValue(ctx, only1Key{}, true)
	}
	for {
		cc, other, err := c.getConn(ctx, deadline, trace, fresh, roundTrip)
		if other == nil {
			return cc, err
		}
		other.release(true, nil)
		fresh = true
	}
}

// getConn returns a connection for one call: the first result is over HTTP/1, the second one over HTTP/2. If an idle
// connection is still good, getConn returns it. Otherwise getConn dials a new one. At the limit, getConn waits for the first
// connection that no call needs anymore. fresh asks for a new connection in any case. A round trip may find out itself
// whether an idle connection is still good. trace is the one of ctx.
func (c *HostClient) getConn(ctx context.Context, deadline time.Time, trace *ClientTrace, fresh, roundTrip bool) (*ClientConn, *h2ClientConn, error) {
	trusting := roundTrip && trace == nil // GotConn is told of good ones only
	for trace.getConn(c.Addr); ; {
		if !c.set.strategy.isKnown() && c.IdleConnsCount() > 0 { // only then, as in fasthttp
			return nil, nil, ErrConnPoolStrategyNotImpl
		}
		var m *pool.Member
		if !fresh {
			m = c.pool.Take()
		}
		if m == nil {
			var err error
			if m, err = c.pool.Get(ctx, deadline, fresh); err != nil {
				return nil, nil, err
			}
		}
		pc, ok := m.Conn().(*pooled)
		if !ok {
			cc := m.Conn().(*h2ClientConn)
			cc.tell(trace)
			return nil, cc, nil
		}
		cc := (*ClientConn)(pc)
		cc.unproven = trusting && m.Uses > 0 && cc.asker.ok()
		if cc.unproven || c.isGood(cc, trace) {
			return cc, nil, nil
		}
	}
}

// isGood reports whether a call can use cc. If not, or if a callback panics, cc is closed.
func (c *HostClient) isGood(cc *ClientConn, trace *ClientTrace) (good bool) {
	defer func() {
		if !good {
			c.discardConn(cc)
		}
	}()
	if cc.member.Uses > 0 && cc.stale() {
		return false
	}
	trace.gotConn(cc)
	return true
}

// putConn takes back a connection that can be used again.
func (c *HostClient) putConn(cc *ClientConn) {
	set := cc.set // of the call that has ended
	if c.pool.Put(&cc.member) {
		set.trace.putIdle(cc.addr)
	}
}

// discardConn closes a connection that is in use.
func (c *HostClient) discardConn(cc *ClientConn) { c.pool.Discard(&cc.member) }

// dialPooled makes a connection for the pool.
func (c *HostClient) dialPooled(ctx context.Context, deadline time.Time) (m *pool.Member, err error) {
	var nc net.Conn
	done := false
	defer func() {
		if !done && nc != nil { // a method of it has panicked
			nc.Close()
		}
	}()
	nc, addr, err := c.dialAny(ctx, deadline)
	if err != nil {
		return nil, err
	}
	overH2, err := c.usesH2(ctx, nc)
	if err != nil {
		return nil, err
	}
	done = true
	if overH2 {
		return &newH2ClientConn(c, nc, addr).member, nil
	}
	return &newClientConn(c, nc, addr).member, nil
}

// tooOld reports whether cc has reached its maximum age. The janitor closes connections that have been idle for too long.
func (cc *ClientConn) tooOld() bool {
	limit := cc.owner.set.maxConnTime
	return limit > 0 && time.Since(cc.created) >= limit
}

// stale reports whether the connection, which is idle, must not be used. It does not wait.
func (cc *ClientConn) stale() bool {
	p := &cc.probe
	return p.Heard() || p.Secured != nil && cc.hasSecret()
}

// hasSecret reports whether TLS has read more than it has handed out. It is asked by a
// read that may not wait.
func (cc *ClientConn) hasSecret() bool {
	cc.readBy = longAgo
	cc.nc.SetReadDeadline(longAgo)
	var one [1]byte
	n, err := cc.nc.Read(one[:])
	return n > 0 || !timedOut(err)
}

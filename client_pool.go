package gallop

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/pool"
	"github.com/gallop-http/gallop/internal/target"
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
		Strict: c.HTTP2 != nil && c.HTTP2.StrictMaxConcurrentRequests,

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
		ctx = withOnly1(ctx)
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

// maxClientHandshake is how long a TLS handshake may take if no other limit is set.
const maxClientHandshake = 10 * time.Second

// splitAddrs returns the addresses in Addr, in ASCII and with a port. Dial and DialTimeout get those without a port as
// they are, be they paths of sockets, names that only they know, or nothing at all.
func (c *HostClient) splitAddrs() (addrs []string, err error) {
	anything := c.dialsSimply()
	for addr := range strings.SplitSeq(c.Addr, ",") {
		if addr = strings.TrimSpace(addr); addr == "" && !anything {
			continue
		}
		if _, isPath := dial.UnixPath(addr); !isPath && !(anything && strings.Contains(addr, "/")) {
			if addr, err = target.ASCIIHost(addr); err != nil {
				return nil, err
			}
		}
		if !anything {
			addr = AddMissingPort(addr, c.IsTLS)
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == 0 {
		err = errNoAddr
	}
	return addrs, err
}

// dialAny makes a connection to the next address, or, if that fails while there is
// time, to one of the others.
func (c *HostClient) dialAny(ctx context.Context, deadline time.Time) (nc net.Conn, addr string, err error) {
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	ctx = c.set.traceOf(ctx).dialing(ctx)
	next := c.nextAdr.Add(1) - 1
	for i := range c.addrs { // each of them once, whatever others dial meanwhile
		addr = c.addrs[(uint64(next)+uint64(i))%uint64(len(c.addrs))]
		if nc, err = c.dialOne(ctx, addr); err == nil {
			return nc, addr, nil
		}
		if ctx.Err() != nil {
			return nil, addr, endedBy(ctx)
		}
	}
	return nil, addr, err
}

// dialOne makes a connection to addr, TLS included.
func (c *HostClient) dialOne(ctx context.Context, addr string) (net.Conn, error) {
	nc, err := c.reach(ctx, addr)
	if err == nil && nc == nil {
		err = errDialNothing
	}
	if err != nil || !c.IsTLS || c.isSecured(nc) {
		return nc, err
	}
	return c.tls.handshake(ctx, nc, AddMissingPort(addr, true), c.TLSConfig, c.alpn(ctx), c.set.handshake)
}

// isSecured reports whether Dial or DialTimeout have shaken hands themselves, as those do that
// bring a TLS of their own: what they return can then do that.
func (c *HostClient) isSecured(nc net.Conn) bool {
	_, can := nc.(interface{ Handshake() error })
	return can && c.dialsSimply()
}

// dialsSimply reports whether connections are made by Dial or DialTimeout.
func (c *HostClient) dialsSimply() bool { return c.Proxy == nil && c.dialFuncs().takeNoContext() }

func (c *HostClient) dialFuncs() dialFuncs {
	return dialFuncs{context: c.DialContext, timeout: c.DialTimeout, plain: c.Dial, dualStack: c.DialDualStack}
}

// reach connects to addr, through a proxy if there is one for it.
func (c *HostClient) reach(ctx context.Context, addr string) (net.Conn, error) {
	funcs := c.dialFuncs()
	if c.Proxy == nil {
		return funcs.dial(ctx, "tcp", addr)
	}
	proxy, err := c.Proxy(ctx, proxyTarget(c.scheme(), addr))
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return funcs.dial(ctx, "tcp", addr)
	}
	through := ProxyDialer{URL: proxy, Connect: funcs.withContext().dial, shared: c.tls,
		TLSHandshakeTimeout: c.set.handshake}
	if proxy.Scheme == "https" && c.TLSConfig != nil {
		through.TLSConfig = c.TLSConfig.Clone()
		through.TLSConfig.ServerName = "" // is that of the server
		if sessions := c.tls.sessions.of(c.TLSConfig); sessions != nil {
			through.TLSConfig.ClientSessionCache = sessions // the copy would have its own
		}
	}
	return through.DialContext(ctx, "tcp", addr)
}

// scheme returns the scheme of the requests that can be sent to this host.
func (c *HostClient) scheme() string {
	if c.IsTLS {
		return "https"
	}
	return "http"
}

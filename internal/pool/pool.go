// Package pool decides which call of a client gets which connection to a host.
//
// A [Pool] limits the connections, keeps idle connections for reuse, and lets calls wait for a connection in order of
// arrival. It dials new connections on other goroutines. A [Janitor] closes connections that have been idle for too
// long. The package knows nothing about the protocol on a connection: a [Conn] says how many calls it can carry at the
// same time.
//
// The files:
//
//   - pool.go: connections and their limits, idle connections
//   - shared.go: connections that carry several calls
//   - wait.go: calls that wait for a connection
//   - dial.go: calls that wait for a dial
//   - follow.go: calls that wait for the dial of another call
//   - janitor.go: closing idle connections
//   - moment.go: points in time
package pool

import (
	"context"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/list"
)

// Conn is a connection.
type Conn interface {
	// Room returns how many calls the connection can carry at the same time. 0 means that no further call may use the
	// connection. Init and [Pool.RoomChanged] call Room. Room must not call methods of the pool, because RoomChanged
	// has locked it.
	Room() int

	// Close closes the connection.
	Close()
}

// Options are the settings of a Pool.
type Options struct {
	Max         int           // connections at first; see [Pool.SetMax]
	MaxIdle     int           // idle connections
	MaxIdleTime time.Duration // how long a connection may be idle; 0: forever
	Oldest      bool          // reuse the connection that was idle longest, instead of the one that was idle shortest
	Wait        time.Duration // how long a call waits at the limit; 0: not at all, negative: until its deadline

	// Dial opens a connection, for which Init was called. It runs on its own goroutine.
	Dial func(ctx context.Context, deadline time.Time) (*Member, error)

	// Loyal makes a call wait for its own dial, even if another connection becomes idle first.
	Loyal bool

	// Shared reports whether a new connection is expected to carry several calls. If it is, one call dials at a time, and
	// other calls that need a connection wait for that dial. Shared must not call methods of the pool, because the pool is
	// locked. Nil means that it is not.
	Shared func() bool

	// Strict makes calls wait for room on connections that carry several calls, if there is one, instead of dialing another
	// connection. Such a wait is not limited by Wait.
	Strict bool

	Full       error                       // of a call that could not wait, or not any longer
	Late       error                       // of a call whose deadline passed while it waited
	Ended      func(context.Context) error // returns the error of a call whose context is done
	DialFailed func(error) error           // returns the error of a call whose dial failed with the given error
	Kept       func(*Member)               // called if no call needed a dialed connection, and it is idle

	Janitor *Janitor    // closes connections that were idle for MaxIdleTime
	Forget  func() bool // see [Janitor.Watch]; may be nil
}

// Member is the part of a connection that its Pool uses. A connection has it as a field.
type Member struct {
	// Uses is how many calls have used the connection, including the present ones. The owner counts the calls. If the
	// connection carries several calls at the same time, the owner guards Uses with a lock. If no call needs the
	// connection anymore when its dial ends, the pool sets Uses to 1, because the next call gets a connection that was
	// idle.
	Uses int

	// Many says that the connection carries as many calls at the same time as it has room for. The owner sets it before the
	// pool gets the connection.
	Many bool

	idleAt  Moment            // when the last call on it ended
	place   list.Node[Member] // in Pool.idle or Pool.shared
	calls   int               // in flight
	room    int               // for so many calls, or gone
	shares  bool              // it is in Pool.shared
	counted bool              // it counts in Pool.many
	conn    Conn
}

// gone is the room of a connection that is closed, or about to be. The connection does not count in Pool.open, unless
// another one takes its place.
const gone = -1

// Init makes m the member of c.
func (m *Member) Init(c Conn) { m.conn, m.room = c, max(c.Room(), 0) }

// Conn returns the connection of m.
func (m *Member) Conn() Conn { return m.conn }

// IdleAt returns when the last call on the connection ended. The result is 0 if no call has ended. m must have no other calls.
func (m *Member) IdleAt() Moment { return m.idleAt }

// IdleAt is Member.IdleAt for a connection that may carry other calls.
func (p *Pool) IdleAt(m *Member) Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.idleAt
}

// Pool is the connections to one host. Init must be called before a Pool is used; only Counts and UsedAt work before.
// Each operation takes constant time, unless calls that need a fresh connection wait while connections are shared.
type Pool struct {
	opts *Options

	mu      sync.Mutex
	open    int                // idle, in use, or being dialed: what max limits
	max     int                // of open
	idle    list.List[Member]  // without calls; the longest idle one first
	shared  list.List[Member]  // with calls, and with room for more
	dials   list.List[dialing] // calls that wait for a dial, which are older than those that wait for a place
	waiters list.List[waiter]
	leading int // dials, or places for dials, whose connections other calls wait for
	many    int // connections with Member.Many that accept calls; only with Options.Strict
	lock    waiterLock
	expiry  Moment // when waits are looked at; 0 if never
	usedAt  Moment // when a connection was last dialed or given back
	watched bool   // the janitor comes by
}

// Init sets the options of p, which must not change afterwards.
func (p *Pool) Init(o *Options) { p.opts, p.lock.p, p.max = o, p, o.Max }

// Take returns a connection that has room for one more call, or nil. Unless the result is nil, the caller must end the
// call with Put, Discard or Leave.
func (p *Pool) Take() (m *Member) {
	p.mu.Lock()
	switch {
	case p.shared.Len() > 0:
		m = p.shared.First()
	case p.opts.Oldest:
		m = p.idle.PopFirst()
	default:
		m = p.idle.PopLast()
	}
	if m != nil {
		if m.calls++; m.room > 1 {
			p.file(m)
		}
	}
	p.mu.Unlock()
	return m
}

// takeOrLock does the same. If it returns nil, p is locked, and still no connection has room.
func (p *Pool) takeOrLock() *Member {
	for {
		if m := p.Take(); m != nil {
			return m
		}
		p.mu.Lock()
		if p.shared.Len()+p.idle.Len() == 0 {
			return nil
		}
		p.mu.Unlock()
	}
}

// Get returns a connection for one call. Get chooses a connection that has room. If no connection has room, Get opens a
// new one. If the pool is full, Get waits for the first connection that has room again. fresh asks for a new connection
// in any case. If there is no error, the caller must end the call with Put, Discard or Leave.
func (p *Pool) Get(ctx context.Context, deadline time.Time, fresh bool) (*Member, error) {
	if !fresh {
		if m := p.takeOrLock(); m != nil {
			return m, nil
		}
		return p.make(ctx, deadline, nil, false) // unlocks
	}
	p.mu.Lock()
	var old *Member
	if p.open >= p.max {
		if old = p.idle.PopFirst(); old != nil {
			p.setRoom(old, gone)
		}
	}
	return p.make(ctx, deadline, old, true) // unlocks
}

// make returns a new connection, or one that gets room while the call waits. If the call needs a fresh one, only a new
// one will do, which takes the place of old unless that is nil. p is locked, and is not afterwards.
func (p *Pool) make(ctx context.Context, deadline time.Time, old *Member, fresh bool) (*Member, error) {
	leads := false
	switch {
	case old != nil:
	case p.open < p.max && (fresh || !p.mustFollow()):
		p.open++
	default:
		m, places, err := p.await(ctx, deadline, fresh) // unlocks
		if err != nil || m != nil && !fresh {
			return m, err
		}
		old, leads = m, places
		if fresh {
			p.mu.Lock()
		} else if m = p.takeOrLock(); m != nil { // it got room since this call was given a place
			p.refusePlace(leads)
			return m, nil
		}
	}
	if old != nil { // no other call can take it
		p.mu.Unlock()
		p.replace(old)
		p.mu.Lock()
	}
	d, cancel := p.startDial(ctx, deadline, fresh, leads)
	p.mu.Unlock()
	m, err := p.awaitDial(ctx, deadline, d, cancel)
	if err != nil {
		err = p.opts.DialFailed(err)
	}
	return m, err
}

// replace closes a connection whose place a new one takes.
func (p *Pool) replace(old *Member) {
	closed := false
	defer func() {
		if !closed { // Close has panicked
			p.Leave()
		}
	}()
	old.conn.Close()
	closed = true
}

// Put ends a call on a connection, which can be used again. It reports whether the connection is idle now.
func (p *Pool) Put(m *Member) (idle bool) {
	now := Now()
	p.mu.Lock()
	p.usedAt, m.idleAt = now, now
	m.calls--
	switch {
	case m.calls != 0 || m.room != 1 || p.open > p.max:
		if !p.putShared(m) { // unlocks
			return false
		}
	case p.dials.Len()+p.waiters.Len() > 0 && p.give(m):
		p.mu.Unlock()
		return false
	}
	p.idle.Push(&m.place, m)
	var surplus *Member
	if p.idle.Len() > p.opts.MaxIdle {
		surplus = p.idle.PopFirst()
		p.setRoom(surplus, gone)
	}
	watch := !p.watched
	p.watched = true
	p.mu.Unlock()
	if surplus != nil {
		p.drop(surplus)
	}
	if watch {
		p.opts.Janitor.watch(p)
	}
	return true
}

// give gives room on m to the first call that waits and can use it, and reports whether there is one. p is locked.
func (p *Pool) give(m *Member) bool {
	return p.dials.Len() > 0 && p.giveDialing(m) || p.waiters.Len() > 0 && p.giveWaiter(m)
}

// Discard ends a call on a connection, and closes the connection.
func (p *Pool) Discard(m *Member) {
	p.mu.Lock()
	m.calls--
	leaves := m.room != gone
	p.setRoom(m, gone)
	p.file(m)
	p.mu.Unlock()
	if leaves {
		p.drop(m)
	}
}

// drop closes a connection that is gone and in no list.
func (p *Pool) drop(m *Member) {
	defer p.Leave()
	m.conn.Close()
}

// Leave gives the place of a connection that left the pool to the first call that waits, or back.
func (p *Pool) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave()
}

// leave does the same while p is locked.
func (p *Pool) leave() {
	if p.open > p.max || p.mustFollow() || !p.givePlace() {
		p.open--
	}
}

// SetMax changes how many connections there may be.
func (p *Pool) SetMax(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.max = n
	p.settle()
}

// CloseIdle closes the connections that have been idle since the given moment or longer.
func (p *Pool) CloseIdle(since Moment) {
	for {
		p.mu.Lock()
		m := p.idle.First()
		if m == nil || m.idleAt > since {
			p.mu.Unlock()
			return
		}
		p.idle.Remove(&m.place)
		p.setRoom(m, gone)
		p.mu.Unlock()
		p.drop(m)
	}
}

// Counts returns how many connections there are, including those that are being dialed, and how many of them are idle.
func (p *Pool) Counts() (open, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open, p.idle.Len()
}

// UsedAt returns when a connection was last dialed or given back, or 0 if there has been none.
func (p *Pool) UsedAt() Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usedAt
}

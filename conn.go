package gallop

import (
	"context"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// connection is a connection while a goroutine serves it: a socket with buffers, deadlines, its place in the table and, if
// it belongs to a loop, its seat there. It knows no protocol. The type that serves a protocol embeds it, calls start or
// attach, and then reads and writes through input and output.
//
// All fields belong to the goroutine that serves, except the state and the links in entry.
type connection struct {
	hub   *connServer
	set   *connSettings
	wire  wire
	nc    net.Conn
	tls   secured // nc, if that is one
	entry *tableEntry
	own   tableEntry // entry, if a goroutine serves the connection to its end
	loop  loopSeat   // empty unless the connection belongs to a loop

	input  input
	output output

	id      uint64
	turns   uint64    // how often the wire has got something to serve
	counted int64     // of the turns, those that the server's counts do not have yet
	since   time.Time // when the connection began, see begun
	ready   time.Time // when its first bytes could arrive
	now     time.Time // when the last bytes arrived
	clock   clock.Watch

	queued bool  // the first byte of this turn was there before the output of the last turn was sent
	lent   bool  // the program has passed the connection, which is from no listener
	abrupt bool  // if the connection ends now, it ends with a reset, see beginAbrupt
	err    error // why the connection ended; nil if that is routine
}

// wire is the protocol on a connection, as the connection calls it. None of the calls is made for a common turn.
type wire interface {
	Idle() // the connection has nothing to read: gives back what is not needed meanwhile
	Lost() // a write failed: the client gets no more
}

// next says what happens to a connection after a step.
type next uint8

const (
	nextStep  next = iota // take the next step
	nextPark              // give the connection back to its loop until more bytes arrive
	nextLater             // give the connection back to its loop, which sends the output first
	nextMove              // go on with the connection on another goroutine
	nextTaken             // the connection belongs to the program
	nextEnded             // close the connection; connection.err says why
)

// endedBy returns nextEnded if err is not nil.
func (c *connection) endedBy(err error) next {
	if err == nil {
		return nextStep
	}
	c.err = err
	return nextEnded
}

// start prepares c to serve nc, which belongs to no loop, with a wire.
func (c *connection) start(s *connServer, w wire, nc net.Conn, of *servedListener) {
	c.prepare(s, w)
	c.nc, c.id, c.lent = nc, s.ids.Add(1), of == nil
	c.readClock()
	c.since = c.now
	c.input.raw.init(nc)
	c.entry, c.own.nc, c.own.context = &c.own, nc, s.newContext(of)
}

// prepare makes c a seat for connections of s.
func (c *connection) prepare(s *connServer, w wire) {
	c.hub, c.set, c.wire = s, s.set, w
	c.input.c, c.output.c = c, c
}

// guard calls f, which is known as what. It logs it if that panics, and reports false.
func (c *connection) guard(what string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked("panic in "+what, v)
		}
	}()
	f()
	return true
}

// panicked logs a panic with v.
func (c *connection) panicked(text string, v any) {
	c.hub.log.panicked(c.nc.RemoteAddr(), c.id, text, v)
}

func (c *connection) report(state connState) {
	if c.hub.hooks.state != nil {
		c.hub.hooks.state(c.nc, state)
	}
}

// readClock sets now, and returns it.
func (c *connection) readClock() time.Time {
	c.now = c.clock.Now()
	return c.now
}

// resetDeadlines puts the server's own settings in force again.
func (c *connection) resetDeadlines() {
	if c.input.byHand.Load() != nil || c.output.byHand.Load() != nil {
		c.clearDeadlines()
	}
}

func (c *connection) clearDeadlines() {
	if c.input.byHand.Load() != nil {
		c.input.byHand.Store(nil)
		c.input.deadline = time.Time{}
		c.nc.SetReadDeadline(time.Time{})
	}
	if c.output.byHand.Load() != nil {
		c.output.byHand.Store(nil)
		c.output.deadline = time.Time{}
		c.nc.SetWriteDeadline(time.Time{})
	}
}

// connContext is what the contexts that a connection's program sees descend from.
type connContext struct {
	base context.Context
	own  context.Context // nil before it is needed
}

// newContext returns the context of a new connection, nil if it has none. of is nil if the connection is from no listener.
func (s *connServer) newContext(of *servedListener) *connContext {
	switch {
	case of != nil && of.base != nil:
		return &connContext{base: of.base}
	case s.hooks.context != nil:
		return &connContext{base: context.Background()}
	}
	return nil
}

// context returns the context of the connection, nil if it has none.
func (c *connection) context() context.Context {
	cc := c.entry.context
	if cc == nil {
		return nil
	}
	if cc.own == nil {
		cc.own = cc.base
		if f := c.hub.hooks.context; f != nil {
			cc.own = f(cc.base, c.nc)
		}
	}
	return cc.own
}

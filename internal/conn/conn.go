package conn

import (
	"context"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// Conn is a connection while a goroutine serves it: a socket with buffers, deadlines, its place in the table and, if
// it belongs to a loop, its seat there. It knows no protocol. The type that serves a protocol embeds it, calls Start or
// Attach, and then reads and writes through Input and Output.
//
// All fields belong to the goroutine that serves, except the phase and the links in Entry.
type Conn struct {
	Server *Server
	Set    *Settings
	wire   Wire
	NC     net.Conn
	TLS    secured // NC, if that is one
	Entry  *Entry
	own    Entry // Entry, if a goroutine serves the connection to its end
	Loop   Seat  // empty unless the connection belongs to a loop

	Input  Input
	Output Output

	ID         uint64
	Turns      uint64    // how often the wire has got something to serve
	counted    int64     // of the turns, those that the server's counts do not have yet
	since      time.Time // when the connection began, see Begun
	Ready      time.Time // when its first bytes could arrive
	Now        time.Time // when the last bytes arrived, or a later look at the clock
	clock      clock.Watch
	OwnReports bool      // the wire reports StateActive and StateIdle
	Wakeable   bool      // of a connection without a loop: other goroutines of the wire write, count what they write, and end WaitIdle with Wake
	IdleBy     time.Time // when a connection that belongs to no loop has been idle for too long; zero: after Settings.Idle

	lent    bool  // the program has passed the connection, which is from no listener
	abrupt  bool  // if the connection ends now, it ends with a reset, see BeginAbrupt
	lingers bool  // LingerOnLoop was called
	Err     error // why the connection ended; nil if that is routine

	waking waking
}

// Wire is the protocol on a connection, as the connection calls it. None of the calls is made for a common turn.
type Wire interface {
	Idle() // the connection has nothing to read: gives back what is not needed meanwhile
	Lost() // a write failed: the client gets no more
}

// Next says what happens to a connection after a step.
type Next uint8

const (
	Step   Next = iota // take the next step
	Resume             // go on with a turn that has begun: with ResumeMoved or ResumePartial
	Park               // give the connection back to its loop until more bytes arrive
	Again              // give the connection back to its loop, which serves others before it serves the connection again
	Later              // give the connection back to its loop, which sends the output first
	Move               // go on with the connection on another goroutine
	Taken              // the connection belongs to the program
	Ended              // close the connection; Conn.Err says why
)

// EndedBy returns Ended if err is not nil.
func (c *Conn) EndedBy(err error) Next {
	if err == nil {
		return Step
	}
	c.Err = err
	return Ended
}

// Start prepares c to serve nc, which belongs to no loop, with a wire.
func (c *Conn) Start(s *Server, w Wire, nc net.Conn, of *Listener) {
	c.Prepare(s, w)
	c.NC, c.ID, c.lent = nc, s.ids.Add(1), of == nil
	c.Now = c.clock.Start()
	c.since = c.Now
	c.Input.raw.init(nc)
	c.Entry, c.own.NC = &c.own, nc
	c.own.setContext(s.newContext(of))
}

// Prepare makes c a seat for connections of s.
func (c *Conn) Prepare(s *Server, w Wire) {
	c.Server, c.Set, c.wire = s, s.set, w
	c.Input.C, c.Output.C = c, c
}

// Guard calls f, which is known as what. It logs it if that panics, and reports false.
func (c *Conn) Guard(what string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.Panicked("panic in "+what, v)
		}
	}()
	f()
	return true
}

// Panicked logs a panic with v.
func (c *Conn) Panicked(text string, v any) {
	c.Server.Log.Panicked(c.NC.RemoteAddr(), c.ID, text, v)
}

func (c *Conn) Report(state State) {
	if c.Server.hooks.State != nil {
		c.Server.hooks.State(c.NC, state)
	}
}

// reportClosed reports that a connection of a loop is closed. If the program's function panics, reportClosed logs that.
func (s *Server) reportClosed(nc net.Conn, id uint64) {
	if s.hooks.State == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.Log.Panicked(nc.RemoteAddr(), id, "panic in ConnState", v)
		}
	}()
	s.hooks.State(nc, StateClosed)
}

// reportTurn reports that a turn has begun or ended, unless the wire does.
func (c *Conn) reportTurn(state State) {
	if !c.OwnReports {
		c.Report(state)
	}
}

// readClock sets now, and returns it.
func (c *Conn) readClock() time.Time {
	c.Now = c.clock.Now()
	return c.Now
}

// ResetDeadlines puts the server's own settings in force again.
func (c *Conn) ResetDeadlines() {
	if c.Input.ByHand.Load() != nil || c.Output.ByHand.Load() != nil {
		c.clearDeadlines()
	}
}

func (c *Conn) clearDeadlines() {
	if c.Input.ByHand.Load() != nil {
		c.Input.ByHand.Store(nil)
		c.Input.Deadline = time.Time{}
		c.NC.SetReadDeadline(time.Time{})
	}
	if c.Output.ByHand.Load() != nil {
		c.Output.ByHand.Store(nil)
		c.Output.Deadline = time.Time{}
		c.NC.SetWriteDeadline(time.Time{})
	}
}

// connContext is what the contexts that a connection's program sees descend from.
type connContext struct {
	base context.Context
	own  context.Context // nil before it is needed
}

// newContext returns the context of a new connection, nil if it has none. of is nil if the connection is from no listener.
func (s *Server) newContext(of *Listener) *connContext {
	switch {
	case of != nil && of.Base != nil:
		return &connContext{base: of.Base}
	case s.hooks.Context != nil:
		return &connContext{base: context.Background()}
	}
	return nil
}

// Context returns the context of the connection, nil if it has none.
func (c *Conn) Context() context.Context {
	if c.Entry.rare == nil || c.Entry.rare.context == nil {
		return nil
	}
	cc := c.Entry.rare.context
	if cc.own == nil {
		cc.own = cc.base
		if f := c.Server.hooks.Context; f != nil {
			cc.own = f(cc.base, c.NC)
		}
	}
	return cc.own
}

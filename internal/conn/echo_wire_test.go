package conn_test

import (
	"fmt"
	"io"
	"sync"

	"github.com/gallop-http/gallop/internal/conn"
)

// lock is a mutex. Unlike sync.Mutex, it lets virtual time pass while a goroutine waits for it, since the one that has it may
// be stopped at a system call.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// echoWire is a connection of an echoServer. The fields before mu belong to the goroutine that serves the connection.
// Handlers run on other goroutines, or on the loop while the connection is parked.
type echoWire struct {
	conn.Conn
	s      *echoServer
	loop   onLoop
	kick   func()                    // has the connection served, although nothing may have arrived
	push   func([]byte) (int, error) // see conn.Pusher; nil unless the connection belongs to a loop
	below  func() int                // Pusher.Unsent
	start  func(x *exchange)         // calls the handler, now or soon
	input  []byte                    // frames that are not complete
	last   uint16                    // number of the last exchange that was opened
	eof    bool                      // the client sends nothing more
	away   bool                      // frameAway was sent
	mu     lock
	change sync.Cond // of anything below

	open    map[uint16]*exchange
	running int         // handlers, except those that were left behind
	pending []*exchange // whose handlers a loop calls as soon as the connection is parked

	unsent   []byte
	sent     int64
	flushing bool  // a goroutine writes
	stuck    bool  // the socket has not accepted all, also of what was pushed
	failed   error // why nothing can be written any more
	over     bool  // the connection ends
	closed   bool  // it has been closed
	dropped  bool  // it is no longer in the table
}

func (s *echoServer) newWire() *echoWire {
	c := &echoWire{s: s, mu: make(lock, 1), open: map[uint16]*exchange{}, below: func() int { return 0 }}
	c.change.L = c.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = c
	return c
}

// Idle implements conn.Wire.
func (c *echoWire) Idle() {}

// Lost implements conn.Wire.
func (c *echoWire) Lost() {}

// serve serves the connection until it has to be parked or ended.
func (c *echoWire) serve() conn.Next {
	for {
		if err := c.takeFrames(); err != nil {
			return c.EndedBy(err)
		}
		if n := c.wait(); n != conn.Step {
			return n
		}
	}
}

// wait waits for input: with exchanges in the middle of a turn, and otherwise for a new one.
func (c *echoWire) wait() conn.Next {
	busy, err := c.look()
	switch {
	case err != nil:
		return c.EndedBy(err)
	case !busy && (c.eof || c.away):
		c.Linger()
		return conn.Ended
	case !busy:
		if n := c.WaitIdle(); n != conn.Ended || c.Err != conn.ErrIdle {
			return n
		}
		c.EndIdle()
		return conn.Ended
	case c.eof && c.push != nil:
		return conn.Park
	case c.eof:
		c.await(func() bool { return !c.busy() })
		return conn.Step
	}
	n := c.WaitMore()
	if n == conn.Ended && c.Err == io.EOF {
		n, c.Err, c.eof = conn.Step, nil, true
		c.cutOff()
	}
	return n
}

// look sends what is left, and frameAway if the server is stopping. It reports whether the connection is in a turn.
func (c *echoWire) look() (busy bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.away && c.s.Stopping.Load() && c.busy() {
		c.away = true
		c.append(c.last, frameAway, "")
	}
	c.flush()
	return c.busy(), c.failed
}

func (c *echoWire) busy() bool {
	return c.failed == nil && (len(c.open) > 0 || c.running > 0 || len(c.unsent) > 0 || c.flushing || c.stuck)
}

func (c *echoWire) await(cond func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !cond() {
		c.change.Wait()
	}
}

// takeFrames uses all the input that there is.
func (c *echoWire) takeFrames() error {
	in := &c.Input
	c.input = append(c.input, in.Unread()...)
	in.R += len(in.Unread())
	in.ReleaseHead(c.Set.Poison)
	for {
		f, rest, ok := cutFrame(c.input)
		if !ok {
			break
		}
		c.input = append(c.input[:0], rest...)
		if err := c.take(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *echoWire) take(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.open[f.id]
	switch {
	case f.kind == frameOpen:
		if f.id <= c.last {
			return fmt.Errorf("exchange %d after %d", f.id, c.last)
		}
		if !c.away {
			c.last = f.id
			c.opened(f)
		}
	case f.id > c.last && !c.away:
		return fmt.Errorf("frame for exchange %d, which is not open", f.id)
	case x == nil: // it has ended
	case f.kind == frameData && len(x.body)+len(f.payload) > mostBody:
		x.end(frameReset, reasonBody)
	case f.kind == frameData:
		x.body = append(x.body, f.payload...)
	case f.kind == frameEnd:
		x.complete = true
	case f.kind == frameReset:
		x.end(frameReset, reasonReset)
	default:
		return fmt.Errorf("frame of kind %q", f.kind)
	}
	c.change.Broadcast()
	return nil
}

// opened begins an exchange.
func (c *echoWire) opened(f frame) {
	if len(c.open) == mostOpen {
		c.append(f.id, frameReset, reasonMany)
		return
	}
	c.CountTurn()
	x := c.newExchange(f)
	c.open[f.id] = x
	c.running++
	c.start(x)
}

// cutOff ends the exchanges that the client cannot complete any more.
func (c *echoWire) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.open {
		if !x.complete {
			x.end(frameReset, reasonReset)
		}
	}
}

// append appends a frame to what is to be sent. c is locked.
func (c *echoWire) append(id uint16, kind byte, payload string) {
	if c.failed == nil && !c.over {
		c.unsent = appendFrame(c.unsent, id, kind, payload)
		c.flush()
	}
}

// flush sends what can be sent without waiting, or has it sent by another goroutine. c is locked.
func (c *echoWire) flush() {
	switch {
	case c.failed != nil || c.over:
	case c.push != nil:
		n, err := c.push(c.unsent)
		c.unsent = append(c.unsent[:0], c.unsent[n:]...)
		was := c.stuck
		c.stuck = err == nil && (len(c.unsent) > 0 || c.below() > 0)
		if c.written(n, err); c.stuck && !was {
			c.kick() // has the connection parked again, with a time limit
		} else if was && !c.stuck {
			c.settled()
		}
	case len(c.unsent) > 0 && !c.flushing:
		c.flushing = true
		go c.write()
	}
}

// progress returns a number that grows when the client takes something. c is locked.
func (c *echoWire) progress() int64 { return c.sent - int64(c.below()) }

// write writes what is to be sent, for a connection that a goroutine serves.
func (c *echoWire) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.unsent) > 0 && c.failed == nil {
		p := c.unsent
		c.unsent = nil
		c.mu.Unlock()
		err := c.Output.Write(p)
		if err == nil {
			err = c.Output.Flush()
		}
		c.mu.Lock()
		c.written(len(p), err)
	}
	c.flushing = false
	c.settled()
}

// written notes the result of a write. c is locked.
func (c *echoWire) written(n int, err error) {
	c.sent += int64(n)
	c.s.Counts[0].Written.Add(int64(n))
	if err != nil {
		c.failed = err
		c.cancel(err)
		c.kick()
	}
	c.change.Broadcast()
}

// settled has the connection looked at if the turn is over. c is locked.
func (c *echoWire) settled() {
	c.change.Broadcast()
	if !c.busy() {
		c.kick()
	}
}

// cancel ends all exchanges, without telling the client. c is locked.
func (c *echoWire) cancel(err error) {
	for _, x := range c.open {
		x.cancel(err)
	}
	for _, x := range c.pending {
		if !x.left {
			c.running--
		}
	}
	c.pending = nil
}

// finish ends the connection, with close. Its entry stays in the table until the last handler has returned.
func (c *echoWire) finish(close func()) {
	c.mu.Lock()
	c.over = true
	c.cancel(io.ErrClosedPipe)
	c.mu.Unlock()
	close()
	c.await(func() bool { return !c.flushing })
	c.Input.Release()
	c.Output.Release()
	c.Publish()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.drop()
}

// drop takes the connection out of the table, if all is over. c is locked.
func (c *echoWire) drop() {
	if c.closed && c.running == 0 && !c.dropped {
		c.dropped = true
		c.s.Table.Drop(c.entry())
	}
}

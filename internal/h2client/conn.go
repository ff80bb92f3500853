package h2client

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

// Options are the settings of connections, which can share them. They must not change.
type Options struct {
	Engine http2.Config // its role must be Client

	PingAfter   time.Duration // without input while calls are open, until PING is sent; 0: never
	PingTimeout time.Duration // without input after that, until the connection fails
	WriteStall  time.Duration // how long the next 16 KiB may take to be written, until the connection fails; 0: forever
}

// Hooks are what a connection asks and tells its owner. They are called without locks of this package.
type Hooks struct {
	// RoomChanged is called when the result of Room has changed.
	RoomChanged func()

	// Heard reports whether input has arrived on the connection, which is idle and which nobody reads. It may be nil.
	Heard func() bool

	// CountError is called with the type of each error of the server. It may be nil, and must not panic.
	CountError func(errType string)
}

// Conn is an HTTP/2 connection of a client. All methods may be called concurrently.
type Conn struct {
	nc     net.Conn
	opts   *Options
	hooks  Hooks
	socket socket
	room   atomic.Int32

	readFunc, writeFunc func() // methods, made once: a closure per use would be garbage

	mu       sync.Mutex
	engine   http2.Conn
	calls    []*Call       // by slot
	held     int           // of calls that are not nil
	free     *Call         // ended calls, for the next ones
	spare    http2.Message // gets the next head; its Head is nil while no goroutine reads
	failed   error         // why the connection has ended
	broken   error         // why nothing can be written any more
	changed  bool          // the owner does not know the room yet
	errs     []string      // types of errors that were not counted yet
	used     bool          // there was a call, or Start was called
	reading  bool          // a goroutine reads
	retiring bool          // it is about to stop
	closed   bool
	in       []byte // the start of a frame of which the rest has not arrived, while nobody reads

	writing bool
	handed  int64     // bytes that were taken from the engine
	wrote   int64     // of them, bytes that were written
	out     []byte    // bytes that are being written
	unsent  []byte    // the part of out that a socket did not accept at once
	drained sync.Cond // output was written, or there is no reason to wait for that

	times times
}

// New returns a connection over nc, which must not have been used. The connection sends nothing until Open or Start is called.
func New(nc net.Conn, opts *Options, hooks Hooks) *Conn {
	c := &Conn{nc: nc, opts: opts, hooks: hooks}
	c.socket.init(nc)
	c.readFunc, c.writeFunc = c.read, c.write
	c.drained.L = &c.mu
	c.engine.Init(&opts.Engine)
	c.room.Store(int32(c.engine.MaxOpen()))
	return c
}

// Room returns how many calls the connection can carry at the same time. 0 means that it accepts no further calls.
func (c *Conn) Room() int { return int(c.room.Load()) }

// Start greets the server, if no call has done that.
func (c *Conn) Start() {
	c.mu.Lock()
	if c.wake() == nil {
		c.flush(false) // unlocks
	} else {
		c.unlock()
	}
}

// Close closes the connection. Calls that are open fail.
func (c *Conn) Close() {
	c.mu.Lock()
	graceful := c.failed == nil && c.broken == nil && !c.writing
	wasClosed := c.closed
	c.closed = true
	c.fail(net.ErrClosed)
	c.changed = false // the owner knows
	c.times.stop()
	c.unlock()
	switch {
	case wasClosed:
	case graceful:
		c.nc.Close()
	default:
		c.hangUp()
	}
}

// endFailed closes a connection that has failed. If patient is set, it leaves that to a goroutine that still writes.
func (c *Conn) endFailed(patient bool) {
	c.mu.Lock()
	ends := c.failed != nil && !c.closed && !(patient && c.writing)
	c.closed = c.closed || ends
	c.unlock()
	if ends {
		c.hangUp()
	}
}

// hangUp closes the connection without waiting for the server.
func (c *Conn) hangUp() {
	if tc, ok := c.nc.(*tls.Conn); ok { // its Close would wait for a server that does not read
		tc.NetConn().Close()
		return
	}
	c.nc.Close()
}

// unlock unlocks c, and tells the owner about changes and errors.
func (c *Conn) unlock() {
	changed, errs := c.changed, c.errs
	c.changed, c.errs = false, nil
	c.mu.Unlock()
	for _, errType := range errs {
		c.hooks.CountError(errType)
	}
	if changed && c.hooks.RoomChanged != nil {
		c.hooks.RoomChanged()
	}
}

// count notes an error of the server, to be counted. c is locked.
func (c *Conn) count(errType string) {
	if c.hooks.CountError != nil {
		c.errs = append(c.errs, errType)
	}
}

// updateRoom notes how many calls there may be now. c is locked.
func (c *Conn) updateRoom() {
	n := 0
	if c.failed == nil && c.broken == nil {
		n = c.engine.MaxOpen()
	}
	if int32(n) != c.room.Load() {
		c.room.Store(int32(n))
		c.changed = true
	}
}

// fail ends the connection because of err, unless it has ended. c is locked.
func (c *Conn) fail(err error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	for _, call := range c.calls {
		if call != nil {
			call.lost(err)
		}
	}
	c.updateRoom()
	c.drained.Broadcast()
}

// lastWords is how long a connection that the server has broken waits until its last frames are written.
const lastWords = time.Second

// failEngine ends the connection because of an error of the server, which gets GOAWAY. c is locked.
func (c *Conn) failEngine(err *http2.Error) {
	c.count(err.Type())
	c.fail(err)
	_ = c.nc.SetWriteDeadline(time.Now().Add(lastWords))
}

// wake makes sure that a goroutine reads. If that is impossible, wake returns why, and the connection has failed. c is locked.
func (c *Conn) wake() error {
	switch {
	case c.failed != nil:
		return c.failed
	case c.broken != nil:
		return c.broken
	case c.retiring:
		c.retiring = false
		_ = c.nc.SetReadDeadline(time.Time{})
	case !c.reading:
		if c.used && c.hooks.Heard != nil && c.hooks.Heard() {
			c.fail(errStale)
			return errStale
		}
		c.reading, c.spare.Head = true, new(message.Head)
		go c.readFunc()
	}
	c.used = true
	c.watchTime()
	return nil
}

// settle is called when the last call has ended. c is locked.
func (c *Conn) settle() { c.times.idle = now() }

// shrink gives back memory that an idle connection does not need. c is locked.
func (c *Conn) shrink() {
	c.calls, c.free = nil, nil
	c.engine.Shrink()
	if !c.writing {
		bufpool.Release(&c.out)
		if len(c.engine.Out()) == 0 {
			c.engine.LendOut(nil)
		}
	}
}

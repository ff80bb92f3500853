package gallop

import (
	"errors"
	"net"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/quota"
)

// h2Conn is the HTTP/2 wire of a server: a connection with many exchanges. See docs/design/0013-http2-server.md.
//
//	h2_wire.go      the wire, and what frames mean to it
//	h2_serve.go     a step of the connection, waiting, the end; the connection as the program sees it
//	h2_output.go    sending
//	h2_stream.go    a stream from its head to its end
//	h2_body.go      the request body
//	h2_response.go  the response
//	h2_time.go      time limits
//	h2_limits.go    limits of all connections together
//	h2_config.go    settings, and which connections use HTTP/2
//
// A connection of a loop is parked before handlers are called on the loop. So a handler that takes long holds up neither
// the frames nor the other streams of its connection.
type h2Conn struct {
	srv    *Server
	nc     net.Conn
	lc     *conn.LoopConn // nil if a goroutine serves the connection
	pusher conn.Pusher    // of a connection of a loop
	id     uint64
	began  int64 // see h2Now

	// These fields belong to the goroutine that serves the connection.
	spare   *h2Stream     // gets the next head, while frames are taken
	partial []byte        // a frame of which the rest has not arrived
	seat    *conn.Conn    // while it is served
	active  bool          // the program knows the connection as active
	turn    *quota.Waiter // of streams in ready, from the first one on

	// mu guards everything below, and the fields of streams that say so. No function of the program is called while it is
	// held.
	mu       sync.Mutex
	engine   http2.Conn
	streams  []*h2Stream // by slot
	held     int         // of streams that are not nil
	turns    uint64      // streams so far
	todo     h2Queue     // streams whose head or body has arrived
	ready    h2Queue     // streams that wait for other handlers to end
	turned   bool        // one of them may have its handler called
	pending  h2Queue     // streams whose handlers the loop calls as soon as the connection is parked
	waiting  int         // of them
	reserved int64       // bytes of memory that its streams have reserved
	firsts   int64       // bytes of its allowance that its streams use, see reserveFirst
	spent    h2Queue     // streams that ended while mu was held; unlock recycles them
	lent     bool        // the engine has a buffer for its output
	flushing bool        // a goroutine writes the output
	failed   error       // why the connection ends
	broken   bool        // nothing can be sent any more
	over     bool        // the connection is closed
	room     *sync.Cond  // some output was sent, or there is no reason to wait for that; nil on a loop
	start    h2Start
	times    h2Times

	next, prev *h2Conn // all HTTP/2 connections of the server, see h2Conns
}

// h2Queue is a queue of streams. The zero value is empty.
type h2Queue struct{ first, last *h2Stream }

func (q *h2Queue) push(st *h2Stream) {
	st.next = nil
	if q.first == nil {
		q.first = st
	} else {
		q.last.next = st
	}
	q.last = st
}

// pop returns the first stream, or nil.
func (q *h2Queue) pop() *h2Stream {
	st := q.first
	if st != nil {
		q.first, st.next = st.next, nil
	}
	return st
}

// remove removes a stream that is in the queue.
func (q *h2Queue) remove(st *h2Stream) {
	var kept h2Queue
	for q.first != nil {
		if other := q.pop(); other != st {
			kept.push(other)
		}
	}
	*q = kept
}

// unlock unlocks c, and recycles the streams that have ended meanwhile.
func (c *h2Conn) unlock() {
	spent := c.spent
	c.spent = h2Queue{}
	c.mu.Unlock()
	for st := spent.pop(); st != nil; st = spent.pop() {
		st.recycle()
	}
}

// feed takes the frames that have arrived.
func (c *h2Conn) feed(in *conn.Input, now int64) {
	p := in.Unread()
	in.R += len(p)
	if len(c.partial) > 0 {
		c.partial = append(bufpool.Grow(c.partial, len(p)), p...)
		p = c.partial
	}
	c.mu.Lock()
	c.borrow()
	for more := true; more; {
		if c.spare == nil {
			c.spare = c.srv.newStream()
		}
		ev, n := c.engine.Next(p, &c.spare.msg, now)
		p = p[n:]
		more = c.take(&ev)
	}
	c.unlock()
	c.srv.spareStreams.Put(c.spare)
	c.spare = nil
	c.keep(p)
}

// keep keeps the start of a frame until its rest arrives.
func (c *h2Conn) keep(p []byte) {
	switch {
	case len(p) == 0:
		bufpool.Release(&c.partial)
	case len(c.partial) > 0:
		c.partial = c.partial[:copy(c.partial, p)]
	default:
		c.partial = append(bufpool.Get(len(p)), p...)
	}
}

// take does what an event means, and reports whether there may be another one. c is locked.
func (c *h2Conn) take(ev *http2.Event) (more bool) {
	switch ev.Kind {
	case http2.More, http2.Full:
		return false
	case http2.Head:
		c.opened(ev)
	case http2.Data:
		c.streams[ev.Slot].data(ev.Data, ev.End)
	case http2.Trailers:
		c.streams[ev.Slot].trailers(&c.spare.msg)
	case http2.Reset:
		c.streams[ev.Slot].lost(&h2Reset{ev.Code, ev.Err})
	case http2.Failed:
		if c.failed == nil {
			c.failed = ev.Err
		}
		return false
	}
	return true
}

// opened begins a stream, whose head the spare stream has got. c is locked.
func (c *h2Conn) opened(ev *http2.Event) {
	st := c.spare
	c.spare = nil
	st.c, st.id, st.slot = c, ev.Stream, ev.Slot
	st.excess, st.ended = ev.Excess, ev.End
	st.change.L = &c.mu
	for len(c.streams) <= ev.Slot {
		c.streams = append(c.streams, nil)
	}
	c.streams[ev.Slot] = st
	c.held++
	c.turns++
	c.todo.push(st)
}

// h2Reset is why a stream was reset by its client, or because of an error of its client.
type h2Reset struct {
	code http2.Code
	err  *http2.Error // nil if the client has reset it
}

// Error implements error.
func (e *h2Reset) Error() string {
	if e.err != nil {
		return "HTTP/2 stream reset: " + e.err.Reason
	}
	return "the client has reset the HTTP/2 stream: " + e.code.String()
}

var errH2Over = errors.New("gallop: the HTTP/2 connection has ended")

package gallop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/quota"
)

// h2Conn is the HTTP/2 wire of a server: a connection with many exchanges. See docs/design/0013-http2-server.md.
//
//	h2_wire.go      the wire, what frames mean to it, and which connections use it
//	h2_serve.go     a step of the connection, waiting, the end; the connection as the program sees it
//	h2_output.go    sending
//	h2_stream.go    a stream from its head to its end
//	h2_body.go      the request body
//	h2_response.go  the response
//	h2_tunnel.go    the connection that AcceptStream returns
//	h2_time.go      time limits
//	h2_limits.go    limits of all connections together
//
// A connection of a loop is parked before handlers are called on the loop. So a handler that takes long holds up neither
// the frames nor the other streams of its connection.
type h2Conn struct { // at most 888 bytes: the allocator adds 8, and rounds more than 896 up to 1,024
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
	turn    *quota.Waiter // waits for streams in ready; nil if none has ever waited
	active  bool          // the program knows the connection as active
	putOff  uint8         // how often in a row the work was put off, see mayPutOff; and h2MayHaveMore

	// mu guards these two, which are here because here is room.
	lingers  bool // the loop waits for the client to close the connection
	starting bool // a goroutine is about to serve streams in pending

	// mu guards everything below, and the fields of streams that say so. No function of the program is called while it is
	// held.
	mu       sync.Mutex
	served   h2Doubt // how often it was served; wraps around, and is never 0
	doubt    h2Doubt // about header blocks and SETTINGS
	engine   http2.Conn
	streams  []*h2Stream  // by slot
	held     int32        // of streams that are not nil
	waiting  int32        // of streams in pending, on a loop
	turns    uint64       // streams so far
	todo     h2Queue      // streams whose head or body has arrived
	ready    h2Queue      // streams that wait for other handlers to end
	pending  h2Queue      // streams whose handlers the loop calls as soon as the connection is parked, or goroutines without a loop
	reserved int64        // bytes of memory that its streams have reserved
	kept     atomic.Int64 // bytes of responses that wait for windows, see h2MostKept; changes while mu is held
	firsts   int64        // bytes of its allowance that its streams use, see reserveFirst
	spent    h2Queue      // streams that ended while mu was held; unlock recycles them
	turned   bool         // a stream in ready may have its handler called
	trying   bool         // the handler for a request that was held back runs, see mayAdmit
	lent     bool         // the engine has a buffer for its output
	flushing bool         // a goroutine writes the output
	yielding bool         // others run: before a handler flushes, see flushSoon, or before the next handler, see servePending
	broken   bool         // nothing can be sent any more
	over     bool         // the connection is closed, or lingers
	ticks    bool         // the connection is in the queue of the ticker, or its tick is about to begin
	failed   error        // why the connection ends
	room     *sync.Cond   // some output was sent, or there is no reason to wait for that; nil on a loop
	start    h2Start
	times    h2Times
	health   *h2Health // nil unless the program has asked for it

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

// pop returns the first stream, or nil. An empty queue keeps no stream, which another connection may have got meanwhile.
func (q *h2Queue) pop() *h2Stream {
	st := q.first
	if st == nil {
		return nil
	}
	if q.first, st.next = st.next, nil; q.first == nil {
		q.last = nil
	}
	return st
}

// next is pop for one of several goroutines that serve the streams. It tells the caller to start another one if streams are left and
// none is about to start, and notes that in starting.
func (q *h2Queue) next(starting *bool) (st *h2Stream, start bool) {
	st = q.pop()
	if start = q.first != nil && !*starting; start {
		*starting = true
	}
	return st, start
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

// h2Ready has the streams of a server that workers off the loops serve. While there are some, a worker is about to start. It
// starts the next one, if that is still needed, before it serves a stream. So a slow handler holds up no other one, but
// thousands of quick ones need only a few workers.
type h2Ready struct {
	mu       sync.Mutex
	streams  h2Queue
	starting bool // a worker is about to start
	row      int  // how many streams workers have taken since one of them yielded the processor
}

// mostInRow is how many streams workers take in a row before they yield the processor. If a client has 100 requests for a slow handler,
// the loops otherwise wait until all of the handlers have begun, and again when they end at the same time.
const mostInRow = 8

// push adds a stream, and reports whether the caller has to start a worker.
func (q *h2Ready) push(st *h2Stream) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.streams.push(st)
	start, q.starting = !q.starting, true
	return start
}

// started is called by a worker that has started.
func (q *h2Ready) started() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.starting = false
}

// pop returns a stream, or nil if no stream is left. yield tells the caller to yield the processor, and start to start another worker.
func (q *h2Ready) pop() (st *h2Stream, start, yield bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	st, start = q.streams.next(&q.starting)
	if q.row++; q.streams.first == nil {
		q.row = 0
	} else if q.row == mostInRow {
		q.row, yield = 0, true
	}
	return st, start, yield
}

// unlock unlocks c. It recycles the streams that have ended meanwhile, and counts the errors.
func (c *h2Conn) unlock() {
	left := c.leave()
	left.end()
}

// h2Left is what is to be done after a connection was unlocked. Some of it calls functions of the program.
type h2Left struct {
	c     *h2Conn
	spent h2Queue
	errs  []*http2.Error
}

// leave unlocks c and returns what is left to do.
func (c *h2Conn) leave() h2Left {
	left := h2Left{c, c.spent, c.health.takeErrors()}
	c.spent = h2Queue{}
	c.mu.Unlock()
	return left
}

func (l *h2Left) isEmpty() bool { return l.spent.first == nil && len(l.errs) == 0 }

// end does what is left.
func (l *h2Left) end() {
	for _, err := range l.errs {
		l.c.countError(err)
	}
	for st := l.spent.pop(); st != nil; st = l.spent.pop() {
		st.recycle()
	}
}

// feed takes the frames that have arrived. rest means that it has left some in c.partial: the output is full, or the share is used up.
func (c *h2Conn) feed(in *conn.Input, now int64, share *h2Share) (rest bool) {
	p := in.Unread()
	in.R += len(p)
	if len(c.partial) > 0 {
		c.partial = append(bufpool.Grow(c.partial, len(p)), p...)
		p = c.partial
	}
	c.mu.Lock()
	c.borrow()
	c.health.hear(now)
	for more := true; more && !share.over; {
		if c.spare == nil {
			c.spare = c.srv.newStream()
		}
		ev, n := c.engine.Next(p, &c.spare.msg, now)
		p = p[n:]
		more, rest = c.take(&ev), ev.Kind == http2.Full
		share.use(ev.Work)
	}
	c.unlock()
	if c.spare != nil { // the last event may have been a head
		c.srv.spareStreams.Put(c.spare)
		c.spare = nil
	}
	c.keep(p)
	return rest || share.over
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
		c.streams[ev.Slot].trailers(&c.spare.msg, ev.Excess)
	case http2.Reset:
		c.health.note(ev.Err)
		c.streams[ev.Slot].lost(resetBy(ev))
	case http2.Rejected:
		c.health.note(ev.Err)
	case http2.Pong:
		c.ponged(ev.Ping)
	case http2.Failed:
		if c.failed == nil {
			c.failed = ev.Err
			c.health.note(ev.Err)
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
		grown := h2Slots.Get(max(4, 2*len(c.streams)))
		copy(grown, c.streams)
		h2Slots.Put(c.streams)
		c.streams = grown
	}
	c.streams[ev.Slot] = st
	c.held++
	c.turns++
	c.todo.push(st)
}

// h2Slots has arrays for the streams of connections, by slot.
var h2Slots bufpool.Slices[*h2Stream]

// freeStreams gives back the array of the streams, which have ended. c is locked.
func (c *h2Conn) freeStreams() {
	h2Slots.Put(c.streams)
	c.streams = nil
}

// loseStreams ends all streams because of err. c is locked.
func (c *h2Conn) loseStreams(err error) {
	for slot := 0; slot < len(c.streams); slot++ { // not a range: the end of the last one may free the array
		c.streams[slot].lost(err)
	}
}

// h2Reset says that a client has reset a stream, with this code.
type h2Reset http2.Code

// Error implements error.
func (e h2Reset) Error() string {
	return "the client has reset the HTTP/2 stream: " + http2.Code(e).String()
}

// h2StreamError is an error of a client because of which a stream was reset. It is a type of its own so that it takes no memory.
type h2StreamError http2.Error

// Error implements error.
func (e *h2StreamError) Error() string { return "HTTP/2 stream reset: " + e.Reason }

// resetBy returns why a stream was reset.
func resetBy(ev *http2.Event) error {
	if ev.Err != nil {
		return (*h2StreamError)(ev.Err)
	}
	return h2Reset(ev.Code)
}

var errH2Over = errors.New("gallop: the HTTP/2 connection has ended")

// errShared is what methods of a connection return that serves several requests.
var errShared = fmt.Errorf("gallop: the connection serves other requests, too: %w", errors.ErrUnsupported)

// endsAfter reports whether a connection ends after the response to its latest request, which has this number.
func (s *Server) endsAfter(turns uint64) bool {
	return s.DisableKeepalive || s.conns.Stopping.Load() || s.MaxRequestsPerConn > 0 && turns >= uint64(s.MaxRequestsPerConn)
}

// permitsCipher reports whether HTTP/2 may be used with the cipher suite of a connection.
func (l *h2Conns) permitsCipher(t interface{ ConnectionState() tls.ConnectionState }) bool {
	state := t.ConnectionState()
	return permitsH2(&state, l.anyCipher)
}

// errPreface ends HTTP/1 on a connection whose client has begun HTTP/2 without TLS. The bytes are still in the input.
var errPreface = errors.New("the client uses HTTP/2")

// isPreface reports whether a connection that could not be read as HTTP/1 uses HTTP/2 without TLS. Bytes that begin neither
// count as a wrong preface, so that their sender gets a GOAWAY.
func (c *serverConn) isPreface() bool {
	if c.Turns > 0 || c.TLS != nil || !c.srv.speaksH2C() {
		return false
	}
	line, _, _ := bytes.Cut(c.Input.Unread(), []byte("\n"))
	return !bytes.Contains(line, []byte(" HTTP/1."))
}

// usesH2 reports whether a new connection uses HTTP/2. proto is what a TLS handshake has chosen.
func (s *Server) usesH2(c *conn.Conn, proto string) bool {
	if c.TLS != nil {
		return proto == "h2" && s.speaksH2()
	}
	return s.speaksH2C() && !s.speaksH1()
}

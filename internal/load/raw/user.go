package raw

import (
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// user is a virtual user. It has at most one request at a time.
//
//	resting ──▶ ready ──Next──▶ pausing ──▶ waiting ──connection──▶ flying ──response, error──▶ ready
//	   ▲          │ end of the iteration                             │ connection was idle and closed: waiting
//	   └──────────┘
type user struct {
	t      *thread
	sc     *scenario
	index  int
	script script.User
	left   int64 // iterations of PerVUIterations
	state  userState
	round  uint64 // counts requests, so that alarms of earlier ones are void

	first    bool // the next request is the first one of an iteration
	begun    time.Duration
	requests int // of the iteration
	own      *conn

	// The request. The times are those since the start of the run.
	req      request
	resp     response
	conn     *conn // that carries it
	due      time.Duration
	asked    time.Duration // when the user wanted to send it
	sent     time.Duration
	wrote    time.Duration // when it was written completely; 0: not yet
	heard    time.Duration // when the first byte of the response arrived; 0: not yet
	deadline time.Duration
	connect  time.Duration // how long connecting took, if it opened a connection
	secure   time.Duration // the same for TLS
	opens    bool          // it opens a connection
	counted  bool          // as sent
	retried  bool
	failed   bool          // its connection could not be opened
	idle     time.Duration // how long the connection was idle before
	bytesIn  int64
	h2       stream
}

type userState uint8

const (
	resting userState = iota
	ready             // in the queue of users that can go on, or with an alarm
	pausing           // has a request, and an alarm
	waiting           // for a connection
	flying            // the request was sent
)

// series returns what the period counts about the request.
func (u *user) series() *result.Series { return u.t.period.Series[u.sc.base+u.req.Kind] }

// goOn continues after an event: with the next request, or with the request after a pause.
func (u *user) goOn() {
	switch {
	case u.state == pausing:
		u.start()
	case u.state == ready && u.t.paused && u.sc.phase == running && !(u.first && u.sc.arrivals != nil):
		u.t.parked = append(u.t.parked, u)
	case u.state == ready:
		u.proceed()
	}
}

// proceed takes the next request, or ends the iteration.
func (u *user) proceed() {
	if u.first {
		if u.sc.arrivals == nil && !u.sc.mayIterate(u) {
			u.rest()
			return
		}
		u.begun, u.requests = u.t.now, 0
	}
	if u.requests > 0 && u.sc.all != nil {
		u.endIteration()
		return
	}
	req, ok := u.script.Next()
	if !ok && u.sc.all != nil {
		req, ok = u.script.Next()
	}
	if !ok {
		u.endIteration()
		return
	}
	u.requests++
	u.req.hold(req, u.sc.all != nil)
	if u.sc.arrivals == nil || !u.first {
		u.due = u.t.now
	}
	u.first = false
	if pause := u.req.Pause; pause > 0 {
		u.due += pause
		u.sleep(pausing, u.t.now+pause)
		return
	}
	u.start()
}

// sleep lets the user go on later.
func (u *user) sleep(state userState, until time.Duration) {
	u.state = state
	u.t.alarms.add(until, u)
}

// emptyPause is how long a user waits after an iteration without requests, which would otherwise take no time at all.
const emptyPause = time.Millisecond

// endIteration ends a complete iteration.
func (u *user) endIteration() {
	counts := u.sc.counts()
	counts.Iterations++
	counts.Length.Add(u.t.now - u.begun)
	u.first = true
	switch {
	case u.sc.arrivals != nil:
		u.rest()
	case u.requests == 0:
		u.sleep(ready, u.t.now+emptyPause)
	default:
		u.t.running.push(u)
	}
}

// rest ends the work of the user. It keeps its connection if it may be needed again.
func (u *user) rest() {
	u.state = resting
	u.round++
	if u.own != nil && u.sc.arrivals == nil {
		u.t.drop(u.own)
	}
	u.sc.rested(u)
}

// start starts the request: it needs a connection now.
func (u *user) start() {
	t := u.t
	s := u.series()
	s.Due++
	if s.Method == "" {
		s.Method, s.Proto = u.req.Method, "HTTP/1.1"
		if t.http2 {
			s.Proto = "HTTP/2"
		}
	}
	timeout := u.req.Timeout
	if timeout <= 0 {
		timeout = t.Timeout
	}
	u.state, u.asked = waiting, t.now
	if u.sc.arrivals == nil {
		u.due = t.now
	}
	u.deadline = u.due + timeout
	t.deadline = min(t.deadline, u.deadline)
	u.counted, u.retried = false, false
	u.connect, u.secure, u.opens = 0, 0, false
	u.bytesIn, u.idle, u.conn = 0, 0, nil
	u.resp.reset()
	t.assign(u)
}

// flies notes that the request is being written on a connection.
func (u *user) flies(c *conn) {
	u.state, u.conn = flying, c
	u.sent, u.wrote, u.heard = u.t.now, 0, 0
	u.idle = u.t.now - c.free
	if c.asked == 0 {
		u.idle = 0
	}
	if !u.counted {
		u.counted = true
		u.series().Sent++
		u.t.flying++
	}
}

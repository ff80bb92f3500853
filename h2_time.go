package gallop

import (
	"slices"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/http2"
)

// A connection that waits for its client looks at its time limits every h2Tick. So does one that has served streams, until it
// has been idle for that long: then it gives back memory. Other idle connections do nothing. All connections of a server share
// one timer, because a timer starts a goroutine: on a busy processor, thousands of them would wait at once.

const h2Tick = time.Second

// h2Times are the time limits of a connection. Times are in nanoseconds, see h2Now.
type h2Times struct {
	idle     int64 // when the last stream ended, or the connection began
	progress int64 // when the client last accepted output

	// The lock of the ticker guards these fields.
	due         int64   // when the next tick is, or 0 if the connection is not in the queue
	later, past *h2Conn // neighbors in the queue

	// How many ticks in a row have seen these conditions.
	block    uint16 // a header block is unfinished
	settings uint16 // SETTINGS are not acknowledged
	waits    uint16 // there is output
	shutdown uint16 // a shutdown has begun, and the last stream is not announced
}

// h2Doubt is for something that a client seems to owe for too long: how often the connection had been served when that was noticed,
// or 0. On a busy machine, the bytes may have arrived, and the server has not read them.
//
//	     seems late          served, and still late a tick later
//	0 ───────────────▶ served ──────────────────────────────────▶ the client is late
type h2Doubt uint16

// isLate reports whether a client is late that seems to be, or has the connection served first. c is locked.
func (c *h2Conn) isLate(d *h2Doubt, seems bool) bool {
	switch {
	case !seems:
		*d = 0
	case *d == 0:
		*d = c.served
		c.wake()
	default:
		return *d != c.served
	}
	return false
}

// noteServed notes that the connection is served. c is locked.
func (c *h2Conn) noteServed() {
	if c.served++; c.served == 0 {
		c.served = 1
	}
}

// h2Epoch lies before the time at which synctest bubbles start.
var h2Epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// h2Now returns the time in nanoseconds since h2Epoch.
func h2Now() int64 { return int64(time.Since(h2Epoch)) }

// sinceEpoch returns t in nanoseconds since h2Epoch.
func sinceEpoch(t time.Time) int64 { return int64(t.Sub(h2Epoch)) }

// h2Ticker calls tick of connections. The queue is in the order of time, since all connections wait for as long.
type h2Ticker struct {
	mu          sync.Mutex
	first, last *h2Conn
	timer       *time.Timer
}

// add has c ticked once, after h2Tick. c is locked, and not in the queue.
func (q *h2Ticker) add(c *h2Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &c.times
	t.due, t.past = h2Now()+int64(h2Tick), q.last
	q.last = c
	if t.past != nil {
		t.past.times.later = c
		return
	}
	q.first = c
	if q.timer == nil {
		q.timer = time.AfterFunc(h2Tick, q.run)
	} else {
		q.timer.Reset(h2Tick)
	}
}

// remove takes c out of the queue, if it is there. An empty queue has no timer: it would keep the server in memory, and a
// synctest bubble could not use the timer of an earlier one.
func (q *h2Ticker) remove(c *h2Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.times.due == 0 {
		return
	}
	if q.unlink(c); q.first == nil {
		q.timer.Stop()
		q.timer = nil
	}
}

func (q *h2Ticker) unlink(c *h2Conn) {
	t := &c.times
	if t.past != nil {
		t.past.times.later = t.later
	} else {
		q.first = t.later
	}
	if t.later != nil {
		t.later.times.past = t.past
	} else {
		q.last = t.past
	}
	t.due, t.later, t.past = 0, nil, nil
}

// run calls tick of the connections that are due.
func (q *h2Ticker) run() {
	for c := q.next(); c != nil; c = q.next() {
		c.tick()
	}
}

// next takes a connection that is due out of the queue. If none is due, next returns nil, and sets the timer if the queue is
// not empty.
func (q *h2Ticker) next() *h2Conn {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.first
	if c == nil {
		return nil
	}
	if left := c.times.due - h2Now(); left > 0 {
		q.timer.Reset(time.Duration(left))
		return nil
	}
	q.unlink(c)
	return c
}

// watchTime has the time limits looked at from now on, if the connection waits for its client. c is locked.
func (c *h2Conn) watchTime() {
	if c.ticks || c.over || c.streams == nil && !c.waitsForClient() {
		return
	}
	c.ticks = true
	c.srv.h2.ticker.add(c)
}

// waitsForClient reports whether the client owes something that has a time limit. c is locked.
func (c *h2Conn) waitsForClient() bool {
	shutting, last := c.engine.ShuttingDown()
	return c.engine.BlockOpen() || c.engine.SettingsUnacked() && c.engine.Started() || shutting && !last ||
		c.held > 0 && (c.ready.first != nil || c.anyStreamWaits()) || c.isUnsent()
}

// anyStreamWaits reports whether a stream waits for its client. c is locked.
func (c *h2Conn) anyStreamWaits() bool {
	for _, st := range c.streams {
		if st != nil && (st.collects || len(st.rest) > 0) {
			return true
		}
	}
	return false
}

// tick looks at the time limits. It does not wait for the program, so that other connections have their ticks in time.
func (c *h2Conn) tick() {
	c.mu.Lock()
	c.lookAtTimes()
	if left := c.leave(); !left.isEmpty() {
		go left.end()
	}
}

// lookAtTimes is the part of tick with c locked.
func (c *h2Conn) lookAtTimes() {
	c.ticks = false
	if c.over {
		return
	}
	c.borrow()
	now, set := h2Now(), &c.srv.set
	c.tickConn(now, set)
	for _, st := range c.streams {
		if st != nil {
			st.tick(now, set)
		}
	}
	if c.held == 0 && now-c.times.idle >= int64(h2Tick) {
		c.freeStreams()
		c.engine.Shrink()
	}
	c.flush()
	c.watchTime()
	if c.todo.first != nil || c.ready.first != nil || c.failed != nil {
		c.wake()
	}
}

// tickConn looks at the time limits of the connection itself. c is locked.
func (c *h2Conn) tickConn(now int64, set *settings) {
	t, e := &c.times, &c.engine
	first := set.First
	shutting, last := e.ShuttingDown()
	if seen(&t.shutdown, shutting && !last) > h2Tick {
		e.FinishShutdown()
	}
	block, settings := seen(&t.block, e.BlockOpen()), seen(&t.settings, e.SettingsUnacked())
	switch {
	case c.isLate(&c.doubt, first > 0 && max(block, settings) > first):
		if block > first {
			c.fail(errSlowBlock)
		} else {
			c.fail(http2.ErrSettingsTimeout)
		}
	case c.isStuck(now, clock.Shorter(set.Progress, c.srv.h2.health.write)):
		c.broken = true
		c.fail(errNoProgress)
	}
}

// isStuck reports whether the client has accepted none of the output for as long as limit, unless that is 0. If a goroutine
// writes the output, conn.Output notices that instead. c is locked.
func (c *h2Conn) isStuck(now int64, limit time.Duration) bool {
	if c.lc == nil {
		return false
	}
	waits := seen(&c.times.waits, c.isUnsent()) - h2Tick // the first tick may have come at once
	return limit > 0 && min(waits, time.Duration(now-c.times.progress)) >= limit
}

// errSlowBlock ends a connection whose client does not finish a header block, errNoProgress one whose client accepts nothing.
var (
	errSlowBlock  = &http2.Error{Code: http2.EnhanceYourCalm, Conn: true, Name: "slow_block", Reason: "header block does not arrive in time"}
	errNoProgress = &http2.Error{Code: http2.Cancel, Conn: true, Name: "no_progress", Reason: "the client accepts no output"}
)

// seen counts a tick that has seen cond, or not. It returns for how long cond has been true.
func seen(ticks *uint16, cond bool) time.Duration {
	if *ticks++; !cond {
		*ticks = 0
	}
	return time.Duration(*ticks) * h2Tick
}

// fail ends the connection because of err. c is locked.
func (c *h2Conn) fail(err *http2.Error) {
	if c.failed == nil {
		c.failed = err
		c.health.note(err)
		c.engine.Fail(err)
	}
}

// tick looks at the time limits of a stream that nobody serves. The lock of c is held.
func (st *h2Stream) tick(now int64, set *settings) {
	c := st.c
	switch {
	case st.collects:
		st.credit()
		err := st.bodyLate(now, set)
		if c.isLate(&st.doubt, err == errSlowBody) || err == errBodyMemory {
			st.reason = err
			st.endCollecting()
			c.todo.push(st)
		}
	case st.handled && len(st.rest) > 0:
		by := st.windowDeadline(set)
		if st.isLate() || c.isLate(&st.stalls, st.writeBy.Load() == nil && by > 0 && by < now) {
			c.engine.Reset(st.id, http2.Cancel)
			st.lost(errH2Stalled)
		} else {
			st.trim()
		}
	}
}

// bodyLate returns why a body that is collected has taken too long, or nil.
func (st *h2Stream) bodyLate(now int64, set *settings) error {
	x := st.x
	took := time.Duration(now - sinceEpoch(x.began))
	switch {
	case st.starved && now-st.since >= int64(h2BodyWait):
		return errBodyMemory
	case x.readTimeout > 0 && took >= x.readTimeout,
		!st.starved && set.bodyRate > 0 && took-st.paused >= bodyBudget(st.got, set.bodyRate):
		return errSlowBody
	}
	return nil
}

// A client gives credit when it has read a part of its window, so the server does not see the progress of a client that reads slowly.
// A response that waits for a window therefore gets the time that the slowest client needs to read the bytes without credit.
const (
	h2SlowestRead = 1 << 10   // bytes in set.Progress; over HTTP/1, a slow client accepts about one packet of this size
	h2LongestRead = time.Hour // because the client may be gone without a trace
)

// windowDeadline returns until when a response waits for a window, or 0 if it waits for none or may wait forever. The lock of
// c is held.
func (st *h2Stream) windowDeadline(set *settings) int64 {
	since, uncredited, ok := st.c.engine.AwaitsWindow(st.id)
	if !ok || set.Progress == 0 {
		return 0
	}
	return since + int64(min(set.Progress+set.Progress/h2SlowestRead*time.Duration(uncredited), h2LongestRead))
}

// trim gives back a buffer that is larger than the response that waits in it. The lock of c is held.
func (st *h2Stream) trim() {
	unused := cap(st.body.buf) - len(st.rest)
	if st.x == nil && unused > 1<<10 && (!st.trimmed || unused > len(st.rest)) {
		rest := slices.Clone(st.rest)
		st.body.release()
		st.body.buf, st.rest, st.trimmed = rest, rest, true
		st.keep(cap(rest))
	}
}

// errH2Stalled is why a response ends that the client does not read.
var errH2Stalled = tooSlow("the client opens no window for the response")

// mayGoOn reports whether a connection whose idle time seems to be over may wait on.
func (c *h2Conn) mayGoOn() bool {
	c.mu.Lock()
	defer c.unlock()
	return c.held > 0
}

// idleUntil returns when the connection expires if nothing happens before, or the zero time. With streams open, that is only a
// time to look again.
func (c *h2Conn) idleUntil(now time.Time) time.Time {
	c.mu.Lock()
	defer c.unlock()
	set := &c.srv.set
	if !c.engine.Started() {
		return clock.After(h2Epoch.Add(time.Duration(c.began)), clock.Shorter(set.First, set.Idle))
	}
	if c.held > 0 {
		return clock.After(now, set.Idle)
	}
	return clock.After(h2Epoch.Add(time.Duration(c.times.idle)), set.Idle)
}

// h2HealthSettings are the fields of HTTP2Config about clients that do not respond, and about errors.
type h2HealthSettings struct {
	ping, pong, write time.Duration // 0 means that there is no limit
	count             func(errType string)
}

func (h *h2HealthSettings) resolve(from *HTTP2Config) {
	if from != nil {
		h.ping, h.pong = max(from.SendPingTimeout, 0), orDefault(from.PingTimeout, defaultPingTimeout)
		h.write, h.count = max(from.WriteByteTimeout, 0), from.CountError
	}
}

// h2Health sends PINGs to a client that is silent, and collects errors to be counted. The lock of the connection guards it. A
// nil h2Health does nothing.
type h2Health struct {
	timer  *time.Timer // for the next PING or its acknowledgment, or nil
	heard  int64       // when bytes last arrived
	ping   uint64      // data of the PING that is not acknowledged, or 0
	doubt  h2Doubt     // about that
	counts bool        // the program counts errors
	errs   []*http2.Error
}

// startHealth sets up what the program has asked for.
func (c *h2Conn) startHealth() {
	set := &c.srv.h2.health
	if c.lc == nil {
		c.seat.Output.Within = set.write
	}
	if set.ping == 0 && set.count == nil {
		return
	}
	c.health = &h2Health{heard: h2Now(), counts: set.count != nil}
	if set.ping > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.health.timer = time.AfterFunc(set.ping, c.checkHealth)
	}
}

func (h *h2Health) stop() {
	if h != nil && h.timer != nil {
		h.timer.Stop()
	}
}

// hear notes that bytes have arrived.
func (h *h2Health) hear(now int64) {
	if h != nil {
		h.heard = now
	}
}

// note notes an error that is to be counted, unless it is nil.
func (h *h2Health) note(err *http2.Error) {
	if h != nil && h.counts && err != nil {
		h.errs = append(h.errs, err)
	}
}

// takeErrors returns the errors that are to be counted.
func (h *h2Health) takeErrors() (errs []*http2.Error) {
	if h != nil {
		errs, h.errs = h.errs, nil
	}
	return errs
}

// countError tells the program about an error. c is not locked.
func (c *h2Conn) countError(err *http2.Error) {
	defer func() {
		if v := recover(); v != nil {
			c.srv.conns.Log.Panicked(c.nc.RemoteAddr(), c.id, "panic in CountError", v)
		}
	}()
	if err == errLostPing {
		c.srv.h2.health.count("conn_close_lost_ping") // as net/http calls it
	} else {
		c.srv.h2.health.count(err.Type())
	}
}

// errLostPing ends a connection whose client does not acknowledge a PING.
var errLostPing = &http2.Error{Code: http2.Cancel, Conn: true, Name: "lost_ping", Reason: "the client does not acknowledge a PING"}

// checkHealth sends a PING if the client has been silent for too long, or ends the connection if the last PING was lost.
func (c *h2Conn) checkHealth() {
	c.mu.Lock()
	defer c.unlock()
	h, set := c.health, &c.srv.h2.health
	if c.over || c.failed != nil {
		return
	}
	now := h2Now()
	quiet := time.Duration(now - h.heard)
	switch {
	case h.ping != 0 && c.engine.IsFull(): // the server itself reads nothing until the client does
		h.timer.Reset(set.pong)
	case h.ping != 0 && !c.isLate(&h.doubt, true):
		h.timer.Reset(h2Tick)
	case h.ping != 0:
		c.broken = true
		c.fail(errLostPing)
		c.wake()
	case quiet < set.ping:
		h.timer.Reset(set.ping - quiet)
	default:
		h.ping = uint64(now)
		c.borrow()
		c.engine.Ping(h.ping)
		c.flush()
		h.timer.Reset(set.pong)
	}
}

// ponged takes the acknowledgment of a PING. c is locked.
func (c *h2Conn) ponged(data uint64) {
	if h := c.health; h != nil && h.ping != 0 && h.ping == data {
		h.ping, h.doubt = 0, 0
		h.timer.Reset(c.srv.h2.health.ping)
	}
}

package gallop

import (
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/http2"
)

// A connection that waits for its client looks at its time limits every h2Tick. So does one that has served streams, until it
// has been idle for that long: then it gives back memory. Idle connections have no timer.

const h2Tick = time.Second

// h2Times are the time limits of a connection. Times are in nanoseconds, see h2Now.
type h2Times struct {
	idle     int64       // when the last stream ended
	progress int64       // when the client last accepted output
	timer    *time.Timer // nil while it is not needed
	ticks    bool        // the timer runs

	// How many ticks in a row have seen these conditions.
	block    uint16 // a header block is unfinished
	settings uint16 // SETTINGS are not acknowledged
	stuck    uint16 // there is output, and the client has accepted none of it
	shutdown uint16 // a shutdown has begun, and the last stream is not announced
}

// h2Epoch lies before the time at which synctest bubbles start.
var h2Epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// h2Now returns the time in nanoseconds since h2Epoch.
func h2Now() int64 { return int64(time.Since(h2Epoch)) }

// sinceEpoch returns t in nanoseconds since h2Epoch.
func sinceEpoch(t time.Time) int64 { return int64(t.Sub(h2Epoch)) }

// stop stops the timer.
func (t *h2Times) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// watchTime has the time limits looked at from now on, if the connection waits for its client. c is locked.
func (c *h2Conn) watchTime() {
	t := &c.times
	if t.ticks || c.over || c.streams == nil && !c.waitsForClient() {
		return
	}
	t.ticks = true
	if t.timer == nil {
		t.timer = time.AfterFunc(h2Tick, c.tick)
	} else {
		t.timer.Reset(h2Tick)
	}
}

// waitsForClient reports whether the client owes something that has a time limit. c is locked.
func (c *h2Conn) waitsForClient() bool {
	shutting, last := c.engine.ShuttingDown()
	return c.engine.BlockOpen() || c.engine.SettingsUnacked() && c.engine.Started() || shutting && !last ||
		c.held > 0 && c.anyStreamWaits() || len(c.engine.Out()) > 0
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

// tick looks at the time limits.
func (c *h2Conn) tick() {
	c.mu.Lock()
	defer c.unlock()
	c.times.ticks = false
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
		c.streams = nil
		c.engine.Shrink()
	}
	c.flush()
	if c.watchTime(); !c.times.ticks {
		c.times.timer = nil
	}
	if c.todo.first != nil || c.failed != nil {
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
	switch {
	case first > 0 && seen(&t.block, e.BlockOpen()) > first:
		c.fail(errSlowBlock)
	case first > 0 && seen(&t.settings, e.SettingsUnacked()) > first:
		c.fail(http2.ErrSettingsTimeout)
	case set.Progress > 0 && seen(&t.stuck, len(e.Out()) > 0 && now-t.progress >= int64(h2Tick)) > set.Progress:
		c.broken = true
		c.fail(errNoProgress)
	}
}

// errSlowBlock ends a connection whose client does not finish a header block, errNoProgress one whose client accepts nothing.
var (
	errSlowBlock  = &http2.Error{Code: http2.EnhanceYourCalm, Conn: true, Reason: "header block does not arrive in time"}
	errNoProgress = &http2.Error{Code: http2.Cancel, Conn: true, Reason: "the client accepts no output"}
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
		c.engine.Fail(err)
	}
}

// tick looks at the time limits of a stream that nobody serves. The lock of c is held.
func (st *h2Stream) tick(now int64, set *settings) {
	c, x := st.c, st.x
	switch {
	case st.collects:
		took := time.Duration(now - sinceEpoch(x.began))
		if set.bodyRate > 0 && took >= bodyBudget(st.got, set.bodyRate) || x.readTimeout > 0 && took >= x.readTimeout {
			st.reason = errSlowBody
			st.collected()
			c.todo.push(st)
		}
	case st.handled && len(st.rest) > 0:
		by := st.writeBy.Load()
		if by != nil && !time.Now().Before(*by) || by == nil && set.Progress > 0 && c.stalls(st, now-int64(set.Progress)) {
			c.engine.Reset(st.id, http2.Cancel)
			st.lost(errH2Stalled)
		} else {
			st.trim()
		}
	}
}

// trim gives back a buffer that is larger than the response that waits in it. The lock of c is held.
func (st *h2Stream) trim() {
	unused := cap(st.body) - len(st.rest)
	if st.x == nil && unused > 1<<10 && (!st.trimmed || unused > len(st.rest)) {
		rest := slices.Clone(st.rest)
		bufpool.Put(st.body)
		st.body, st.rest, st.trimmed = rest, rest, true
	}
}

// errH2Stalled is why a response ends that the client does not read.
var errH2Stalled = tooSlow("the client opens no window for the response")

// stalls reports whether a stream has sent nothing since a time. c is locked.
func (c *h2Conn) stalls(st *h2Stream, before int64) bool {
	id, _, ok := c.engine.Stalled(before)
	return ok && id == st.id
}

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
	if c.held > 0 || c.times.idle == 0 {
		return clock.After(now, set.Idle)
	}
	return clock.After(h2Epoch.Add(time.Duration(c.times.idle)), set.Idle)
}

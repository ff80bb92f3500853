package h2client

import "time"

// tick is how often a connection looks at its time limits at least, while calls are open and shortly afterwards.
const tick = time.Second

// times are the time limits of a connection, in nanoseconds since epoch.
type times struct {
	last  int64       // when input last arrived
	quiet int64       // since when calls have been open and no input has arrived
	due   int64       // since when PING waits for a response, or 0
	idle  int64       // when the last call ended
	timer *time.Timer // nil until it is needed
	ticks bool        // the timer runs
}

// epoch lies before the time at which synctest bubbles start.
var epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

func now() int64 { return int64(time.Since(epoch)) }

// heard notes that input has arrived.
func (t *times) heard() {
	t.last, t.due = now(), 0
	t.quiet = t.last
}

func (t *times) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// watchTime has the time limits looked at from now on. c is locked.
func (c *Conn) watchTime() {
	t := &c.times
	if t.ticks || c.failed != nil {
		return
	}
	t.ticks = true
	in := c.nextTick(now())
	if t.timer == nil {
		t.timer = time.AfterFunc(in, c.tick)
	} else {
		t.timer.Reset(in)
	}
}

// nextTick returns how soon tick has to be called. c is locked.
func (c *Conn) nextTick(now int64) time.Duration {
	in := tick
	switch t := &c.times; {
	case t.due != 0:
		in = min(in, time.Duration(t.due-now)+c.opts.PingTimeout)
	case c.opts.PingAfter > 0 && c.held > 0:
		in = min(in, time.Duration(t.quiet-now)+c.opts.PingAfter)
	}
	return max(in, time.Millisecond)
}

// tick looks at the time limits.
func (c *Conn) tick() {
	c.mu.Lock()
	t, at := &c.times, now()
	t.ticks = false
	if c.failed != nil {
		c.unlock()
		return
	}
	switch {
	case t.due != 0:
		if time.Duration(at-t.due) >= c.opts.PingTimeout {
			c.count("conn_close_lost_ping") // as net/http calls it
			c.fail(errPing)
			c.unlock()
			c.endFailed(false)
			return
		}
	case c.opts.PingAfter > 0 && c.held > 0 && time.Duration(at-t.quiet) >= c.opts.PingAfter:
		c.ping(at)
	}
	if c.held > 0 || t.due != 0 || time.Duration(at-t.idle) < tick {
		c.watchTime()
	} else {
		c.shrink()
		t.timer = nil
		if c.reading && !c.retiring {
			c.retiring = true
			_ = c.nc.SetReadDeadline(longAgo)
		}
	}
	c.flush(false) // unlocks
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// ping asks whether the server is still there. c is locked.
func (c *Conn) ping(at int64) {
	c.times.due = at
	c.engine.Ping(uint64(at))
}

// suspectAfter is for how long a call must have waited in vain for the connection to ask whether the server is still there.
const suspectAfter = time.Second

// suspect is called when the time of a call is over that began at a time. c is locked.
func (c *Conn) suspect(began int64) {
	t, at := &c.times, now()
	if c.failed == nil && t.due == 0 && t.last <= began && time.Duration(at-began) >= suspectAfter {
		c.ping(at)
		t.stop()
		t.ticks = false
		c.watchTime()
	}
}

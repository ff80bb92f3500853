package raw

import (
	"math"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/schedule"
)

// thread runs its part of all scenarios. Everything in it belongs to its goroutine.
type thread struct {
	*settings
	shared *shared
	part   schedule.Part
	io     driver

	start  time.Time
	now    time.Duration // since start; updated after each system call that matters
	period *result.Period
	mail   courier

	scenarios []*scenario
	running   queue[*user] // users that can go on
	alarms    alarms       // users that pause
	parked    []*user      // users that wait for the end of a pause of the whole run
	paused    bool
	factor    float64
	due       time.Duration // when the next iteration of an open loop is due
	events    time.Duration // when the next scenario changes
	deadline  time.Duration // no request and no attempt to connect fails before that
	glanced   time.Duration
	canceled  bool
	flying    int64 // requests in flight

	lines
	buf []byte // scratch space for reading
	out []byte // scratch space for writing
}

const (
	// glance is how often a thread looks at what it is not told about.
	glance = 10 * time.Millisecond

	// perTurn is how many iterations of open loops start in a turn at most, and perEvent how many after an event. A thread
	// that has fallen behind thus reads responses in between, and does not open connections only because it is late.
	perTurn  = 64
	perEvent = 2

	// never is a time that does not come.
	never = time.Duration(math.MaxInt64)
)

func newThread(s *settings, shared *shared, part schedule.Part) *thread {
	t := &thread{settings: s, shared: shared, part: part, factor: 1, due: never, deadline: never, buf: make([]byte, 64<<10)}
	t.lines.init(t)
	t.period = shared.period()
	base := 0
	for i := range shared.scenarios {
		sc := newScenario(t, i, base)
		base += len(shared.requests[i])
		t.scenarios = append(t.scenarios, sc)
		t.events = min(t.events, sc.change)
	}
	return t
}

// prepare makes the thread ready, and opens the connections that it holds.
func (t *thread) prepare(newDriver func(*thread) (driver, error)) (err error) {
	t.start = time.Now()
	if t.io, err = newDriver(t); err != nil {
		return err
	}
	return t.hold(int(t.part.Share(int64(t.Hold))))
}

// run runs the thread until all scenarios have ended.
func (t *thread) run() {
	if t.io == nil {
		return
	}
	defer t.io.stop()
	defer t.closeAll()
	if t.shared.failed {
		return
	}
	t.start, t.deadline = t.shared.start, never
	t.tick()
	t.mail.init(t)
	defer t.mail.stop()
	t.glance()
	for t.tick(); !t.ended(); t.tick() {
		t.turn()
	}
}

// turn is one turn of the loop: it does what is due, and then handles events.
func (t *thread) turn() {
	if t.now-t.glanced >= glance {
		t.glanced = t.now
		t.glance()
	}
	t.mail.cut()
	if t.now >= t.events {
		t.stepScenarios()
	}
	for len(t.alarms) > 0 && t.alarms[0].at <= t.now {
		if a := t.alarms.take(); a.user.round == a.round {
			t.running.push(a.user)
		}
	}
	if t.now >= t.deadline {
		t.expire()
	}
	t.goOn(perTurn)
	t.openStanding()
	t.flush()
	t.tick()
	next := min(t.glanced+glance, t.events, t.due, t.deadline)
	if len(t.alarms) > 0 {
		next = min(next, t.alarms[0].at)
	}
	if t.Grain > 0 && t.due != never {
		t.io.sleep(t.Grain)
		next -= t.Grain
	}
	t.io.wait(max(next-t.now, 0))
}

// tick reads the clock.
func (t *thread) tick() { t.now = time.Since(t.start) }

// goOn lets users go on, and starts up to most iterations that are due.
func (t *thread) goOn(most int) {
	for {
		for t.running.len() > 0 {
			t.running.pop().goOn()
		}
		if t.now < t.due || most == 0 {
			return
		}
		most = t.startDue(most)
	}
}

// glance looks at the Control, the context and the period.
func (t *thread) glance() {
	paused, factor := t.Control.Paused(), t.Control.Factor()
	if paused != t.paused || factor != t.factor {
		t.paused, t.factor = paused, factor
		t.scale()
	}
	if !paused {
		t.unpark()
	}
	if !t.canceled && t.shared.ctx.Err() != nil {
		t.canceled = true
		for _, sc := range t.scenarios {
			sc.cancel()
		}
		t.events = 0
	}
	if t.now-t.period.Start >= time.Second-glance/2 {
		t.mail.send()
	}
}

// unpark lets users go on that wait for the end of a pause. They may have to wait again.
func (t *thread) unpark() {
	for _, u := range t.parked {
		t.running.push(u)
	}
	t.parked = t.parked[:0]
}

// stepScenarios makes scenarios begin, change and end.
func (t *thread) stepScenarios() {
	t.events = never
	for _, sc := range t.scenarios {
		for t.now >= sc.change {
			sc.step()
		}
		t.events = min(t.events, sc.change)
	}
	t.findDue()
}

// ended reports whether all scenarios have ended.
func (t *thread) ended() bool {
	for _, sc := range t.scenarios {
		if sc.phase != over {
			return false
		}
	}
	return true
}

// expire fails requests and attempts to connect whose time is up.
func (t *thread) expire() {
	t.deadline = never
	for _, sc := range t.scenarios {
		for _, u := range sc.users {
			if u.state != waiting && u.state != flying {
				continue
			}
			if u.deadline <= t.now {
				u.timeout()
			} else {
				t.deadline = min(t.deadline, u.deadline)
			}
		}
	}
	for i := 0; i < len(t.conns); i++ {
		c := t.conns[i]
		if c.state != connecting {
			continue
		}
		if c.dialBy <= t.now {
			c.end(errDialTimeout)
			i-- // another connection has taken its place
		} else {
			t.deadline = min(t.deadline, c.dialBy)
		}
	}
	t.pump()
}

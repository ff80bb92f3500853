//go:build linux

package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"time"
)

// Load runs a plan. All fields belong to Run, except those that Take and Stop use.
type Load struct {
	plan   Plan
	to     syscall.SockaddrInet4
	ep     int
	random *rand.Rand
	start  time.Time

	conns   map[int32]*conn // by descriptor
	idle    []*conn         // idle connections from index at, longest idle first
	at      int
	next    time.Duration // when the oldest request that was not sent is due; in the past if the load has fallen behind
	churn   time.Duration // when the next connection for a single request is due
	made    int           // number of connections opened
	missing int           // connections that could not be opened and are tried again later
	buf     []byte

	stopped atomic.Bool
	now     atomic.Pointer[period]
}

// maxRate is the highest rate at which events differ in their times, which are in nanoseconds.
const maxRate = float64(time.Second)

// New creates a load and opens its connections.
func New(p Plan) (*Load, error) {
	l := &Load{plan: p, random: rand.New(rand.NewPCG(p.Seed, 0)), conns: map[int32]*conn{}, buf: make([]byte, 64<<10)}
	if len(p.Kinds) == 0 {
		return nil, errors.New("load: the plan has no requests")
	}
	for _, rate := range []float64{p.Rate, p.Churn} {
		if !(rate >= 0 && rate <= maxRate) {
			return nil, fmt.Errorf("load: rate of %v per second is out of range", rate)
		}
	}
	l.now.Store(newPeriod(len(p.Kinds)))
	var err error
	if l.to, err = Resolve(p.Address); err != nil {
		return nil, err
	}
	if l.ep, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	for range p.Conns {
		c, err := l.open(false)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("load: connection %d: %w", len(l.conns), err)
		}
		l.idle = append(l.idle, c)
	}
	return l, nil
}

// Take returns the result since the last Take or the start. It may be called while the load runs.
func (l *Load) Take() Result {
	return l.now.Swap(newPeriod(len(l.plan.Kinds))).result(l.plan.Kinds)
}

// Stop ends Run without waiting for requests in flight.
func (l *Load) Stop() { l.stopped.Store(true) }

// glance is how often Run checks whether it was stopped, and tries to open missing connections.
const glance = 20 * time.Millisecond

// Run puts the server under load until Stop is called, and closes the connections.
func (l *Load) Run() {
	keepTime()
	defer l.close()
	events := make([]syscall.EpollEvent, 512)
	l.start = time.Now()
	l.now.Store(newPeriod(len(l.plan.Kinds)))
	for glanced := time.Duration(0); ; {
		now := time.Since(l.start)
		if now-glanced >= glance {
			if glanced = now; l.stopped.Load() {
				return
			}
			l.replace()
		}
		pause := min(glance, l.sendDue(now))
		if l.plan.Grain > 0 {
			sleep(l.plan.Grain)
			pause = max(0, pause-l.plan.Grain)
		}
		for _, e := range events[:wait(l.ep, events, pause)] {
			if c := l.conns[e.Fd]; c != nil {
				l.ready(c, e.Events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0)
			}
		}
	}
}

func (l *Load) close() {
	for _, c := range l.conns {
		syscall.Close(c.fd)
	}
	syscall.Close(l.ep)
}

// sendDue sends what is due, and returns the time until the next request is due.
func (l *Load) sendDue(now time.Duration) (pause time.Duration) {
	pause = glance
	if l.plan.Rate == 0 {
		for c := l.takeIdle(); c != nil; c = l.takeIdle() {
			l.ask(c, now)
		}
	} else if l.catchUp(now); l.next > now {
		pause = l.next - now
	}
	if l.plan.Churn > 0 {
		for ; l.churn <= now; l.churn += l.gap(l.plan.Churn) {
			if c, err := l.open(true); err != nil {
				l.now.Load().fail(err)
			} else {
				l.ask(c, l.churn)
			}
		}
		pause = min(pause, l.churn-now)
	}
	return pause
}

// gap returns the random time between two events that happen at this rate per second.
func (l *Load) gap(rate float64) time.Duration {
	return time.Duration(l.random.ExpFloat64() / rate * float64(time.Second))
}

// catchUp sends due requests on idle connections, oldest first. Many requests may be due if the server or this process
// stalled, so each due time is drawn only when its request is sent.
func (l *Load) catchUp(now time.Duration) {
	for l.next <= now {
		c := l.takeIdle()
		if c == nil {
			return
		}
		due := l.next
		l.next += l.gap(l.plan.Rate)
		l.ask(c, due)
	}
}

// takeIdle returns the connection that has been idle longest, or nil.
func (l *Load) takeIdle() *conn {
	for l.at < len(l.idle) {
		c := l.idle[l.at]
		l.idle[l.at] = nil
		if l.at++; l.at >= 1024 && l.at > len(l.idle)/2 {
			l.idle, l.at = append(l.idle[:0], l.idle[l.at:]...), 0
		}
		if l.conns[int32(c.fd)] == c { // it may have been closed meanwhile
			return c
		}
	}
	l.idle, l.at = l.idle[:0], 0
	return nil
}

// ask sends a request on an idle connection.
func (l *Load) ask(c *conn, due time.Duration) {
	c.waits, c.due, c.kind = true, due, 0
	if !c.once {
		c.kind = l.pick()
	}
	k := &l.plan.Kinds[c.kind]
	if err := c.send(k); err != nil {
		l.lose(c, err)
		return
	}
	if k.After == Reset {
		l.done(c)
		l.drop(c, true)
	}
}

// pick chooses a kind according to the shares.
func (l *Load) pick() int {
	if len(l.plan.Kinds) == 1 {
		return 0
	}
	total := 0.0
	for i := range l.plan.Kinds {
		total += l.plan.Kinds[i].Share
	}
	at := l.random.Float64() * total
	for i := range l.plan.Kinds {
		if at -= l.plan.Kinds[i].Share; at < 0 {
			return i
		}
	}
	return 0
}

// ready reads from a connection that has an event.
func (l *Load) ready(c *conn, all bool) {
	what, err := c.read(&l.plan.Kinds[c.kind], l.buf, all)
	switch {
	case err != nil && c.waits:
		l.lose(c, err)
	case err != nil || what == ended && !c.waits:
		l.now.Load().closed.Add(1)
		l.drop(c, false)
	case what == ended:
		l.done(c)
		l.drop(c, false)
	case what == answered:
		l.done(c)
		l.again(c)
	}
}

// again makes a connection idle, or closes it.
func (l *Load) again(c *conn) {
	switch {
	case c.once || l.plan.PerConn > 0 && c.asked >= l.plan.PerConn:
		l.drop(c, false)
	case l.plan.Rate == 0:
		l.ask(c, time.Since(l.start))
	default:
		l.idle = append(l.idle, c)
		l.catchUp(time.Since(l.start))
	}
}

func (l *Load) done(c *conn) {
	k := &l.now.Load().kinds[c.kind]
	k.done.Add(1)
	if l.plan.Kinds[c.kind].After == Keep {
		k.latencies.Add(time.Since(l.start) - c.due)
	}
	c.waits = false
}

func (l *Load) lose(c *conn, err error) {
	p := l.now.Load()
	p.kinds[c.kind].lost.Add(1)
	p.fail(fmt.Errorf("%s: %w", l.plan.Kinds[c.kind].Name, err))
	c.waits = false
	l.drop(c, false)
}

// drop closes a connection. It opens a new one instead, unless the old one was for a single request.
func (l *Load) drop(c *conn, reset bool) {
	delete(l.conns, int32(c.fd))
	if reset {
		resetClose(c.fd)
	} else {
		syscall.Close(c.fd)
	}
	if !c.once {
		l.missing++
		l.replace()
	}
}

// replace opens missing connections, until one fails.
func (l *Load) replace() {
	for ; l.missing > 0; l.missing-- {
		c, err := l.open(false)
		if err != nil {
			l.now.Load().fail(err)
			return
		}
		l.idle = append(l.idle, c)
	}
}

// open opens a connection.
func (l *Load) open(once bool) (*conn, error) {
	fd, err := Connect(&l.to, l.made)
	if err != nil {
		return nil, err
	}
	const edgeTriggered = 1 << 31
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | edgeTriggered, Fd: int32(fd)}
	if err = syscall.SetNonblock(fd, true); err == nil {
		err = syscall.EpollCtl(l.ep, syscall.EPOLL_CTL_ADD, fd, &event)
	}
	if err != nil {
		syscall.Close(fd)
		return nil, err
	}
	c := &conn{fd: fd, once: once}
	l.made++
	l.conns[int32(fd)] = c
	l.now.Load().opened.Add(1)
	return c, nil
}

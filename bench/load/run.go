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

// Load is a load that can be run. All but Take and Stop belongs to Run.
type Load struct {
	plan   Plan
	to     syscall.SockaddrInet4
	ep     int
	random *rand.Rand
	start  time.Time

	conns   map[int32]*conn // by descriptor
	idle    []*conn         // from at on, the one that has been idle longest first
	at      int
	waiting []time.Duration // requests that were due while no connection was idle, from served on, oldest first
	served  int
	next    time.Duration // when the next request is due
	churn   time.Duration // when the next connection for one request is
	made    int           // connections
	missing int           // connections that could not be made, tried again later
	buf     []byte

	stopped atomic.Bool
	now     atomic.Pointer[period]
}

// maxRate is of events with a time of their own: of more it would always be the next one's.
const maxRate = float64(time.Second)

// New makes a load and its connections.
func New(p Plan) (*Load, error) {
	l := &Load{plan: p, random: rand.New(rand.NewPCG(p.Seed, 0)), conns: map[int32]*conn{}, buf: make([]byte, 64<<10)}
	if len(p.Kinds) == 0 {
		return nil, errors.New("load: a plan without requests")
	}
	for _, rate := range []float64{p.Rate, p.Churn} {
		if !(rate >= 0 && rate <= maxRate) {
			return nil, fmt.Errorf("load: a rate of %v a second", rate)
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

// Take returns what has come of the load since the last Take, or the beginning. It may be called while it runs.
func (l *Load) Take() Result {
	return l.now.Swap(newPeriod(len(l.plan.Kinds))).result(l.plan.Kinds)
}

// Stop ends Run. Requests under way are not waited for.
func (l *Load) Stop() { l.stopped.Store(true) }

// glance is how often Run looks whether it is stopped, and whether missing connections can be made.
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

// sendDue sends what is due, and returns how long it is until something is.
func (l *Load) sendDue(now time.Duration) (pause time.Duration) {
	pause = glance
	if l.plan.Rate == 0 {
		for c := l.takeIdle(); c != nil; c = l.takeIdle() {
			l.ask(c, now)
		}
	} else {
		for ; l.next <= now; l.next += l.gap(l.plan.Rate) {
			l.waiting = append(l.waiting, l.next)
		}
		l.serveWaiting()
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

// gap is the time between two events that come at random, so many a second.
func (l *Load) gap(rate float64) time.Duration {
	return time.Duration(l.random.ExpFloat64() / rate * float64(time.Second))
}

// serveWaiting gives requests that are due to connections that are idle. Those that wait may be many, if the server, or
// this, has stood still for a while: what is done for each answer must not grow with their number.
func (l *Load) serveWaiting() {
	for l.served < len(l.waiting) {
		c := l.takeIdle()
		if c == nil {
			break
		}
		l.served++
		l.ask(c, l.waiting[l.served-1])
	}
	if l.served >= 1024 && l.served > len(l.waiting)/2 {
		l.waiting, l.served = append(l.waiting[:0], l.waiting[l.served:]...), 0
	}
}

// takeIdle returns the connection that has been idle longest; nil if none is.
func (l *Load) takeIdle() *conn {
	for l.at < len(l.idle) {
		c := l.idle[l.at]
		l.idle[l.at] = nil
		if l.at++; l.at >= 1024 && l.at > len(l.idle)/2 {
			l.idle, l.at = append(l.idle[:0], l.idle[l.at:]...), 0
		}
		if l.conns[int32(c.fd)] == c { // it may have ended meanwhile
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

// pick chooses a kind by the shares.
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

// ready reads from a connection that there was an event for.
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

// again uses a connection for another request, or ends it.
func (l *Load) again(c *conn) {
	switch {
	case c.once || l.plan.PerConn > 0 && c.asked >= l.plan.PerConn:
		l.drop(c, false)
	case l.plan.Rate == 0:
		l.ask(c, time.Since(l.start))
	default:
		l.idle = append(l.idle, c)
		l.serveWaiting()
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

// drop ends a connection, and makes another one for it unless it was for one request.
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

// replace makes the connections that are missing, as far as that is possible now.
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

// open makes a connection.
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

package server_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// The simulation runs a server on its event loops, on a system in memory and in virtual time, and
// does to it what systems and clients do, by a seed: bytes come in any pieces at any time, calls
// move less than they could, batons are stolen at any call, clients do not read, half-close,
// reset and hang up.
//
// It is one goroutine at a time: a goroutine that makes a call to the system stops before and after it until the
// simulation lets it go on. So one step is one call, one deed of a client, or some time that passes; and whatever can
// happen between two calls does, sooner or later.
//
//	simulation_linux_test.go         who is next
//	simulation_client_linux_test.go  what clients do, and what they have to be answered
//	simulation_socket_linux_test.go  the server's end of their connections
//	simulation_tls_linux_test.go     the client's side of TLS
//
// When it fails it tells the seed and the step. GALLOP_SEED and GALLOP_STEPS run others:
//
//	GALLOP_SEED=7 GALLOP_STEPS=1000000 go test -count=1 -run TestSimulation ./test/server
//
// docs/design/0005-loop.md says how deterministic that is, and which mistakes it has found.
func TestSimulation(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	steps := 50_000
	if servertest.RaceEnabled {
		steps = 20_000
	}
	seed := number("GALLOP_SEED", 1)
	steps = number("GALLOP_STEPS", longer(steps, 1_000_000))
	begun := time.Now()
	result := simulate(t, uint64(seed), steps, simForm{})
	t.Logf("seed %d: %d steps, %d requests answered, %d batons stolen, %v, trace %x", seed, steps, result.answered, result.stolen, time.Since(begun), result.trace)
}

// The same seed does the same, unless the machine is so busy that Go's scheduler steps in.
func TestSimulationRepeats(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector has goroutines run in random order")
	}
	for range 5 {
		if a, b := simulate(t, 2, 3000, simForm{}), simulate(t, 2, 3000, simForm{}); a == b {
			return
		}
	}
	t.Error("it never does the same twice")
}

// longer returns long if the tests may take long, and otherwise usual.
func longer(usual, long int) int {
	if wiretest.Long() && !servertest.RaceEnabled {
		return long
	}
	return usual
}

func number(name string, or int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return or
}

// simResult is what has come of a simulation.
type simResult struct {
	trace    uint64
	answered int
	stolen   uint64
}

// simForm says what is simulated. The zero value is HTTP/1 on event loops.
type simForm struct {
	h2         bool // clients use HTTP/2
	tls        bool // over TLS; only with HTTP/2
	goroutines bool // a goroutine serves each connection
}

// lifeSteps is how many steps a server lives.
const lifeSteps = 5000

// simulate makes so many steps, in which it has one server live after the other.
func simulate(t *testing.T, seed uint64, steps int, form simForm) (result simResult) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for done := 0; done < steps && !t.Failed(); done += lifeSteps {
		m := &simulation{simForm: form, seed: seed, before: done, budget: min(lifeSteps, steps-done)}
		m.rng = rand.New(rand.NewPCG(seed, uint64(done)))
		stuck := time.AfterFunc(2*time.Minute, func() {
			panic(fmt.Sprintf("seed %d, behind step %d: somebody goes round and round", seed, done))
		})
		synctest.Test(t, m.live)
		stuck.Stop()
		result.answered += m.answered
		result.stolen += m.s.Stats().Loop.Overtaken
		result.trace = result.trace*31 + m.trace
	}
	return result
}

// simulation is the life of one server.
type simulation struct {
	simForm
	t      *testing.T
	seed   uint64
	before int // steps of others
	budget int
	step   int

	s       *gallop.Server
	k       *wiretest.Kernel // nil on goroutines
	ln      simListener
	clients []*simClient
	timed   bool // clients do not have all the time in the world
	ending  bool // the server shuts down

	mu       sync.Mutex // for who is at a call
	rng      *rand.Rand
	stopped  []*stop
	owing    []*simSocket // an event
	open     int          // sockets that goroutines serve
	locked   map[int]bool // descriptors at which nobody may stop, being locked there
	nobody   bool         // stops any more
	calls    map[int]int  // of the handler, for each request
	ends     map[int]simEnd
	lastID   int
	answered int
	trace    uint64
}

// stop is a goroutine that is at a call.
type stop struct {
	call string
	fd   int
	pass chan struct{}
}

// at stops the goroutine that makes a call.
func (m *simulation) at(call string, fd int) {
	m.mu.Lock()
	if call == "epoll_wait" {
		m.locked[fd] = true
	}
	if m.nobody || m.h2 && !m.goroutines && (call == "write" || call == "after write" || strings.HasSuffix(call, "epoll_ctl")) || m.locked[fd] && call != "epoll_wait" && call != "after epoll_wait" && call != "accept" && call != "after accept" {
		m.mu.Unlock()
		return
	}
	s := &stop{call, fd, make(chan struct{})}
	m.stopped = append(m.stopped, s)
	m.mu.Unlock()
	<-s.pass
}

// draw returns a number below n, for those who are at a call.
func (m *simulation) draw(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n)
}

// letOneGo lets a goroutine make its call, if there is one that waits for that.
func (m *simulation) letOneGo() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stopped) == 0 {
		return false
	}
	slices.SortStableFunc(m.stopped, func(a, b *stop) int { return cmp.Or(cmp.Compare(a.fd, b.fd), cmp.Compare(a.call, b.call)) })
	i := m.rng.IntN(len(m.stopped))
	s := m.stopped[i]
	m.stopped = slices.Delete(m.stopped, i, i+1)
	m.note(s.call, s.fd)
	close(s.pass)
	return true
}

// note adds to the trace what is done in this step.
func (m *simulation) note(what string, n int) {
	m.step++
	h := fnv.New64a()
	fmt.Fprint(h, m.trace, what, n)
	m.trace = h.Sum64()
}

// fail tells what is wrong and where, once.
func (m *simulation) fail(format string, args ...any) {
	m.t.Helper()
	if m.t.Failed() {
		return
	}
	m.t.Errorf("seed %d, step %d: %s\nagain: GALLOP_SEED=%d GALLOP_STEPS=%d go test -count=1 -run '%s$' ./test/server",
		m.seed, m.before+m.step, fmt.Sprintf(format, args...), m.seed, m.before+m.budget, m.t.Name())
}

// live has a server live.
func (m *simulation) live(t *testing.T) {
	m.t, m.calls, m.ends, m.locked = t, map[int]int{}, map[int]simEnd{}, map[int]bool{}
	m.s = &gallop.Server{
		Logger: servertest.Quiet, Handler: m.handle, StreamRequestBody: m.rng.IntN(2) == 0, PoisonReleased: true,
		Dispatch:    []gallop.DispatchType{gallop.DispatchAuto, gallop.DispatchInline, gallop.DispatchGoroutine}[m.rng.IntN(3)],
		IdleTimeout: -1, ReadHeaderTimeout: -1, TLSHandshakeTimeout: -1, MinBodyRate: -1, WriteTimeout: -1,
		ReadBufferSize: []int{0, 64, 300}[m.rng.IntN(3)], MaxHeaderBytes: 4096,
	}
	if m.h2 {
		m.s.Protocols = new(gallop.Protocols)
		m.s.Protocols.SetHTTP2(m.tls)
		m.s.Protocols.SetUnencryptedHTTP2(!m.tls)
	}
	if m.timed = m.rng.IntN(3) == 0; m.timed {
		m.s.IdleTimeout, m.s.ReadHeaderTimeout = time.Duration(1+m.rng.IntN(1000))*time.Millisecond, time.Duration(1+m.rng.IntN(300))*time.Millisecond
	}
	served := make(chan error, 1)
	ln := m.listen()
	go func() { served <- m.s.Serve(ln) }()
	for next := 1000; m.step < m.budget*9/10 && !t.Failed(); {
		m.next(90)
		if m.step > next {
			next += 1000
			m.settle("in its life")
		}
	}
	m.end(served)
}

// next makes a step: one of who is at a call, in so many of 100 cases one of a client, or time
// passes.
func (m *simulation) next(act int) {
	synctest.Wait()
	switch r := m.draw(100); {
	case r < act/2 && m.letOneGo():
	case r < act/2+5 && m.payOne():
	case r < act:
		m.act()
	default:
		m.note("time", 0)
		m.pass()
	}
	if m.step%64 == 0 {
		m.findMisuse()
	}
}

// pass has time go by, in which batons are stolen of those who are at a call, and handlers come to
// their end.
func (m *simulation) pass() {
	d := time.Duration(m.draw(3000)) * time.Microsecond
	if m.draw(20) == 0 {
		d *= 100
	}
	time.Sleep(d)
}

// settle lets everybody do what they can, until nobody can do anything, and wants all that was
// asked for to be answered then. Events that the loop has overlooked show here.
func (m *simulation) settle(when string) {
	for quiet := 0; quiet < 40 && !m.t.Failed(); {
		synctest.Wait()
		if m.letOneGo() {
			continue
		}
		busy := m.payOne()
		for _, c := range m.clients {
			busy = c.move() || busy
		}
		if quiet++; busy {
			quiet = 0
		}
		pause := 10 * time.Millisecond
		if m.h2 { // whose time limits are looked at every second
			pause *= 10
		}
		time.Sleep(pause)
	}
	for _, c := range m.clients {
		if !c.over && !c.gone && len(c.due) > 0 {
			m.fail("%s: connection %d waits for %v, though all was sent", when, c.id, c.due)
		}
	}
}

// end shuts the server down while clients are at it, and wants nothing to be left.
func (m *simulation) end(served chan error) {
	m.ending = true
	down := make(chan error, 1)
	go func() { down <- m.s.Shutdown() }()
	for m.step < m.budget && !m.t.Failed() {
		m.next(80)
	}
	if m.t.Failed() { // as fast as that goes
		m.letAllGo()
		go m.s.Close()
	}
	m.settle("in its end")
	m.letAllGo()
	for _, c := range m.clients {
		c.tls.end()
		_ = c.conn.Close()
	}
	for what, ended := range map[string]chan error{"Shutdown": down, "Serve": served} {
		select {
		case err := <-ended:
			if err != nil {
				m.fail("%s: %v", what, err)
			}
		case <-time.After(time.Minute):
			m.fail("%s does not return", what)
		}
	}
	synctest.Wait()
	if n, open := m.openSockets(), m.s.GetOpenConnectionsCount(); n != 0 || open != 0 {
		m.fail("%d descriptors and %d connections are left", n, open)
	}
	m.balance()
	m.findMisuse()
}

// letAllGo ends stopping.
func (m *simulation) letAllGo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nobody = true
	for _, s := range m.stopped {
		close(s.pass)
	}
	m.stopped = nil
}

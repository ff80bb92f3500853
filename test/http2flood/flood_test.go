package http2flood

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// heapPerAttacker is how much memory a hostile connection may cost.
const heapPerAttacker = 2 << 20

// Each attack ends with the right GOAWAY within a number of frames.
func TestBursts(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := start(t, over, stream)
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				if err := a.run(s); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// Bodies that are collected before the handler is called give no room to floods either.
func TestCollectedBursts(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := start(t, over, nil)
		for _, a := range collectedAttacks {
			t.Run(a.name, func(t *testing.T) {
				if err := a.run(s); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// stream has handlers read request bodies themselves.
func stream(s *gallop.Server) { s.StreamRequestBody = true }

// run sends as many frames as the attack may, and judges how the connection ends.
func (a *attack) run(s *site) error {
	p, err := dial(s.addr)
	if err != nil {
		return err
	}
	if a.before != nil {
		a.before(p)
	}
	for p.frames < a.frames && p.isAlive() {
		a.next(p)
	}
	p.flush()
	code, err := p.verdict(10 * time.Second)
	if err != nil || code != a.want {
		return fmt.Errorf("after %d frames: GOAWAY %v, %w; want %v", p.frames, code, err, a.want)
	}
	return nil
}

// While several attackers come again and again, the server's memory and the number of its handlers stay bounded, and a good
// client is served.
func TestFloods(t *testing.T) {
	runBeside(t)
	const together = 16
	for batch := range slices.Chunk(attacks, together) {
		t.Run(batch[0].name+" and others", func(t *testing.T) { testFlood(t, stream, batch) })
	}
	t.Run("bodies that are collected", func(t *testing.T) { testFlood(t, nil, collectedAttacks) })
}

func testFlood(t *testing.T, change func(*gallop.Server), batch []attack) {
	if !besideOthers(t) {
		return
	}
	onSites(t, change, func(t *testing.T, sites []*site) {
		var bursts atomic.Int64
		flood(t, sites, len(batch), func(s *site, group *sync.WaitGroup, end time.Time) {
			for _, a := range batch {
				group.Go(func() {
					for time.Now().Before(end) {
						if err := a.run(s); err != nil {
							t.Errorf("%s: %s: %v", s, a.name, err)
							return
						}
						bursts.Add(1)
						time.Sleep(10 * time.Millisecond)
					}
				})
			}
		})
		t.Logf("%d bursts", bursts.Load())
	})
}

// besideOthers is wiretest.Beside in the short form, in which attackers pause most of the time. In longer forms a test runs in this
// process, beside no other.
func besideOthers(t *testing.T) bool {
	t.Helper()
	return wiretest.Full() || wiretest.Beside(t)
}

// runBeside is t.Parallel in the short form.
func runBeside(t *testing.T) {
	t.Helper()
	if !wiretest.Full() {
		t.Parallel()
	}
}

// onSites runs a test with a server on event loops and one on goroutines. Long tests have one server at a time, so that it
// gets more of the processor.
func onSites(t *testing.T, change func(*gallop.Server), test func(t *testing.T, sites []*site)) {
	if !wiretest.Long() {
		test(t, []*site{start(t, gallop.EngineLoop, change), start(t, gallop.EngineGoroutine, change)})
		return
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) { test(t, []*site{start(t, over, change)}) })
}

// flood has begin start this many attackers for each server, which go on until a time. It checks what they may cost, and how
// a good client of each server is served.
func flood(t *testing.T, sites []*site, attackers int, begin func(s *site, group *sync.WaitGroup, end time.Time)) {
	floodOnce(t, sites, attackers, begin)
	for _, s := range sites {
		for try := 0; s.isSlow() && try < 3 && !t.Failed(); try++ { // the machine may be slow itself
			floodOnce(t, []*site{s}, attackers, begin)
		}
		if s.isSlow() {
			t.Errorf("%s: a good client: p99 was %v, and is %v while the server is attacked", s, s.quiet.p99, s.loud.p99)
		}
	}
}

// isSlow reports whether a good client waits much longer while the server is attacked.
func (s *site) isSlow() bool { return s.loud.p99 > 5*s.quiet.p99+lenient }

// floodOnce attacks the servers at the same time. It notes how long good clients wait before the attack and meanwhile.
func floodOnce(t *testing.T, sites []*site, attackers int, begin func(s *site, group *sync.WaitGroup, end time.Time)) {
	good := make([]*goodClient, len(sites))
	var group sync.WaitGroup
	quiet := time.Now().Add(min(300*time.Millisecond, floodTime()/4))
	for i, s := range sites {
		good[i] = newGoodClient(s.addr)
		defer good[i].close()
		group.Go(func() { s.quiet = good[i].measure(t, quiet) })
	}
	group.Wait()
	idle := liveHeap()
	end := time.Now().Add(floodTime())
	for i, s := range sites {
		begin(s, &group, end)
		group.Go(func() { s.loud = good[i].measure(t, end) })
	}
	largest := largestHeap(t, idle, len(sites)*attackers, end)
	group.Wait()
	t.Logf("%d KiB for %d attackers of each server", largest>>10, attackers)
	for _, s := range sites {
		most := s.most.Load()
		if most > handlers {
			t.Errorf("%s: %d handlers ran at a time", s, most)
		}
		t.Logf("%s: %d handlers at a time; good client: %d requests, p99 %v, before %v", s, most, s.loud.n, s.loud.p99, s.quiet.p99)
	}
}

// largestHeap watches the heap until a time, and returns by how much it has grown at most. The growth has a bound for each
// attacker.
func largestHeap(t *testing.T, idle int64, attackers int, end time.Time) (largest int64) {
	t.Helper()
	for time.Now().Before(end) {
		time.Sleep(min(300*time.Millisecond, floodTime()/4))
		grown := liveHeap() - idle
		if largest = max(largest, grown); grown > int64(attackers*heapPerAttacker) {
			t.Errorf("%d attackers cost %d KiB", attackers, grown>>10)
		}
	}
	return largest
}

// lenient is how much longer requests may take on a busy machine: attackers, server and clients share its processors with the
// tests of other packages. The race detector makes all of them slower by a factor.
var lenient = leniency()

func leniency() time.Duration {
	d := 800 * time.Millisecond / time.Duration(min(runtime.GOMAXPROCS(0), 4))
	if servertest.RaceEnabled {
		d *= 5
	}
	return d
}

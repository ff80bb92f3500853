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
	const together = 16
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for batch := range slices.Chunk(attacks, together) {
			t.Run(batch[0].name+" and others", func(t *testing.T) { testFlood(t, over, stream, batch) })
		}
		t.Run("bodies that are collected", func(t *testing.T) { testFlood(t, over, nil, collectedAttacks) })
	})
}

func testFlood(t *testing.T, over gallop.EngineType, change func(*gallop.Server), batch []attack) {
	s := start(t, over, change)
	var bursts atomic.Int64
	s.flood(t, len(batch), func(group *sync.WaitGroup, end time.Time) {
		for _, a := range batch {
			group.Go(func() {
				for time.Now().Before(end) {
					if err := a.run(s); err != nil {
						t.Errorf("%s: %v", a.name, err)
						return
					}
					bursts.Add(1)
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	})
	t.Logf("%d bursts", bursts.Load())
}

// flood has begin start this many attackers, which go on until a time. It checks what they may cost, and how a good client is
// served.
func (s *site) flood(t *testing.T, attackers int, begin func(group *sync.WaitGroup, end time.Time)) {
	var quiet, loud latency
	for range 4 { // the machine may be slow itself
		if quiet, loud = s.floodOnce(t, attackers, begin); loud.p99 <= 5*quiet.p99+lenient || t.Failed() {
			return
		}
	}
	t.Errorf("a good client: p99 was %v, and is %v while the server is attacked", quiet.p99, loud.p99)
}

// floodOnce returns how long a good client waits before the attack and meanwhile.
func (s *site) floodOnce(t *testing.T, attackers int, begin func(group *sync.WaitGroup, end time.Time)) (quiet, loud latency) {
	good := newGoodClient(s.addr)
	defer good.close()
	quiet = good.measure(t, time.Now().Add(300*time.Millisecond))
	idle := liveHeap()
	end := time.Now().Add(floodTime())
	var group sync.WaitGroup
	begin(&group, end)
	var largest int64
	group.Go(func() {
		for time.Now().Before(end) {
			time.Sleep(300 * time.Millisecond)
			grown := liveHeap() - idle
			if largest = max(largest, grown); grown > int64(attackers*heapPerAttacker) {
				t.Errorf("%d attackers cost %d KiB", attackers, grown>>10)
			}
		}
	})
	loud = good.measure(t, end)
	group.Wait()
	if most := s.most.Load(); most > handlers {
		t.Errorf("%d handlers ran at a time", most)
	}
	t.Logf("%d KiB for %d attackers, %d handlers at a time; good client: %d requests, p99 %v, before %v", largest>>10, attackers,
		s.most.Load(), loud.n, loud.p99, quiet.p99)
	return quiet, loud
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

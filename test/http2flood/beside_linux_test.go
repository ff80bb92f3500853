package http2flood

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// The tests of this file compare how long a good client waits before, during and after an attack. Server, attacker and good client
// are processes of their own, so that neither garbage collection nor the scheduler of one delays another:
//
//	processor 0    the server, with GOMAXPROCS=1
//	processor 1    the attacker, which gets the time that the good client leaves
//	               the good client, see paced
//
// A connection may use a share of the server's processor. So a legal client that is as busy as an attacker delays the good client
// as well. It is measured in the same way, in the place of the attacker.

const (
	quietTime = 1500 * time.Millisecond // of a measurement without an attack
	loudTime  = 2500 * time.Millisecond // of a measurement beside an attack
	warmUp    = 200 * time.Millisecond  // of an attack, before the measurement begins
	settle    = 300 * time.Millisecond  // after an attack: handlers of "/hang" return

	// resolution is about the time that an idle processor of a virtual machine needs to wake up. Smaller differences mean nothing.
	resolution = 50 * time.Microsecond

	// tries is how often an attack that is over the limit is measured. The machine may have been busy itself.
	tries = 3
)

// A good client waits at most twice as long beside an attack as before, or as long as beside a legal client that is as busy.
func TestBesideAttacks(t *testing.T) {
	switch {
	case !wiretest.Long():
		t.Skip("takes minutes, and needs two processors of its own: set GALLOP_LONG=1")
	case servertest.RaceEnabled || runtime.NumCPU() < 2:
		t.Skip("measures time on two processors")
	}
	for _, tool := range []string{"taskset", "chrt"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for _, bodies := range []string{streamedBodies, collectedBodies} {
			t.Run(bodies+" bodies", func(t *testing.T) {
				b := startBeside(t, over, bodies)
				b.measureLegal(t)
				for _, a := range attacksOn(bodies) {
					t.Run(a.name, func(t *testing.T) { b.judge(t, &a) })
				}
			})
		}
	})
}

// attacksOn returns the attacks on a server that streams or collects request bodies.
func attacksOn(bodies string) []attack {
	if bodies == streamedBodies {
		return attacks
	}
	return collectedAttacks
}

// beside is a server with a good client and an attacker.
type beside struct {
	bodies   string
	attacker *child
	good     *child
	legal    map[string]time.Duration // p99 beside each of the legal clients
	last     paced                    // the last measurement without an attack
	quiets   []time.Duration          // p99 of all measurements without an attack
}

func startBeside(t *testing.T, over gallop.EngineType, bodies string) *beside {
	server := startChild(t, "server", []string{"taskset", "-c", "0"}, engineName(over), bodies)
	var addr string
	server.hear(t, &addr)
	b := &beside{bodies: bodies, legal: map[string]time.Duration{}}
	b.attacker = startChild(t, "attacker", []string{"taskset", "-c", "1", "chrt", "--idle", "0"}, addr, bodies)
	b.good = startChild(t, "good", []string{"taskset", "-c", "1"}, addr)
	b.quiet(t) // the server learns which handlers are fast
	return b
}

// quiet measures without an attack.
func (b *beside) quiet(t *testing.T) paced {
	b.good.ask(t, quietTime.String(), &b.last)
	b.quiets = append(b.quiets, b.last.P99)
	return b.last
}

// usual returns the median p99 of all measurements without an attack, so that a single one during which the machine was busy does not
// raise the limit.
func (b *beside) usual() time.Duration {
	sorted := slices.Sorted(slices.Values(b.quiets))
	return sorted[len(sorted)/2]
}

// loud measures beside an attack, or beside a legal client.
func (b *beside) loud(t *testing.T, name string) (p paced, did attackerReport) {
	b.attacker.tell(t, name)
	time.Sleep(warmUp)
	b.good.ask(t, loudTime.String(), &p)
	b.attacker.ask(t, "stop", &did)
	time.Sleep(settle)
	if did.Err != "" {
		t.Errorf("the attacker: %s", did.Err)
	}
	if did.Frames == 0 {
		t.Error("the attacker has sent nothing")
	}
	return p, did
}

// measureLegal measures beside each of the legal clients: the median of three measurements.
func (b *beside) measureLegal(t *testing.T) {
	for _, l := range legals {
		var all []time.Duration
		var did attackerReport
		for range 3 {
			var p paced
			p, did = b.loud(t, l.name)
			all = append(all, p.P99)
			b.quiet(t)
		}
		slices.Sort(all)
		b.legal[l.name] = all[1]
		t.Logf("legal client, %s: p99 %v, before %v; %v", l.name, all, b.last, did)
	}
}

// limit returns how long a good client may wait beside an attack.
func (b *beside) limit() time.Duration {
	limit := 2*b.usual() + resolution
	for _, p99 := range b.legal {
		limit = max(limit, p99+resolution)
	}
	return limit
}

// judge measures beside an attack.
func (b *beside) judge(t *testing.T, a *attack) {
	for try := 1; ; try++ {
		before, limit := b.usual(), b.limit()
		during, did := b.loud(t, a.name)
		after := b.quiet(t)
		t.Logf("%.1f ×: p99 %v, usually %v, after %v, limit %v; %v", float64(during.P99)/float64(before), during, before, after, limit, did)
		if during.P99 <= limit && after.P99 <= limit || t.Failed() {
			return
		}
		if try == tries {
			t.Errorf("a good client: p99 is usually %v, %v beside the attack and %v after it", before, during.P99, after.P99)
			return
		}
	}
}

// String returns the figures in one line.
func (p paced) String() string {
	return fmt.Sprintf("%v (p50 %v, max %v, %d)", p.P99, p.P50, p.Max, p.N)
}

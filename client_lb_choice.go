package gallop

import (
	"math"
	"sync/atomic"
	"time"
)

// How failures of a client count: the first by lbPenalty, each further one doubles
// what there is and adds as much again, up to maxLBPenalty; half is forgotten every
// lbHalfLife, and what is below minLBPenalty at once.
const (
	lbPenalty    = 4
	maxLBPenalty = 256
	minLBPenalty = 0.25
	lbHalfLife   = time.Second
)

// lbMember is a client of an LBClient.
type lbMember struct {
	client   BalancingClient
	weight   float64 // ≥ 1
	running  atomic.Int64
	failures atomic.Pointer[lbFailures] // nil for none

	load, share, credit float64 // guarded by LBClient.turn
}

// lbFailures is the penalty that a member had at some time.
type lbFailures struct {
	penalty float64
	at      time.Time
}

// failed raises the penalty of the member.
func (m *lbMember) failed(now time.Time) {
	for {
		old := m.failures.Load()
		penalty := 0.0
		if old != nil {
			penalty = old.left(now)
		}
		failures := &lbFailures{min(2*penalty+lbPenalty, maxLBPenalty), now}
		if m.failures.CompareAndSwap(old, failures) {
			return
		}
	}
}

// end ends a request. If the client, or HealthCheck, did not return, it panicked, which is a failure.
func (m *lbMember) end(returned *bool) {
	m.running.Add(-1)
	if !*returned {
		m.failed(time.Now())
	}
}

// penalty returns what is left of the penalty. Without one it is cheap.
func (m *lbMember) penalty() float64 {
	f := m.failures.Load()
	if f == nil {
		return 0
	}
	left := f.left(time.Now())
	if left < minLBPenalty {
		m.failures.CompareAndSwap(f, nil)
		return 0
	}
	return left
}

func (f *lbFailures) left(now time.Time) float64 {
	return f.penalty * math.Exp2(-float64(now.Sub(f.at))/float64(lbHalfLife))
}

// choose returns the member that gets the next request, with that request counted, nil
// if there are none.
func (lb *LBClient) choose() *lbMember {
	members := lb.all()
	lb.turn.Lock()
	defer lb.turn.Unlock()
	var lowest float64
	if lb.Strategy == LBLeastLoaded {
		lowest = weighLBLoads(members)
	}
	m := takeLBTurn(members, lowest)
	if m != nil {
		m.running.Add(1)
	}
	return m
}

// weighLBLoads sets the load of each member, and returns the lowest. A penalty counts as
// that many requests that never end.
func weighLBLoads(members []*lbMember) float64 {
	lowest := math.Inf(1)
	for _, m := range members {
		// A request that has just been given away may not be pending yet.
		pending := max(int64(m.client.PendingRequests()), m.running.Load())
		m.load = float64(pending)/m.weight + m.penalty()
		lowest = min(lowest, m.load)
	}
	return lowest
}

// takeLBTurn returns whose turn it is among those with that load, which without loads is
// everybody: of one request each gets its share as credit, and who has most credit goes
// and pays for the whole of it. That mixes them as evenly as can be.
func takeLBTurn(members []*lbMember, load float64) (richest *lbMember) {
	total := 0.0
	for _, m := range members {
		if m.share = 0; m.load == load {
			m.share = m.weight / (1 + m.penalty())
		}
		total += m.share
	}
	for _, m := range members {
		if m.share == 0 {
			continue
		}
		if m.credit += m.share / total; richest == nil || m.credit > richest.credit {
			richest = m
		}
	}
	if richest != nil {
		richest.credit--
	}
	return richest
}

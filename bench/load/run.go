//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/raw"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// Load runs a plan.
type Load struct {
	scenarios []engine.Scenario
	options   engine.Options
	control   engine.Control
	ctx       context.Context // done when Stop is called
	stop      context.CancelFunc

	mu     sync.Mutex
	now    *period       // is filled
	wanted uint64        // number of the cut that Take waits for
	taken  chan *period  // gets what is before that cut
	ended  chan struct{} // closed when Run has returned
}

// forever is the length of a load that ends when it is stopped.
const forever = 10 * 365 * 24 * time.Hour

// mostChurning is the number of connections for single requests that are open at the same time. It is only reached if the server stalls.
const mostChurning = 1 << 14

// New creates a load.
func New(p Plan) (*Load, error) {
	if len(p.Kinds) == 0 || p.Conns == 0 && p.Churn == 0 {
		return nil, errors.New("load: the plan has no requests")
	}
	to, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	l := &Load{now: newPeriod(), taken: make(chan *period, 1), ended: make(chan struct{})}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.options = engine.Options{Address: p.Address, Scheme: "http", Proto: engine.HTTP1, PerConn: p.PerConn, Grain: p.Grain, Seed: p.Seed, Control: &l.control}
	if to.Addr().IsLoopback() {
		for i := range sources {
			l.options.Local = append(l.options.Local, fmt.Sprintf("127.0.0.%d", 2+i))
		}
	}
	if p.Rate != 0 || p.Churn != 0 { // otherwise each user has a connection
		l.options.Conns, l.options.Standing = p.Conns, true
	}
	if p.Conns > 0 {
		load := script.Load{VUs: p.Conns, Duration: forever}
		if p.Rate != 0 {
			load = script.Load{Executor: script.ConstantArrivalRate, Rate: p.Rate, Poisson: true, Duration: forever}
		}
		l.scenarios = append(l.scenarios, engine.Scenario{Name: "load", Load: load, Script: newMix(p.Kinds, p.Seed, false)})
	}
	if p.Churn != 0 {
		load := script.Load{Executor: script.ConstantArrivalRate, Rate: p.Churn, Poisson: true, MaxVUs: mostChurning, Duration: forever}
		l.scenarios = append(l.scenarios, engine.Scenario{Name: "churn", Load: load, Script: newMix(p.Kinds[:1], p.Seed, true)})
	}
	return l, nil
}

// Run puts the server under load until Stop is called. The error is about a plan that cannot be run.
func (l *Load) Run() error {
	defer close(l.ended)
	return raw.Run(l.ctx, &l.options, l.scenarios, l.add)
}

// Stop ends Run without waiting for requests in flight.
func (l *Load) Stop() { l.stop() }

// add takes a period of the engine.
func (l *Load) add(p *result.Period) *result.Period {
	l.mu.Lock()
	l.now.add(p)
	if l.wanted != 0 && p.Cut >= l.wanted {
		l.wanted = 0
		l.taken <- l.now
		l.now = newPeriod()
	}
	l.mu.Unlock()
	p.Reset()
	return p
}

// Take returns the result since the last Take or the start. It may be called by one goroutine at a time, while the load runs or
// afterwards.
func (l *Load) Take() Result {
	l.mu.Lock()
	l.wanted = l.control.Cut()
	l.mu.Unlock()
	select {
	case p := <-l.taken:
		return p.result(l.scenarios)
	case <-l.ended:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case p := <-l.taken: // just before the end
		return p.result(l.scenarios)
	default:
	}
	p := l.now
	l.wanted, l.now = 0, newPeriod()
	return p.result(l.scenarios)
}

//go:build linux

package reliability

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/load"
	"github.com/gallop-http/gallop/bench/measure"
)

// The load of R8.
const (
	enduranceConns = 10_000
	enduranceChurn = 500 // connections a second
	enduranceShare = .7  // of what the server can do
	enduranceFault = .01 // of the requests
	enduranceGrain = 100 * time.Microsecond
)

// enduranceKinds are requests of which one in a hundred is faulty, in one of four ways.
func enduranceKinds() []load.Kind {
	const faults = 4
	whole := get("/ok/1")
	return []load.Kind{
		{Name: "good", Share: 1 - enduranceFault, Octets: whole},
		{Name: "malformed", Share: enduranceFault / faults, Octets: []byte("GET / HTTP/1.1\r\nHost : x\r\n\r\n"), After: load.Refusal},
		{Name: "cut", Share: enduranceFault / faults, Octets: whole[:len(whole)/2], After: load.Reset},
		{Name: "abandoned", Share: enduranceFault / faults, Octets: whole, After: load.Reset},
		{Name: "last", Share: enduranceFault / faults, Octets: []byte("GET /ok/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), After: load.Shut},
	}
}

// endurance is R8: a steady load of 70 % of what the server can do, on many connections, with others that come and go,
// and with faults. Nothing may grow: neither memory nor latency; nothing may be lost; and in the end everything has to
// come back. What happens in the first window, in which buffers and tables grow to what they need, is not judged. Server and
// load have a processor each: on a shared one what is measured is how they wait for each other.
func endurance(t *trial) error {
	windows := t.pick(24, 60)
	window := time.Duration(t.pick(8, 60)) * time.Second
	if t.Endurance > 0 {
		window = t.Endurance / time.Duration(windows)
	}
	config := t.config(0)
	config.Pinned = true
	s, err := startAlone(config)
	if err != nil {
		return err
	}
	defer s.Stop()
	before, err := s.stat()
	if err != nil {
		return err
	}
	open := s.descriptors()
	plan := load.Plan{Address: s.address, Conns: enduranceConns, Kinds: enduranceKinds(), Seed: t.Seed, Churn: enduranceChurn, Grain: enduranceGrain}
	if plan.Rate, err = peak(plan); err != nil {
		return err
	}
	plan.Rate *= enduranceShare
	t.logf("%d connections, %.0f requests/s, %d connections/s besides, %.0f %% faults", plan.Conns, plan.Rate, enduranceChurn, 100*enduranceFault)
	e, err := t.endure(s, plan, windows, window)
	if err != nil {
		return err
	}
	third := (windows - 1) / 3
	thirds := func(of []float64) (early, late []float64) { return of[1 : 1+third], of[windows-third:] }
	medians := func(of []float64) (early, late float64) {
		first, last := thirds(of)
		return measure.Median(first), measure.Median(last)
	}
	early, late := medians(e.slowest)
	chance := byChance(thirds(e.slowest))
	small, large := medians(e.resident)
	cheap, dear := medians(e.cost)
	quick, slow := medians(e.yardstick)
	grown := 100 * (large/small - 1)
	t.count("%d requests, %d lost", e.done, e.lost)
	t.count("memory %+.1f %% at %.0f MiB", grown, small/(1<<20))
	t.count("CPU %.1f µs a request, in the end %.1f", cheap/1000, dear/1000)
	t.count("yardstick %.0f µs, in the end %.0f", quick/1000, slow/1000)
	t.count("p99.9 %v, in the end %v, p = %.3f", round(time.Duration(early)), round(time.Duration(late)), chance)
	t.require(e.lost == 0, "%d requests lost", e.lost)
	t.require(grown < float64(t.pick(10, 2)), "memory grew by %.1f %%", grown)
	t.require(dear < 1.1*cheap, "CPU time a request grew from %.1f to %.1f µs", cheap/1000, dear/1000)
	t.requireTime(time.Duration(late), time.Duration(1.1*early), "p99.9 in the end")
	return t.requireBack(s, before, open)
}

// byChance returns how likely chance makes windows as different as these, which are the same otherwise, by the test of Mann and
// Whitney. Slowest requests are those that the machine has kept waiting: their times differ by a factor of ten and more from
// window to window, so that medians of a few windows differ, too. It says how to read a verdict, and does not change it: what
// is not certain to have grown may have grown.
func byChance(early, late []float64) float64 {
	sample := func(of []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(of), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(early), sample(late)).P
}

// peak is the highest rate, within a twentieth, at which requests that are sent when they are due, with the faults and the
// connections besides, do not have to wait. As fast as answers come, more are answered: then requests come together, and
// each costs both sides less. 70 % of that rate can be all that load and server, on one machine, bear of requests that come
// one by one.
func peak(p load.Plan) (float64, error) {
	p.Rate = 0
	most, _, err := try(p)
	if err != nil {
		return 0, err
	}
	least := .0
	for most > 1 && most > 1.05*least {
		p.Rate = (least + most) / 2
		rate, wait, err := try(p)
		if err != nil {
			return 0, err
		}
		if wait < longWait && rate > .98*p.Rate {
			least = p.Rate
		} else {
			most = p.Rate
		}
	}
	if least == 0 {
		return 0, errors.New("requests wait at any rate")
	}
	return least, nil
}

// longWait is how long half of the requests wait for their answers if more come than can be answered.
const longWait = 20 * time.Millisecond

// try puts the server under load for a while, and returns how many requests a second it has answered, and how long half of the good
// ones have taken.
func try(p load.Plan) (rate float64, half time.Duration, err error) {
	l, err := startLoad(p)
	if err != nil {
		return 0, 0, err
	}
	defer l.Stop()
	time.Sleep(2 * time.Second)
	if _, err := l.Take(); err != nil {
		return 0, 0, err
	}
	time.Sleep(3 * time.Second)
	r, err := l.Take()
	done, _ := r.Sum()
	if err == nil && done == 0 {
		err = fmt.Errorf("no request was answered: %v", r.Errors)
	}
	return float64(done) / r.Seconds, r.Kinds["good"].P50, err
}

func startLoad(p load.Plan) (l load.Process, err error) {
	cmd, err := load.Command(p)
	if err == nil {
		err = child.Pin(cmd, loadProcessor)
	}
	if err != nil {
		return l, err
	}
	return load.Start(cmd)
}

// endured is what R8 has seen, window by window.
type endured struct {
	done, lost int
	slowest    []float64 // 99.9th percentile of the good requests, in nanoseconds
	resident   []float64 // octets
	cost       []float64 // CPU time of the server a request, in nanoseconds
	yardstick  []float64 // CPU time of a piece of work that has nothing to do with the server, in nanoseconds
}

func (t *trial) endure(s *server, p load.Plan, windows int, window time.Duration) (e endured, err error) {
	l, err := startLoad(p)
	if err != nil {
		return e, err
	}
	defer l.Stop()
	var before, after dispatchStat
	if err := s.Ask("dispatch", &before); err != nil {
		return e, err
	}
	for i := range windows {
		cpu := s.cpu()
		yardstick, err := sleepMeasuring(window)
		if err != nil {
			return e, err
		}
		e.yardstick = append(e.yardstick, float64(yardstick))
		r, err := l.Take()
		if err != nil {
			return e, err
		}
		if !s.alive() {
			return e, fmt.Errorf("the server has ended after %v", time.Duration(i)*window)
		}
		done, lost := r.Sum()
		e.done, e.lost = e.done+done, e.lost+lost
		good := r.Kinds["good"]
		e.slowest = append(e.slowest, float64(good.P999))
		e.resident = append(e.resident, float64(s.rss()))
		e.cost = append(e.cost, float64(s.cpu()-cpu)/float64(max(done, 1)))
		if err := s.Ask("dispatch", &after); err != nil {
			return e, err
		}
		t.logf("%2d: %.0f requests/s, %d lost, p50 %v, p99 %v, p99.9 %v, CPU %.1fµs, yardstick %.0fµs, %s, resident %d MiB, %d descriptors", i,
			float64(done)/r.Seconds, lost, round(good.P50), round(good.P99), round(good.P999), e.cost[i]/1000, e.yardstick[i]/1000,
			after.since(before), s.rss()>>20, s.descriptors())
		before = after
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			t.logf("    %d× %s", r.Errors[kind], kind)
		}
	}
	return e, nil
}

// sleepMeasuring sleeps, and returns the median of what the yardstick took meanwhile.
func sleepMeasuring(d time.Duration) (time.Duration, error) {
	const times = 32
	y, err := measure.NewYardstick()
	if err != nil {
		return 0, err
	}
	defer y.Close()
	took := make([]float64, times)
	for i := range took {
		time.Sleep(d / times)
		t, err := y.Take()
		if err != nil {
			return 0, err
		}
		took[i] = float64(t)
	}
	return time.Duration(measure.Median(took)), nil
}

// requireBack holds the server's goroutines and descriptors against those that it had before. A server may keep the
// goroutines of connections for the next ones, for a while.
func (t *trial) requireBack(s *server, before serverStat, open int) error {
	const patience = 25 * time.Second
	for start := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		after, err := s.stat()
		if err != nil {
			return err
		}
		back := after.Goroutines <= before.Goroutines+8 && s.descriptors() <= open+2
		if !back && time.Since(start) < patience {
			continue
		}
		t.logf("goroutines %d → %d, descriptors %d → %d after %v, log lines %d", before.Goroutines, after.Goroutines,
			open, s.descriptors(), round(time.Since(start)), after.Logged)
		t.require(back, "goroutines %d → %d, descriptors %d → %d", before.Goroutines, after.Goroutines, open, s.descriptors())
		return nil
	}
}

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
	enduranceChurn = 500 // new connections per second
	enduranceShare = .7  // share of the highest rate that the server can serve
	enduranceFault = .01 // share of faulty requests
	enduranceGrain = 100 * time.Microsecond
)

// enduranceKinds returns the requests. One in a hundred is faulty, in one of four ways.
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

// endurance is R8. It puts a steady load of 70 % of the highest possible rate on many connections, opens and closes
// other connections, and adds faulty requests. Memory and latency must not grow, no request may be lost, and in the
// end all resources must be freed.
//
// The first window is not judged, because buffers and tables grow to their size in it. Server and load have a
// processor each. On a shared one the figures would show how the two wait for each other.
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

// byChance returns the probability that chance alone makes equal windows as different as these, by the Mann-Whitney U
// test. The slowest requests are those that the machine delayed. Their times differ by a factor of ten and more
// between windows, so medians of a few windows differ, too. The probability helps to read a verdict and does not
// change it: growth that is not certain still counts as growth.
func byChance(early, late []float64) float64 {
	sample := func(of []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(of), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(early), sample(late)).P
}

// peak returns the highest rate, to within 5 %, at which requests do not wait if each is sent when it is due, with
// faults and new connections in between. Sending as fast as responses arrive reaches a higher rate, because requests
// then arrive together and each costs both sides less. So 70 % of that higher rate could already be the most that
// load and server on one machine handle with single requests.
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

// longWait is how long half of the requests wait if more arrive than the server can handle.
const longWait = 20 * time.Millisecond

// try puts the server under load for a while. It returns the responses per second and the median latency of the good
// requests.
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
		err = fmt.Errorf("no request got a response: %v", r.Errors)
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

// endured holds what R8 measured, one entry per window.
type endured struct {
	done, lost int
	slowest    []float64 // 99.9th percentile of the good requests, in nanoseconds
	resident   []float64 // bytes
	cost       []float64 // the server's CPU time per request, in nanoseconds
	yardstick  []float64 // CPU time of work that is unrelated to the server, in nanoseconds
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

// sleepMeasuring sleeps, and returns the median of the yardstick's times meanwhile.
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

// requireBack checks that the server's goroutines and descriptors return to their numbers before the load. A server
// may keep idle goroutines for the next connections for a while.
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

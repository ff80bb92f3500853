package collect

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// named is a script that has only names.
type named []string

func (n named) Names() []string         { return n }
func (n named) NewUser(int) script.User { return nil }

func config(vus int) Config {
	return Config{Scenarios: []engine.Scenario{{Name: "s", Load: script.Load{Executor: script.ConstantVUs, VUs: vus, Duration: 10 * time.Second}, Script: named{"a", "b"}}}}
}

// report hands over a period of a second with n requests of a latency.
func report(c *Collector, from time.Duration, n int, latency time.Duration, change func(*result.Period)) {
	p := c.Sink(nil)
	p.Start, p.End = from, from+time.Second
	for range n {
		p.Series[0].Response.Add(latency)
		p.Users[0].Length.Add(latency)
	}
	s := p.Series[0]
	s.Due, s.Sent, s.Done = int64(n), int64(n), int64(n)
	p.Users[0].Iterations, p.Users[0].Active, p.Users[0].Most = int64(n), 3, 4
	p.Conns, p.InFlight = 2, 1
	if change != nil {
		change(p)
	}
	c.Sink(p)
}

func TestPeriodsMerge(t *testing.T) {
	c := Start(config(6))
	for second := range 3 {
		for range 2 { // threads
			report(c, time.Duration(second)*time.Second, 100, time.Duration(second+1)*time.Millisecond, nil)
		}
	}
	r := c.Finish()
	if total := r.Total(); total.Done != 600 || total.Response.Count() != 600 || total.Response.Max() != 3*time.Millisecond {
		t.Errorf("%d done, %d latencies", total.Done, total.Response.Count())
	}
	if len(r.Seconds) != 3 || r.Elapsed() != 3*time.Second {
		t.Fatalf("%d seconds, %v", len(r.Seconds), r.Elapsed())
	}
	for i, s := range r.Seconds {
		want := time.Duration(i+1) * time.Millisecond
		if s.T != time.Duration(i)*time.Second || s.Done != 200 || s.Users != 6 || s.Conns != 4 || s.InFlight != 2 || (s.P50-want).Abs() > want/100 || s.Heat[result.HeatRow(want)] != 200 {
			t.Errorf("%+v", s)
		}
	}
	if u := r.Scenarios[0].Users; u.Iterations != 600 || u.Active != 6 || u.Most != 8 {
		t.Errorf("%+v", u)
	}
}

func TestWarmUpIsDiscarded(t *testing.T) {
	conf := config(1)
	conf.WarmUp = 2 * time.Second
	c := Start(conf)
	report(c, 0, 10, time.Second, nil)
	report(c, 1010*time.Millisecond, 10, time.Second, nil)
	report(c, 1990*time.Millisecond, 7, time.Millisecond, nil) // a period that began a little early
	waitFor(t, func() bool { return c.Snapshot().Total().Done == 7 })
	if s := c.Snapshot().Seconds; len(s) != 3 || s[0].T != -2*time.Second || s[2].T != 0 {
		t.Errorf("views see %+v", s)
	}
	if r := c.Finish(); r.Total().Response.Max() != time.Millisecond || len(r.Seconds) != 1 || r.Seconds[0].T != 0 || !r.Started.Equal(c.start.Add(1990*time.Millisecond)) {
		t.Errorf("%+v", r.Seconds)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it does not happen")
}

// TestSnapshotIsACopy checks that a view can read a snapshot while the run goes on.
func TestSnapshotIsACopy(t *testing.T) {
	c := Start(config(1))
	defer c.Finish()
	report(c, 0, 5, time.Millisecond, nil)
	waitFor(t, func() bool { return c.Snapshot().Total().Done == 5 })
	first := c.Snapshot()
	report(c, time.Second, 5, time.Millisecond, nil)
	waitFor(t, func() bool { return c.Snapshot().Total().Done == 10 })
	if first.Total().Done != 5 || first.Total().Response.Count() != 5 || first.Scenarios[0].Users.Length.Count() != 5 {
		t.Error("the first snapshot has changed")
	}
}

func TestAbort(t *testing.T) {
	th, err := threshold.ParseLine("latency:max<1")
	if err != nil {
		t.Fatal(err)
	}
	th.Abort = true
	conf, aborted := config(1), make(chan error, 1)
	conf.Thresholds, conf.Abort = []*threshold.Threshold{th}, func(err error) { aborted <- err }
	c := Start(conf)
	report(c, 0, 5, time.Second, nil)
	select {
	case err := <-aborted:
		var te *ThresholdError
		if !errors.As(err, &te) || te.Metric != "latency" {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the run is not aborted")
	}
	if r := c.Finish(); len(r.Thresholds) != 1 || r.Thresholds[0].OK || !r.Thresholds[0].Abort {
		t.Errorf("%+v", r.Thresholds)
	}
}

// TestDoubts checks the reasons to doubt a result.
func TestDoubts(t *testing.T) {
	for want, change := range map[string]func(*result.Period){
		"which is more than a tenth": func(p *result.Period) { p.Lag.Add(time.Millisecond) },
		"unaccounted for":            func(p *result.Period) { p.Series[1].Sent += 3 },
		"on this machine":            func(p *result.Period) { p.Series[0].Sent++; p.Series[0].Fail("local", time.Now(), "no ports") },
		"Little's law":               func(p *result.Period) { p.Users[0].Length.Reset(); p.Users[0].Length.Add(time.Millisecond) },
		"all connections were busy":  func(p *result.Period) { p.Users[0].Dropped++ },
		"":                           func(p *result.Period) { p.Lag.Add(time.Microsecond) },
	} {
		c := Start(config(1))
		for second := range 3 {
			report(c, time.Duration(second)*time.Second, 250, 4*time.Millisecond, change)
		}
		r := c.Finish()
		if want == "" && len(r.Warnings) > 0 || want != "" && !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
			t.Errorf("%q: %q", want, r.Warnings)
		}
		if r.Generator.Saturated != strings.Contains(want, "tenth") {
			t.Errorf("%q: saturated is %v", want, r.Generator.Saturated)
		}
	}
}

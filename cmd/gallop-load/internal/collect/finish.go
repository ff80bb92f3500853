package collect

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// Finish ends the collection and returns the result. The engine has returned.
func (c *Collector) Finish() *result.Result {
	c.stop()
	c.others.Wait()
	close(c.queue)
	<-c.merged
	c.take(c.samples.last + 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.view()
	r.Seconds = c.timeline.seconds(0, &c.samples)
	r.Thresholds = c.evaluate(r)
	c.saturation(r)
	c.littlesLaw(r)
	c.doubts(r)
	if c.config.Warnings != nil {
		r.Warnings = append(r.Warnings, c.config.Warnings()...)
	}
	return r
}

// Limits of the verdict about the generator.
const (
	maxLagShare = 0.10 // of the p99 of latency
	maxCPUShare = 0.95 // of the processors that the engine can use
)

func warn(r *result.Result, format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// saturation decides whether the latencies contain delays of the generator itself.
func (c *Collector) saturation(r *result.Result) {
	total := r.Total()
	lag, latency := r.Generator.Lag.Quantile(.99), total.Response.Quantile(.99)
	if r.Generator.Lag.Count() > 0 && latency > 0 && float64(lag) > maxLagShare*float64(latency) {
		r.Generator.Saturated = true
		warn(r, "the generator was late by %v at p99, which is more than a tenth of the p99 latency of %v: latencies include its own delays", short(lag), short(latency))
	}
	seconds := (c.samples.lastTaken - c.samples.first).Seconds()
	if share := r.Generator.CPU.Seconds() / (seconds * c.config.Cores); c.samples.hasFirst && seconds > 0.5 && share > maxCPUShare {
		r.Generator.Saturated = true
		warn(r, "the generator used %.0f %% of its %g processors: it cannot send more, and latencies include its own delays", 100*share, c.config.Cores)
	}
}

// short returns a duration with three digits or so.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// Limits of the check of Little's law: the run must be long enough that its ends do not matter.
const (
	littleError      = 0.05
	littleIterations = 20 // of each user
	littleTime       = 2 * time.Second
)

// littlesLaw compares the number of users with what iterations say (N = X·R). If they differ, a part of the time was measured in
// neither.
func (c *Collector) littlesLaw(r *result.Result) {
	if c.config.Streams {
		return
	}
	for i := range r.Scenarios {
		s, load := &r.Scenarios[i], &c.config.Scenarios[i].Load
		if load.Executor != script.ConstantVUs || load.StartTime > 0 || r.Elapsed() < littleTime || s.Users.Iterations < int64(littleIterations*load.VUs) || load.Duration < r.Elapsed()-time.Second {
			continue
		}
		busy := s.Users.Length.Sum() / float64(r.Elapsed())
		if diff := busy/float64(load.VUs) - 1; diff < -littleError || diff > littleError {
			warn(r, "scenario %s: its %d users were busy as if there were %.1f: the iterations do not account for the time (Little's law)", s.Name, load.VUs, busy)
		}
	}
}

// doubts adds further reasons to doubt the figures.
func (c *Collector) doubts(r *result.Result) {
	total := r.Total()
	for _, e := range total.Errors {
		if e.Kind == "local" {
			warn(r, "%d requests failed on this machine, not on the server: %s", e.Count, e.Example)
		}
	}
	// Of requests that were in flight at the end of the warm-up, only the outcome counts.
	if n := total.Sent - total.Ended(); n > 0 || n < -c.timeline.inFlightBefore() {
		warn(r, "%d requests of %d are unaccounted for", n, total.Sent)
	}
	for i := range r.Scenarios {
		switch s, most := &r.Scenarios[i], c.config.Scenarios[i].Load.MaxVUs; {
		case s.Users.Dropped > 0 && most == 0:
			warn(r, "scenario %s: %d iterations were dropped because all connections were busy when the run ended", s.Name, s.Users.Dropped)
		case s.Users.Dropped > 0:
			warn(r, "scenario %s: %d iterations were dropped because all %d users that it may have were busy", s.Name, s.Users.Dropped, most)
		}
	}
	if r.ByHand {
		warn(r, "the run was paused or its rate was changed by hand")
	}
	if total.Sent == 0 {
		warn(r, "no request was sent")
	}
	if load, cpus := r.Host.LoadBefore, r.Host.CPUs; cpus > 0 && load > float64(cpus) {
		warn(r, "the machine was busy before the run: its load was %.1f with %d processors", load, cpus)
	}
}

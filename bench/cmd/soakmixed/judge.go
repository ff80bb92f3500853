//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// verdict is the result of a run.
type verdict struct {
	options
	rate    float64
	busy    float64 // share of the time in which the server was busy
	samples []sample
	left    int // descriptors that the server still has
	results []*outcome
	rude    *rudeResult

	requests int64
	refusals int // that the server has logged
	growth   memory
	missed   []string
}

// Goals.
const (
	shortRun    = 5 * time.Minute
	mostGrowth  = .05 // of memory, from the first third of a run to the last
	mostAtFirst = .20 // the same in shorter runs, in which buffers and tables still grow to their size
	mostUnsent  = .01 // requests that were due when the run ended, as a share of all
	shareSlack  = .15 // how far the load may be from what was asked for
)

// memory is how the resident memory changes.
type memory struct {
	early, late float64 // medians of the first and of the last third, in bytes
	slope       float64 // bytes per minute
}

// settled leaves out the first tenth of the samples: the server allocates its buffers then.
func settled(samples []sample) []sample { return samples[len(samples)/10:] }

// growthOf computes how memory changes.
func growthOf(samples []sample) (m memory) {
	var minutes, bytes []float64
	for _, s := range settled(samples) {
		minutes, bytes = append(minutes, s.at.Minutes()), append(bytes, float64(s.resident))
	}
	if third := len(bytes) / 3; third > 0 {
		m = memory{measure.Median(bytes[:third]), measure.Median(bytes[len(bytes)-third:]), measure.Slope(minutes, bytes)}
	}
	return m
}

func (v *verdict) require(ok bool, format string, args ...any) {
	if !ok {
		v.missed = append(v.missed, fmt.Sprintf(format, args...))
	}
}

// judge compares the result with the goals, and prints what each client has seen.
func (v *verdict) judge(w io.Writer) {
	fmt.Fprintf(w, "\n%-16s %10s %6s %6s %6s %6s %12s %10s  %s\n", "load", "done", "wrong", "failed", "lost", "unsent", "connections", "most p99", "of")
	for _, o := range v.results {
		v.judgeLoad(w, o)
	}
	v.judgeRude(w)
	v.growth = growthOf(v.samples)
	v.require(v.requests > 0, "no request has a response")
	v.require(v.busy > v.share-shareSlack && v.busy < v.share+shareSlack, "the server was busy for %.0f %% of the time", 100*v.busy)
	limit := mostGrowth
	if v.length < shortRun {
		limit = mostAtFirst
	}
	v.require(v.growth.early > 0 && v.growth.late < (1+limit)*v.growth.early, "memory grew from %.1f to %.1f MiB", v.growth.early/(1<<20), v.growth.late/(1<<20))
	v.require(v.left == 0, "%d descriptors are still open", v.left)
}

// judgeLoad judges the requests of one load.
func (v *verdict) judgeLoad(w io.Writer, o *outcome) {
	var done, wrong, failed, lost, unsent int64
	slowest := 0
	for i := range o.Series {
		s := &o.Series[i]
		differ, missing := s.Unexpected, s.Sent-s.Done-s.Failed
		for _, c := range s.Checks {
			differ = max(differ, c.Fail)
			v.require(c.Fail == 0, "%s, %s: %d responses differ: %.100q", o.name, s.Name, c.Fail, c.Example)
		}
		v.require(s.Done > 0, "%s, %s: no response", o.name, s.Name)
		v.require(s.Unexpected == 0, "%s, %s: %d responses with another status", o.name, s.Name, s.Unexpected)
		v.require(missing == 0, "%s, %s: %d requests lost", o.name, s.Name, missing)
		for _, e := range s.Errors {
			v.require(false, "%s, %s: %d× %s: %s", o.name, s.Name, e.Count, e.Kind, e.Example)
		}
		done, wrong, failed, lost, unsent = done+s.Done, wrong+differ, failed+s.Failed, lost+missing, unsent+s.Dropped
		if s.Response.P99 > o.Series[slowest].Response.P99 {
			slowest = i
		}
	}
	v.requests += done
	v.require(float64(unsent) <= mostUnsent*float64(done), "%s: %d requests were not sent, because responses to earlier ones were late", o.name, unsent)
	fmt.Fprintf(w, "%-16s %10d %6d %6d %6d %6d %12d %10v  %s\n", o.name, done, wrong, failed, lost, unsent, o.Connections.Opened,
		short(o.Series[slowest].Response.P99), o.Series[slowest].Name)
}

// judgeRude judges how the server has treated slow and malformed clients.
func (v *verdict) judgeRude(w io.Writer) {
	r := v.rude
	fmt.Fprintf(w, "\nmalformed: %d refused; incomplete: %d reset by the client; the server logged %d of all refusals\n", r.refused.Load(), r.cut.Load(), v.refusals)
	for i, k := range slowKinds {
		fmt.Fprintf(w, "slow %s: %d ended, at most after %v\n", k.name, r.slow[i].ended, r.slow[i].longest.Round(time.Second/10))
	}
	v.require(r.refused.Load() > 0 && r.cut.Load() > 0, "no malformed or no incomplete request was sent")
	for _, kind := range slices.Sorted(maps.Keys(r.wrong)) {
		v.require(false, "%d× %s", r.wrong[kind], kind)
	}
}

// short rounds a latency to a readable precision.
func short(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// line returns the verdict in one line.
func (v *verdict) line() string {
	figures := fmt.Sprintf("soak-mixed seed=%d %v, %d requests at %.0f/s, server busy %.0f %%, memory %.1f MiB, later %.1f MiB, slope %+.1f KiB/min",
		v.seed, v.length, v.requests, v.rate, 100*v.busy, v.growth.early/(1<<20), v.growth.late/(1<<20), v.growth.slope/(1<<10))
	if len(v.missed) == 0 {
		return "PASS " + figures
	}
	return "FAIL " + figures + ": " + strings.Join(v.missed, "; ")
}

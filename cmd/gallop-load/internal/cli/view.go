package cli

import (
	"slices"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/collect"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/live"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// liveRun is a run as views show it.
type liveRun struct {
	plan      *plan.Plan
	collector *collect.Collector
	control   *engine.Control
	start     time.Time
}

// Snapshot implements live.Source.
func (l *liveRun) Snapshot() live.Snapshot { return l.at(time.Since(l.start)) }

// at returns the state at a moment, counted from the start of the run.
func (l *liveRun) at(elapsed time.Duration) live.Snapshot {
	r := l.collector.Snapshot()
	warmUp := l.plan.WarmUp
	s := live.Snapshot{Target: r.Target.URL, WarmUp: elapsed < warmUp, Elapsed: elapsed, Length: warmUp, Server: r.Server != nil, Status: map[int]int64{}}
	if !s.WarmUp {
		s.Elapsed, s.Length = elapsed-warmUp, max(l.plan.Length()-warmUp, 0)
	}
	s.Recent = complete(r.Seconds, elapsed-warmUp)
	if len(s.Recent) > 0 {
		s.Last = s.Recent[len(s.Recent)-1]
	}
	total := r.Total()
	s.Unexpected, s.Failed, s.Errors = total.Unexpected, total.Failed, total.Errors
	for code, n := range total.Status {
		s.Status[code] = n
	}
	for i := range l.plan.Scenarios {
		s.Scenarios = append(s.Scenarios, l.scenario(&l.plan.Scenarios[i], &r.Scenarios[i], elapsed))
		s.Dropped += r.Scenarios[i].Users.Dropped
	}
	for i, t := range r.Thresholds {
		s.Thresholds = append(s.Thresholds, live.Threshold{Threshold: t, Margin: l.plan.Thresholds[i].Margin(t.Value)})
	}
	if r.Server != nil {
		s.ServerRSS = r.Server.MaxRSS
	}
	s.Behind = s.Last.Lag > 100*time.Millisecond
	return s
}

// settling is how long after its end a second may still change, because threads report at different times.
const settling = 500 * time.Millisecond

// complete returns the last five minutes of those seconds that do not change any more. now counts from the end of the warm-up.
func complete(seconds []result.Second, now time.Duration) []result.Second {
	seconds = slices.DeleteFunc(slices.Clone(seconds), func(s result.Second) bool { return s.T+s.Length+settling > now })
	return seconds[max(len(seconds)-300, 0):]
}

// scenario returns the state of one scenario.
func (l *liveRun) scenario(s *engine.Scenario, r *result.Scenario, elapsed time.Duration) live.Scenario {
	load := &s.Load
	length, since := load.Length(), elapsed-load.StartTime
	out := live.Scenario{Name: s.Name, Open: load.Executor.Open(), Users: r.Users.Active, MaxUsers: int64(load.MaxVUs), State: live.Running, Left: max(length-since, 0)}
	switch {
	case since < 0:
		out.State = live.Waiting
		return out
	case since >= length:
		out.State, out.Progress = live.Ended, 1
		return out
	}
	out.Progress = float64(since) / float64(length)
	out.Now = float64(load.VUs)
	switch load.Executor {
	case script.ConstantArrivalRate:
		out.Now = load.Rate * l.control.Factor()
	case script.RampingVUs, script.RampingArrivalRate:
		l.stage(load, since, &out)
	case script.SharedIterations:
		out.Progress = float64(r.Users.Iterations) / float64(max(load.Iterations, 1))
	case script.PerVUIterations:
		out.Progress = float64(r.Users.Iterations) / float64(max(load.Iterations*int64(load.VUs), 1))
	}
	return out
}

// stage adds the current stage of a ramp.
func (l *liveRun) stage(load *script.Load, since time.Duration, out *live.Scenario) {
	from, factor := float64(load.VUs), 1.0
	if out.Open {
		from, factor = load.Rate, l.control.Factor()
	}
	out.Stages = len(load.Stages)
	for i, s := range load.Stages {
		if since < s.Duration {
			out.Stage, out.Next, out.Left = i+1, s.Target*factor, s.Duration-since
			out.Now = (from + (s.Target-from)*float64(since)/float64(s.Duration)) * factor
			return
		}
		since -= s.Duration
		from = s.Target
	}
}

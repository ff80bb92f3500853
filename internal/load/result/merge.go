package result

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Merge adds the result of another process that put the same target under the same load. Counts and histograms merge exactly. Of
// the seconds of the time line, whose histograms are not in a file, quantiles become the largest of all parts, which the merged
// quantile does not exceed. Thresholds are not evaluated again.
func (r *Result) Merge(from *Result) error {
	if r.Target.URL != from.Target.URL {
		return fmt.Errorf("the results have different targets, %s and %s", r.Target.URL, from.Target.URL)
	}
	if r.Plan.WarmUp != from.Plan.WarmUp {
		return fmt.Errorf("the results have different warm-ups, %v and %v", r.Plan.WarmUp, from.Plan.WarmUp)
	}
	for i := range from.Scenarios {
		if err := r.mergeScenario(&from.Scenarios[i]); err != nil {
			return err
		}
	}
	for _, s := range from.Series {
		r.mergeSeries(s)
	}
	if from.Started.Before(r.Started) {
		r.Started = from.Started
	}
	if from.Ended.After(r.Ended) {
		r.Ended = from.Ended
	}
	r.ByHand = r.ByHand || from.ByHand
	r.Plan.Parts += max(from.Plan.Parts, 1)
	r.Plan.Connections += from.Plan.Connections
	r.Connections.Opened += from.Connections.Opened
	r.Connections.Resumed += from.Connections.Resumed
	r.Connections.ClosedByPeer += from.Connections.ClosedByPeer
	for i := range from.Seconds {
		r.mergeSecond(&from.Seconds[i])
	}
	r.mergeUsage(from)
	for _, w := range from.Warnings {
		if !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
	return nil
}

func (r *Result) mergeScenario(s *Scenario) error {
	i := slices.IndexFunc(r.Scenarios, func(own Scenario) bool { return own.Name == s.Name })
	if i < 0 {
		added := *s
		added.Users = Users{}
		added.Users.Length.Coarse()
		added.Users.Merge(&s.Users)
		r.Scenarios = append(r.Scenarios, added)
		return nil
	}
	own := &r.Scenarios[i]
	if own.Executor != s.Executor {
		return fmt.Errorf("the scenario %s is %s in one result and %s in another", s.Name, own.Executor, s.Executor)
	}
	own.VUs += s.VUs
	own.Rate += s.Rate
	own.Duration = max(own.Duration, s.Duration)
	own.Users.Merge(&s.Users)
	return nil
}

func (r *Result) mergeSeries(s *Series) {
	i := slices.IndexFunc(r.Series, func(own *Series) bool { return own.Scenario == s.Scenario && own.Name == s.Name })
	if i < 0 {
		added := NewSeries(s.Scenario, s.Name)
		added.Method, added.Proto, added.Tags = s.Method, s.Proto, s.Tags
		r.Series = append(r.Series, added)
		i = len(r.Series) - 1
	}
	r.Series[i].Merge(s)
}

// mergeSecond adds a row of the time line to the row with the same T.
func (r *Result) mergeSecond(s *Second) {
	i, found := slices.BinarySearchFunc(r.Seconds, s.T, func(own Second, t time.Duration) int { return cmp.Compare(own.T, t) })
	if !found {
		added := *s
		added.Heat = slices.Clone(s.Heat)
		r.Seconds = slices.Insert(r.Seconds, i, added)
		return
	}
	own := &r.Seconds[i]
	own.Length = max(own.Length, s.Length)
	own.Due += s.Due
	own.Sent += s.Sent
	own.Done += s.Done
	own.Failed += s.Failed
	own.P50, own.P90, own.P99, own.Max = max(own.P50, s.P50), max(own.P90, s.P90), max(own.P99, s.P99), max(own.Max, s.Max)
	own.Users += s.Users
	own.Conns += s.Conns
	own.InFlight += s.InFlight
	own.Opened += s.Opened
	own.Closed += s.Closed
	own.Lag = max(own.Lag, s.Lag)
	own.CPU += s.CPU
	own.Server = max(own.Server, s.Server)
	if own.Heat == nil {
		own.Heat = make([]int64, len(s.Heat))
	}
	for row := range min(len(own.Heat), len(s.Heat)) {
		own.Heat[row] += s.Heat[row]
	}
}

// mergeUsage adds what the generators consumed. If the parts watched the same server, what it consumed counts once.
func (r *Result) mergeUsage(from *Result) {
	g := &r.Generator
	g.CPU += from.Generator.CPU
	g.GCPause += from.Generator.GCPause
	g.MaxRSS += from.Generator.MaxRSS
	g.Saturated = g.Saturated || from.Generator.Saturated
	g.Lag.Merge(&from.Generator.Lag)
	sent := r.Total().Sent
	if sent > 0 {
		g.PerCall = g.CPU / time.Duration(sent)
	}
	switch s := from.Server; {
	case s == nil:
	case r.Server == nil:
		own := *s
		r.Server = &own
	case r.Server.PID == s.PID:
		r.Server.CPU, r.Server.MaxRSS = max(r.Server.CPU, s.CPU), max(r.Server.MaxRSS, s.MaxRSS)
	default:
		r.Server.CPU += s.CPU
		r.Server.MaxRSS += s.MaxRSS
	}
	if r.Server != nil && sent > 0 {
		r.Server.PerCall = r.Server.CPU / time.Duration(sent)
	}
}

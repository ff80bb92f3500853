package collect

import (
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Snapshot returns the result so far, with all seconds of the time line: those of the warm-up have a negative T. The result is a
// copy. It is made anew only if something has changed, so views may ask for it as often as they draw. The copy must not be
// changed.
func (c *Collector) Snapshot() *result.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.lastAt != c.version {
		r := c.view()
		c.last, c.lastAt = copied(r), c.version
		c.last.Seconds = c.timeline.seconds(-1<<31, &c.samples)
		c.last.Thresholds = c.evaluate(c.last)
	}
	return c.last
}

// copied returns a result with histograms of its own.
func copied(r *result.Result) *result.Result {
	own := *r
	own.Series = make([]*result.Series, len(r.Series))
	for i, s := range r.Series {
		one := result.NewSeries(s.Scenario, s.Name)
		one.Method, one.Proto, one.Tags = s.Method, s.Proto, s.Tags
		one.Merge(s)
		own.Series[i] = one
	}
	for i := range own.Scenarios {
		length := &own.Scenarios[i].Users.Length
		own.Scenarios[i].Users.Length = copiedHistogram(length)
	}
	own.Generator.Lag = copiedHistogram(&r.Generator.Lag)
	return &own
}

func copiedHistogram(h *result.Histogram) (own result.Histogram) {
	own.Coarse()
	own.Merge(h)
	return own
}

// view returns the result so far. Its histograms are those of the collector, so it is valid only while c.mu is held.
func (c *Collector) view() *result.Result {
	r := c.config.Base
	t := &c.total
	from := max(t.from, 0)
	if t.from < 0 {
		from = c.config.WarmUp
	}
	r.Schema = result.Schema
	r.Started, r.Ended = c.start.Add(from), c.start.Add(max(t.to, from))
	r.Plan.WarmUp = c.config.WarmUp
	r.Plan.Parts = max(r.Plan.Parts, 1)
	r.ByHand = c.config.Control.Used()
	r.Series, r.Connections = t.series, t.connections
	for i := range c.config.Scenarios {
		r.Scenarios = append(r.Scenarios, c.scenario(i))
	}
	c.addChecks(t.series)
	c.addUsage(&r)
	return &r
}

// scenario returns the outcome of a scenario so far.
func (c *Collector) scenario(i int) result.Scenario {
	s := &c.config.Scenarios[i]
	l := &s.Load
	out := result.Scenario{Name: s.Name, Executor: l.Executor.String(), Open: l.Executor.Open(), VUs: l.VUs, Start: l.StartTime, Duration: l.Length(), Users: c.total.users[i]}
	if l.Executor.Open() {
		out.Rate = l.AverageRate()
	}
	out.Users.Active, out.Users.Most = c.timeline.users(i)
	return out
}

// addChecks sets the checks of the series: those counted so far without those of the warm-up.
func (c *Collector) addChecks(series []*result.Series) {
	if c.config.Checks == nil {
		return
	}
	j := 0
	for i, scenario := range c.config.Checks() {
		for k, checks := range scenario {
			for n := range checks {
				if c.warmed != nil {
					before := c.warmed[i][k][n]
					checks[n].Pass -= before.Pass
					checks[n].Fail -= before.Fail
					if checks[n].Fail == 0 {
						checks[n].Example = ""
					}
				}
			}
			series[j].Checks = slices.DeleteFunc(checks, func(one result.Check) bool { return one.Pass+one.Fail == 0 })
			j++
		}
	}
}

// addUsage sets what the generator and the server have consumed.
func (c *Collector) addUsage(r *result.Result) {
	s := &c.samples
	cpu, server := s.between(0, s.last)
	var calls int64
	for _, one := range c.total.series {
		calls += one.Sent
	}
	r.Generator = result.Generator{CPU: cpu, Lag: c.total.lag, GCPause: s.gcPause - s.gcBefore, MaxRSS: maxMemory()}
	if calls > 0 {
		r.Generator.PerCall = cpu / time.Duration(calls)
	}
	if len(c.config.Server) > 0 {
		r.Server = &result.Server{PID: c.config.Server[0], CPU: server, MaxRSS: s.rss}
		if calls > 0 {
			r.Server.PerCall = server / time.Duration(calls)
		}
	}
}

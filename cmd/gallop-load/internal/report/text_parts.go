package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// latencies writes the percentiles of responses, of service times beside them in open loops, and of each request if there
// are several.
func (p *printer) latencies(t *totals) {
	head := []string{"LATENCY", "min", "p50", "p90"}
	for _, tail := range tails {
		if t.all.Response.Resolves(tail.q) {
			head = append(head, tail.name)
		}
	}
	rows := [][]string{append(head, "max")}
	add := func(name string, h *result.Histogram) {
		if h.Count() > 0 {
			rows = append(rows, latencyRow(name, h, &t.all.Response))
		}
	}
	add("response", &t.all.Response)
	if t.open {
		add("service, from send", &t.all.Service)
	}
	add("unexpected status", &t.all.UnexpectedResponse)
	if len(t.Series) > 1 {
		for _, s := range t.Series {
			add(figure.Line(t.name(s), 40), &s.Response)
			if t.open {
				add("  service", &s.Service)
			}
		}
	}
	p.f("\n")
	p.table(rows)
}

// latencyRow formats the quantiles of h. Columns are those that the histogram of all responses resolves; a quantile that h
// does not resolve is a dash.
func latencyRow(name string, h, all *result.Histogram) []string {
	row := []string{name, figure.Duration(h.Min()), figure.Duration(h.Quantile(0.5)), figure.Duration(h.Quantile(0.9))}
	for _, tail := range tails {
		switch {
		case h.Resolves(tail.q) && all.Resolves(tail.q):
			row = append(row, figure.Duration(h.Quantile(tail.q)))
		case all.Resolves(tail.q):
			row = append(row, "-")
		}
	}
	return append(row, figure.Duration(h.Max()))
}

// requests writes the counts of each request. Columns of open loops and of rare outcomes appear if they are needed.
func (p *printer) requests(t *totals) {
	columns := []struct {
		name   string
		always bool
		value  func(*result.Series) int64
	}{
		{"due", t.open, func(s *result.Series) int64 { return s.Due }},
		{"sent", true, func(s *result.Series) int64 { return s.Sent }},
		{"done", true, func(s *result.Series) int64 { return s.Done }},
		{"unexpected", true, func(s *result.Series) int64 { return s.Unexpected }},
		{"failed", true, func(s *result.Series) int64 { return s.Failed }},
		{"dropped", false, func(s *result.Series) int64 { return s.Dropped }},
		{"aborted", false, func(s *result.Series) int64 { return s.Aborted }},
		{"raced", false, func(s *result.Series) int64 { return s.Raced }},
	}
	rows := make([][]string, 1, len(t.Series)+2)
	rows[0] = []string{"REQUESTS"}
	all := t.Series
	if len(all) > 1 {
		all = append(slices.Clone(all), t.all)
	}
	for _, s := range all {
		name := figure.Line(t.name(s), 40)
		if s == t.all {
			name = "total"
		}
		rows = append(rows, []string{name})
	}
	for _, c := range columns {
		if !c.always && c.value(t.all) == 0 {
			continue
		}
		rows[0] = append(rows[0], c.name)
		for i, s := range all {
			rows[i+1] = append(rows[i+1], figure.Count(c.value(s)))
		}
	}
	rows[0] = append(rows[0], "done/s")
	for i, s := range all {
		rows[i+1] = append(rows[i+1], figure.ShortRate(t.rate(s.Done)))
	}
	p.f("\n")
	p.table(rows)
	if t.open {
		p.f("     rate asked: %s, reached: %s\n", figure.ShortRate(t.asked()), figure.ShortRate(t.rate(t.all.Done)))
	}
}

// statuses writes how often each request got each status.
func (p *printer) statuses(t *totals) {
	codes := slices.Sorted(maps.Keys(t.all.Status))
	if len(codes) == 0 {
		return
	}
	rows := [][]string{{"STATUS"}}
	for _, code := range codes {
		rows[0] = append(rows[0], strconv.Itoa(code))
	}
	for _, s := range t.Series {
		row := []string{figure.Line(t.name(s), 40)}
		for _, code := range codes {
			row = append(row, figure.Count(s.Status[code]))
		}
		rows = append(rows, row)
	}
	p.f("\n")
	p.table(rows)
}

func (p *printer) errors(t *totals) {
	all := t.failures()
	if len(all) == 0 {
		return
	}
	p.title("ERRORS")
	for _, e := range all {
		p.f("     %s %s × %s, first after %s\n", p.style.Red(figure.Line(e.Kind, 20)), figure.Count(e.Count),
			figure.Line(e.Request, 40), figure.Duration(e.After))
		p.f("       %s\n", figure.Line(e.Example, 200))
	}
}

func (p *printer) checks(t *totals) {
	if len(t.all.Checks) == 0 {
		return
	}
	p.title("CHECKS")
	for _, s := range t.Series {
		for _, c := range s.Checks {
			p.f("     %s %s: %s\n", p.style.Mark(c.Fail == 0), figure.Line(t.name(s), 40), figure.Line(c.Name, 120))
			if c.Fail == 0 {
				continue
			}
			p.f("       ↳  %s — ✓ %d / ✗ %d\n", figure.Percent(c.Pass, c.Pass+c.Fail), c.Pass, c.Fail)
			p.f("       first failure: %s\n", figure.Line(c.Example, 300))
		}
	}
}

func (p *printer) thresholds(t *totals) {
	if len(t.Thresholds) == 0 {
		return
	}
	p.title("THRESHOLDS")
	for _, h := range t.Thresholds {
		note := ""
		if h.Abort {
			note = ", aborted the run"
		}
		p.f("     %s %s %s: %s%s\n", p.style.Mark(h.OK), figure.Line(h.Metric, 80), figure.Line(h.Expr, 60), figure.Metric(h.Metric, h.Expr, h.Value), note)
	}
}

// machines writes connections and what generator and server have consumed.
func (p *printer) machines(t *totals) {
	c := t.Connections
	p.title("CONNECTIONS AND CPU")
	p.f("     connections  %s opened, %s TLS sessions resumed, %s closed by the server while idle\n",
		figure.Count(c.Opened), figure.Count(c.Resumed), figure.Count(c.ClosedByPeer))
	g := &t.Generator
	lag := "no lag measured"
	if g.Lag.Count() > 0 {
		lag = fmt.Sprintf("lag p99 %s max %s", figure.Duration(g.Lag.Quantile(0.99)), figure.Duration(g.Lag.Max()))
	}
	p.f("     generator    %s CPU per request (%s of a core), %s: %s\n", figure.Duration(g.PerCall), t.share(g.CPU), lag, p.kept(g))
	if s := t.Server; s != nil {
		p.f("     server       %s CPU per request (%s of a core), %s memory, beside a latency of p50 %s p99 %s\n",
			figure.Duration(s.PerCall), t.share(s.CPU), figure.Bytes(float64(s.MaxRSS)),
			figure.Duration(t.all.Response.Quantile(0.5)), figure.Duration(t.all.Response.Quantile(0.99)))
	}
}

func (p *printer) kept(g *result.Generator) string {
	if g.Saturated {
		return p.style.Red("saturated")
	}
	return p.style.Green("kept up")
}

// verdict writes the judgement, with a line for each warning.
func (p *printer) verdict(t *totals) {
	v := Judge(t.Result)
	color := map[State]func(string) string{Passed: p.style.Green, Doubtful: p.style.Yellow, Failed: p.style.Red}[v.State]
	p.f("\n     verdict: %s\n", color(string(v.State)))
	for _, reason := range v.Reasons {
		p.f("       ! %s\n", figure.Line(reason, 300))
	}
}

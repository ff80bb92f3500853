package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// table is a table of the page. Its cells are text; the template escapes them.
type table struct {
	ID, Title string
	Head      []string
	Rows      [][]htmlCell
}

// Columns returns the headings with the alignment of their columns.
func (t table) Columns() []htmlCell {
	columns := make([]htmlCell, len(t.Head))
	for i, name := range t.Head {
		columns[i] = htmlCell{Text: name, Number: t.Rows[0][i].Number}
	}
	return columns
}

// htmlCell is a cell. Numbers have a value for sorting and stand on the right.
type htmlCell struct {
	Text   string
	Number bool
	Value  string
	Class  string
}

func words(s string, most int) htmlCell { return htmlCell{Text: figure.Line(s, most)} }

func number(text string, v float64) htmlCell {
	return htmlCell{Text: text, Number: true, Value: strconv.FormatFloat(v, 'g', -1, 64)}
}

func count(n int64) htmlCell { return number(figure.Count(n), float64(n)) }

func took(d time.Duration) htmlCell { return number(figure.Duration(d), float64(d)) }

// at is a quantile, or a dash if the histogram does not resolve it.
func at(h *result.Histogram, q float64) htmlCell {
	if !h.Resolves(q) {
		return number("–", -1)
	}
	return took(h.Quantile(q))
}

func passed(ok bool) htmlCell {
	if ok {
		return htmlCell{Text: "✓ passed", Class: "ok"}
	}
	return htmlCell{Text: "✗ failed", Class: "bad"}
}

// tables returns the tables that have rows.
func (t *totals) tables() []table {
	all := []table{t.thresholdTable(), t.errorTable(), t.checkTable(), t.requestTable(), t.latencyTable(), t.statusTable(),
		t.phaseTable(), t.scenarioTable(), t.machineTable(), t.environmentTable()}
	return slices.DeleteFunc(all, func(t table) bool { return len(t.Rows) == 0 })
}

func (t *totals) thresholdTable() table {
	tab := table{ID: "thresholds", Title: "Thresholds", Head: []string{"Metric", "Threshold", "Value", "Outcome"}}
	for _, h := range t.Thresholds {
		outcome := passed(h.OK)
		if h.Abort {
			outcome.Text += ", aborted the run"
		}
		tab.Rows = append(tab.Rows, []htmlCell{words(h.Metric, 120), words(h.Expr, 80), number(figure.Metric(h.Metric, h.Expr, h.Value), h.Value), outcome})
	}
	return tab
}

func (t *totals) errorTable() table {
	tab := table{ID: "errors", Title: "Errors", Head: []string{"Kind", "Request", "Count", "First after", "First example"}}
	for _, e := range t.failures() {
		tab.Rows = append(tab.Rows, []htmlCell{words(e.Kind, 30), words(e.Request, 60), count(e.Count), took(e.After), words(e.Example, 500)})
	}
	return tab
}

func (t *totals) checkTable() table {
	tab := table{ID: "checks", Title: "Checks", Head: []string{"Request", "Check", "Outcome", "Passed", "Failed", "First failing response"}}
	for _, s := range t.Series {
		for _, c := range s.Checks {
			tab.Rows = append(tab.Rows, []htmlCell{words(t.name(s), 60), words(c.Name, 120), passed(c.Fail == 0), count(c.Pass),
				count(c.Fail), words(c.Example, 500)})
		}
	}
	return tab
}

func (t *totals) requestTable() table {
	tab := table{ID: "requests", Title: "Requests", Head: []string{"Request", "Method", "Due", "Sent", "Done", "Unexpected", "Failed",
		"Dropped", "Aborted", "Raced", "Done/s", "Received", "Sent bytes"}}
	row := func(name string, s *result.Series) {
		rate := t.rate(s.Done)
		tab.Rows = append(tab.Rows, []htmlCell{words(name, 60), words(s.Method, 20), count(s.Due), count(s.Sent), count(s.Done),
			count(s.Unexpected), count(s.Failed), count(s.Dropped), count(s.Aborted), count(s.Raced),
			number(figure.ShortRate(rate), rate), number(figure.Bytes(float64(s.BytesIn)), float64(s.BytesIn)),
			number(figure.Bytes(float64(s.BytesOut)), float64(s.BytesOut))})
	}
	for _, s := range t.Series {
		row(t.name(s), s)
	}
	if len(t.Series) > 1 {
		row("all", t.all)
	}
	return tab
}

func (t *totals) latencyTable() table {
	tab := table{ID: "latencies", Title: "Latencies", Head: []string{"Request", "Counted from", "Count", "Mean", "Min", "p50", "p90", "p95",
		"p99", "p99.9", "p99.99", "Max"}}
	row := func(name, from string, h *result.Histogram) {
		if h.Count() > 0 {
			tab.Rows = append(tab.Rows, []htmlCell{words(name, 60), words(from, 40), count(h.Count()), took(h.Mean()), took(h.Min()), at(h, 0.5),
				at(h, 0.9), at(h, 0.95), at(h, 0.99), at(h, 0.999), at(h, 0.9999), took(h.Max())})
		}
	}
	open := map[string]bool{}
	for _, s := range t.Scenarios {
		open[s.Name] = s.Open
	}
	for _, s := range t.Series {
		from := "send"
		if open[s.Scenario] {
			from = "due time"
			row(t.name(s), "send (service time)", &s.Service)
		}
		row(t.name(s), from, &s.Response)
		row(t.name(s)+", unexpected status", from, &s.UnexpectedResponse)
	}
	if len(t.Series) > 1 {
		from := "send"
		if t.open {
			from = "due time"
		}
		row("all", from, &t.all.Response)
	}
	return tab
}

func (t *totals) statusTable() table {
	tab := table{ID: "statuses", Title: "Statuses", Head: []string{"Request"}}
	codes := slices.Sorted(maps.Keys(t.all.Status))
	for _, code := range codes {
		tab.Head = append(tab.Head, strconv.Itoa(code))
	}
	if len(codes) == 0 {
		return tab
	}
	for _, s := range t.Series {
		row := []htmlCell{words(t.name(s), 60)}
		for _, code := range codes {
			row = append(row, count(s.Status[code]))
		}
		tab.Rows = append(tab.Rows, row)
	}
	return tab
}

func (t *totals) phaseTable() table {
	tab := table{ID: "phases", Title: "Phases of requests", Head: []string{"Phase", "Count", "Mean", "p50", "p90", "p99", "Max"}}
	p := &t.all.Phases
	for _, phase := range []struct {
		name string
		h    *result.Histogram
	}{
		{"blocked: waiting for a free connection", &p.Blocked}, {"connecting", &p.Connect}, {"TLS handshake", &p.TLS},
		{"sending", &p.Sending}, {"waiting for the first byte", &p.Waiting}, {"receiving", &p.Receiving},
	} {
		h := phase.h
		if h.Count() > 0 {
			tab.Rows = append(tab.Rows, []htmlCell{words(phase.name, 60), count(h.Count()), took(h.Mean()), at(h, 0.5), at(h, 0.9), at(h, 0.99), took(h.Max())})
		}
	}
	return tab
}

func (t *totals) scenarioTable() table {
	tab := table{ID: "scenarios", Title: "Scenarios", Head: []string{"Scenario", "Executor", "Load", "Start", "Duration", "Iterations",
		"Interrupted", "Dropped", "Most users", "Iteration p50", "Iteration p99"}}
	for i := range t.Scenarios {
		s := &t.Scenarios[i]
		load := fmt.Sprintf("%d users", s.VUs)
		if s.Open {
			load = figure.ShortRate(s.Rate)
		}
		u := &s.Users
		tab.Rows = append(tab.Rows, []htmlCell{words(s.Name, 60), words(s.Executor, 40), words(load, 40), took(s.Start), took(s.Duration),
			count(u.Iterations), count(u.Interrupted), count(u.Dropped), count(u.Most), at(&u.Length, 0.5), at(&u.Length, 0.99)})
	}
	return tab
}

func (t *totals) machineTable() table {
	tab := table{ID: "machines", Title: "Connections, generator, server", Head: []string{"Figure", "Value"}}
	add := func(name, value string) { tab.Rows = append(tab.Rows, []htmlCell{words(name, 80), words(value, 200)}) }
	c, g := t.Connections, &t.Generator
	add("connections opened", figure.Count(c.Opened))
	add("TLS sessions resumed", figure.Count(c.Resumed))
	add("connections closed by the server while idle", figure.Count(c.ClosedByPeer))
	add("generator: CPU per request", figure.Duration(g.PerCall))
	add("generator: share of a core", t.share(g.CPU))
	if g.Lag.Count() > 0 {
		add("generator: lag, p99 and maximum", figure.Duration(g.Lag.Quantile(0.99))+", "+figure.Duration(g.Lag.Max()))
	}
	add("generator: pauses for garbage collection", figure.Duration(g.GCPause))
	add("generator: memory", figure.Bytes(float64(g.MaxRSS)))
	saturated := "no, it kept up"
	if g.Saturated {
		saturated = "yes: latencies include its own delays"
	}
	add("generator: saturated", saturated)
	if s := t.Server; s != nil {
		add("server: CPU per request", figure.Duration(s.PerCall))
		add("server: share of a core", t.share(s.CPU))
		add("server: memory", figure.Bytes(float64(s.MaxRSS)))
		add("server: process", strconv.Itoa(s.PID))
	}
	return tab
}

func (t *totals) environmentTable() table {
	tab := table{ID: "environment", Title: "Environment", Head: []string{"Name", "Value"}}
	add := func(name string, values ...string) {
		if value := strings.Join(slices.DeleteFunc(values, func(s string) bool { return s == "" }), " "); value != "" {
			tab.Rows = append(tab.Rows, []htmlCell{words(name, 80), words(value, 300)})
		}
	}
	add("program", t.Tool.Name, t.Tool.Version, t.Tool.Go)
	add("engine", t.Tool.Engine)
	add("target", t.Target.URL)
	add("protocol", t.Target.Proto, t.Target.TLS)
	add("peer", t.Target.Peer)
	add("generator's machine", t.Host.OS, t.Host.Kernel, t.Host.CPU)
	add("CPUs", strconv.Itoa(t.Host.CPUs))
	add("system load before", strconv.FormatFloat(t.Host.LoadBefore, 'f', 2, 64))
	add("warm-up", figure.Duration(t.Plan.WarmUp))
	for _, n := range []struct {
		name string
		n    int
	}{{"connections", t.Plan.Connections}, {"streams per connection", t.Plan.Streams}, {"pipelined requests", t.Plan.Pipeline}, {"processes", t.Plan.Parts}} {
		if n.n > 0 {
			add(n.name, strconv.Itoa(n.n))
		}
	}
	add("started", t.Started.UTC().Format(time.RFC3339))
	add("ended", t.Ended.UTC().Format(time.RFC3339))
	return tab
}

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// metric is a line of the summary in the form of k6.
type metric struct {
	name  string
	sub   bool // the name is a filter of the metric above
	trend *result.Histogram
	value string   // unless it is a trend
	extra []string // what follows the value
}

// metrics returns the lines of k6's summary in k6's order.
func (t *totals) metrics() []metric {
	var all []metric
	if pass, fail := t.checks(); pass+fail > 0 {
		all = append(all, share("checks", pass, fail))
	}
	all = append(all, t.amount("data_received", t.all.BytesIn), t.amount("data_sent", t.all.BytesOut))
	if t.open || t.users.Dropped > 0 {
		all = append(all, t.counter("dropped_iterations", t.users.Dropped))
	}
	p := &t.all.Phases
	all = append(all, trend("http_req_blocked", &p.Blocked), trend("http_req_connecting", &p.Connect),
		trend("http_req_duration", &t.duration), metric{name: "{ expected_response:true }", sub: true, trend: &t.all.Response},
		share("http_req_failed", t.all.Failed+t.all.Unexpected, t.all.Done-t.all.Unexpected),
		trend("http_req_receiving", &p.Receiving), trend("http_req_sending", &p.Sending),
		trend("http_req_tls_handshaking", &p.TLS), trend("http_req_waiting", &p.Waiting),
		t.counter("http_reqs", t.calls()), trend("iteration_duration", &t.users.Length),
		t.counter("iterations", t.users.Iterations))
	last, low, high := t.activeUsers()
	return append(all, gauge("vus", last, low, high), gauge("vus_max", t.users.Most, t.users.Most, t.users.Most))
}

func trend(name string, h *result.Histogram) metric { return metric{name: name, trend: h} }

func (t *totals) amount(name string, n int64) metric {
	return metric{name: name, value: figure.Bytes(float64(n)), extra: []string{figure.Bytes(t.rate(n)) + "/s"}}
}

func (t *totals) counter(name string, n int64) metric {
	return metric{name: name, value: fmt.Sprint(n), extra: []string{figure.Rate(t.rate(n))}}
}

func share(name string, yes, no int64) metric {
	return metric{name: name, value: figure.Percent(yes, yes+no), extra: []string{fmt.Sprintf("✓ %d", yes), fmt.Sprintf("✗ %d", no)}}
}

func gauge(name string, value, low, high int64) metric {
	return metric{name: name, value: fmt.Sprint(value), extra: []string{fmt.Sprintf("min=%d", low), fmt.Sprintf("max=%d", high)}}
}

func (t *totals) checks() (pass, fail int64) {
	for _, c := range t.all.Checks {
		pass, fail = pass+c.Pass, fail+c.Fail
	}
	return pass, fail
}

// activeUsers returns how many users there were at the end, at least and at most.
func (t *totals) activeUsers() (last, low, high int64) {
	for i, s := range t.Seconds {
		last = s.Users
		if i == 0 {
			low = s.Users
		}
		low, high = min(low, s.Users), max(high, s.Users)
	}
	return last, low, high
}

var trendColumns = []struct {
	name  string
	value func(*result.Histogram) time.Duration
}{
	{"avg", (*result.Histogram).Mean},
	{"min", (*result.Histogram).Min},
	{"med", func(h *result.Histogram) time.Duration { return h.Quantile(0.5) }},
	{"max", (*result.Histogram).Max},
	{"p(90)", func(h *result.Histogram) time.Duration { return h.Quantile(0.9) }},
	{"p(95)", func(h *result.Histogram) time.Duration { return h.Quantile(0.95) }},
}

// nameWidth is the width of names and dots together.
const nameWidth = 31

// k6 writes the summary of k6.
func (p *printer) k6(t *totals) {
	metrics := t.metrics()
	rows, widths := make([][]string, len(metrics)), [2][8]int{}
	for i, m := range metrics {
		rows[i] = m.cells()
		for c, cell := range rows[i] {
			w := &widths[m.kind()][c]
			*w = max(*w, width(cell))
		}
	}
	crossed := t.crossed()
	for i, m := range metrics {
		p.f("%s%s ", p.head(m, crossed), p.dots(m))
		for c, cell := range rows[i] {
			p.cell(m, c, cell, widths[m.kind()][c], c == len(rows[i])-1)
		}
		p.f("\n")
	}
	p.f("\n\n%s\n", t.running())
	for i := range t.Scenarios {
		p.f("%s\n", p.bar(t, &t.Scenarios[i]))
	}
}

// kind returns 1 for trends, whose columns are aligned among themselves, and 0 for other metrics.
func (m *metric) kind() int {
	if m.trend != nil {
		return 1
	}
	return 0
}

func (m *metric) cells() []string {
	if m.trend == nil {
		return append([]string{m.value}, m.extra...)
	}
	cells := make([]string, len(trendColumns))
	for i, c := range trendColumns {
		cells[i] = c.name + "=" + figure.Duration(c.value(m.trend))
	}
	return cells
}

// crossed returns whether all thresholds of each metric hold.
func (t *totals) crossed() map[string]bool {
	ok := map[string]bool{}
	for _, threshold := range t.Thresholds {
		before, known := ok[threshold.Metric]
		ok[threshold.Metric] = threshold.OK && (before || !known)
	}
	return ok
}

// head returns what stands in front of the name: a mark if the metric has thresholds.
func (p *printer) head(m metric, crossed map[string]bool) string {
	if m.sub {
		return "       "
	}
	if ok, has := crossed[m.name]; has {
		return "   " + p.style.Mark(ok) + " "
	}
	return "     "
}

func (p *printer) dots(m metric) string {
	n := nameWidth - len(m.name)
	if m.sub {
		n -= 2
	}
	return m.name + p.style.Faint(strings.Repeat(".", max(n, 1))+":")
}

func (p *printer) cell(m metric, column int, cell string, wide int, last bool) {
	pad := strings.Repeat(" ", wide-width(cell))
	if name, value, found := strings.Cut(cell, "="); found && m.trend != nil {
		p.f("%s=%s", name, p.style.Cyan(value))
	} else if column == 0 {
		p.f("%s", p.style.Cyan(cell))
	} else {
		p.f("%s", cell)
	}
	if !last {
		p.f("%s ", pad)
	}
}

// running is the last line of k6's progress.
func (t *totals) running() string {
	most := fmt.Sprint(t.users.Most)
	return fmt.Sprintf("running (%s), %0*d/%s VUs, %d complete and %d interrupted iterations",
		clock(t.Elapsed()), len(most), t.users.Active, most, t.users.Iterations, t.users.Interrupted)
}

// clock formats like k6's progress: 0m30.0s.
func clock(d time.Duration) string {
	d = d.Round(100 * time.Millisecond)
	return fmt.Sprintf("%dm%04.1fs", d/time.Minute, (d % time.Minute).Seconds())
}

// bar is the full progress bar of a scenario.
func (p *printer) bar(t *totals, s *result.Scenario) string {
	mark := p.style.Green("✓")
	if s.Users.Interrupted > 0 {
		mark = p.style.Red("✗")
	}
	load := fmt.Sprintf("%d VUs  %s", max(s.Users.Most, int64(s.VUs)), s.Duration)
	if s.Open {
		load = fmt.Sprintf("%0*d/%d VUs  %s  %.2f iters/s", len(fmt.Sprint(s.Users.Most)), s.Users.Active, s.Users.Most, s.Duration, s.Rate)
	}
	return fmt.Sprintf("%s %s [%s] %s", figure.Line(s.Name, 60), mark, strings.Repeat("=", 38), load)
}

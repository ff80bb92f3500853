package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// chart is a chart of the page, with a legend.
type chart struct {
	ID, Title, Note string
	SVG             template.HTML
	Legend          []legend
}

type legend struct{ Name, Class string }

// charts returns the charts that the result has data for.
func (t *totals) charts() []chart {
	var all []chart
	if t.all.Response.Count() > 0 {
		all = append(all, t.percentileChart())
	}
	if len(t.Seconds) < 2 {
		return all
	}
	rows, per := t.condense(240)
	note := ""
	if per > 1 {
		note = fmt.Sprintf("Each point stands for %d seconds; latencies are the highest of them.", per)
	}
	all = append(all, t.latencyChart(rows, note), t.heatChart(), t.rateChart(rows), t.cpuChart(rows), t.connsChart(rows))
	return slices.DeleteFunc(all, func(c chart) bool { return c.SVG == "" })
}

func ns(v float64) string { return figure.Duration(time.Duration(math.Round(v))) }

func whole64(v float64) string { return figure.Count(int64(math.Round(v))) }

// percentileChart draws the whole distribution. Its horizontal axis gives each further nine the same room.
func (t *totals) percentileChart() chart {
	end := math.Log10(max(float64(t.all.Response.Count()), 10))
	x := &axis{high: end, from: plotLeft, to: plotRight, unit: "percentile"}
	for i, name := range []string{"0", "90%", "99%", "99.9%", "99.99%", "99.999%", "99.9999%", "99.99999%"} {
		if float64(i) <= end {
			x.ticks = append(x.ticks, tick{float64(i), name})
		}
	}
	x.ticks = append(x.ticks, tick{math.Log10(2), "50%"})
	lines := []line{percentileLine("response", "s1", &t.all.Response, end)}
	if t.open {
		lines = append(lines, percentileLine("service, from send", "s2", &t.all.Service, end))
	}
	if t.all.UnexpectedResponse.Count() > 0 {
		lines = append(lines, percentileLine("unexpected status", "s4", &t.all.UnexpectedResponse, end))
	}
	low, high := limits(lines)
	y := logarithmic(low, high, plotBottom, plotTop, ns)
	h := &t.all.Response
	desc := fmt.Sprintf("Response times: median %s, 90%% %s, 99%% %s, maximum %s.", figure.Duration(h.Quantile(0.5)),
		figure.Duration(h.Quantile(0.9)), figure.Duration(h.Quantile(0.99)), figure.Duration(h.Max()))
	c := linesChart("percentiles", "Latency by percentile", desc, x, y, lines)
	if o, ok := t.omission(); ok {
		c.Note = "Not counted: " + o.String()
	}
	return c
}

func percentileLine(name, class string, h *result.Histogram, end float64) line {
	l := line{name: name, class: class}
	end = min(end, math.Log10(max(float64(h.Count()), 2)))
	const steps = 200
	for i := range steps + 1 {
		x := end * float64(i) / steps
		l.points = append(l.points, point{x, max(float64(h.Quantile(1-math.Pow(10, -x))), 1)})
	}
	return l
}

// limits returns the smallest and the largest positive value of lines.
func limits(lines []line) (low, high float64) {
	low = math.Inf(1)
	for _, l := range lines {
		for _, p := range l.points {
			if p.y > 0 {
				low, high = min(low, p.y), max(high, p.y)
			}
		}
	}
	if high == 0 {
		return 1, 10
	}
	return low, high
}

func linesChart(id, title, desc string, x, y *axis, lines []line) chart {
	c := chart{ID: id, Title: title}
	s := newSVG(id, title, desc, x, y)
	// The first line is solid. The others are dashed and drawn over it, so that it stays visible between the dashes.
	for _, l := range lines {
		s.draw(l)
		c.Legend = append(c.Legend, legend{l.name, l.class})
	}
	c.SVG = s.end()
	return c
}

// condense merges neighboring seconds into at most n rows, and returns how many seconds a row stands for. A short rest at the end
// belongs to the last whole second, because rates of a few milliseconds mean nothing.
func (t *totals) condense(n int) (rows []result.Second, per int) {
	seconds := slices.Clone(t.Seconds)
	if last := len(seconds) - 1; last > 0 && seconds[last].Length < shortRest {
		join(&seconds[last-1], &seconds[last])
		seconds = seconds[:last]
	}
	per = (len(seconds) + n - 1) / n
	for part := range slices.Chunk(seconds, per) {
		row := part[0]
		for i := range part[1:] {
			join(&row, &part[1+i])
		}
		rows = append(rows, row)
	}
	return rows, per
}

// shortRest is the length of a second that is too short for a point of its own.
const shortRest = 500 * time.Millisecond

// join adds a second to a row. The heat is left out.
func join(row, s *result.Second) {
	row.Length += s.Length
	row.Due, row.Sent, row.Done, row.Failed = row.Due+s.Due, row.Sent+s.Sent, row.Done+s.Done, row.Failed+s.Failed
	row.P50, row.P90, row.P99, row.Max = max(row.P50, s.P50), max(row.P90, s.P90), max(row.P99, s.P99), max(row.Max, s.Max)
	row.Users, row.Conns, row.InFlight = max(row.Users, s.Users), max(row.Conns, s.Conns), max(row.InFlight, s.InFlight)
	row.Opened, row.Closed = row.Opened+s.Opened, row.Closed+s.Closed
	row.CPU, row.Server, row.Lag = row.CPU+s.CPU, row.Server+s.Server, max(row.Lag, s.Lag)
}

// series builds a line from a value of each second, at the middle of the second.
func series(name, class string, rows []result.Second, value func(*result.Second) float64) line {
	l := line{name: name, class: class}
	for i := range rows {
		s := &rows[i]
		l.points = append(l.points, point{(s.T + s.Length/2).Seconds(), value(s)})
	}
	return l
}

// timeAxis spans the whole run.
func (t *totals) timeAxis() *axis {
	end := 0.0
	for _, s := range t.Seconds {
		end = max(end, (s.T + s.Length).Seconds())
	}
	x := linear(end, 6, plotLeft, plotRight, func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) })
	x.high, x.unit = max(end, 1e-9), "seconds"
	x.ticks = slices.DeleteFunc(x.ticks, func(t tick) bool { return t.value > x.high })
	return x
}

func (t *totals) latencyChart(rows []result.Second, note string) chart {
	lines := []line{
		series("p50", "s1", rows, func(s *result.Second) float64 { return float64(s.P50) }),
		series("p90", "s2", rows, func(s *result.Second) float64 { return float64(s.P90) }),
		series("p99", "s3", rows, func(s *result.Second) float64 { return float64(s.P99) }),
		series("maximum", "s4", rows, func(s *result.Second) float64 { return float64(s.Max) }),
	}
	low, high := limits(lines)
	y := logarithmic(low, high, plotBottom, plotTop, ns)
	worst := slices.MaxFunc(rows, func(a, b result.Second) int { return cmp.Compare(a.P99, b.P99) })
	desc := fmt.Sprintf("Latencies of each second. The highest p99 is %s after %s.", figure.Duration(worst.P99), worst.T)
	c := linesChart("latency", "Latency over time", desc, t.timeAxis(), y, lines)
	c.Note = note
	return c
}

func perSecond(n func(*result.Second) int64) func(*result.Second) float64 {
	return func(s *result.Second) float64 {
		if s.Length <= 0 {
			return 0
		}
		return float64(n(s)) / s.Length.Seconds()
	}
}

func (t *totals) rateChart(rows []result.Second) chart {
	lines := []line{series("reached", "s1", rows, perSecond(func(s *result.Second) int64 { return s.Done }))}
	if t.open {
		lines = append(lines, series("asked", "s3", rows, perSecond(func(s *result.Second) int64 { return s.Due })))
	}
	lines = append(lines, series("failed or unexpected", "s4", rows, perSecond(func(s *result.Second) int64 { return s.Failed })))
	_, high := limits(lines)
	desc := fmt.Sprintf("Responses per second: %s on average.", figure.ShortRate(t.rate(t.all.Done)))
	return linesChart("rate", "Requests per second", desc, t.timeAxis(), linear(high, 5, plotBottom, plotTop, whole64), lines)
}

func (t *totals) cpuChart(rows []result.Second) chart {
	share := func(cpu func(*result.Second) time.Duration) func(*result.Second) float64 {
		return func(s *result.Second) float64 {
			if s.Length <= 0 {
				return 0
			}
			return 100 * float64(cpu(s)) / float64(s.Length)
		}
	}
	lines := []line{series("generator", "s1", rows, share(func(s *result.Second) time.Duration { return s.CPU }))}
	desc := fmt.Sprintf("CPU time as a share of one core: generator %s on average", t.share(t.Generator.CPU))
	if t.Server != nil {
		lines = append(lines, series("server", "s3", rows, share(func(s *result.Second) time.Duration { return s.Server })))
		desc += fmt.Sprintf(", server %s", t.share(t.Server.CPU))
	}
	_, high := limits(lines)
	y := linear(max(high, 10), 5, plotBottom, plotTop, func(v float64) string { return whole64(v) + "%" })
	c := linesChart("cpu", "CPU of generator and server", desc+".", t.timeAxis(), y, lines)
	c.Note = "100% is one core."
	return c
}

func (t *totals) connsChart(rows []result.Second) chart {
	lines := []line{
		series("connections", "s1", rows, func(s *result.Second) float64 { return float64(s.Conns) }),
		series("users", "s2", rows, func(s *result.Second) float64 { return float64(s.Users) }),
		series("in flight", "s3", rows, func(s *result.Second) float64 { return float64(s.InFlight) }),
	}
	_, high := limits(lines)
	desc := fmt.Sprintf("At most %s connections, users or requests in flight.", whole64(high))
	return linesChart("connections", "Connections, users, requests in flight", desc, t.timeAxis(), linear(high, 5, plotBottom, plotTop, whole64), lines)
}

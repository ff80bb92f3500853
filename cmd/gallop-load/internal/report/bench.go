package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Unit is a metric in the unit of a benchmark line.
type Unit struct {
	Name   string // as in a benchmark line
	Higher bool   // higher values are better
}

// The units of benchmark lines.
var (
	UnitCall   = Unit{"ns/op", false}            // elapsed time per request
	UnitRate   = Unit{"req/s", true}             // responses per second
	UnitP50    = Unit{"p50-ns", false}           // median latency
	UnitP99    = Unit{"p99-ns", false}           // 99th percentile of the latency
	UnitP999   = Unit{"p99.9-ns", false}         // 99.9th percentile of the latency
	UnitCPU    = Unit{"cpu-ns/op", false}        // CPU time of the generator per request
	UnitServer = Unit{"server-cpu-ns/op", false} // CPU time of the server per request
)

// Units lists all units in the order of a benchmark line.
var Units = []Unit{UnitCall, UnitRate, UnitP50, UnitP99, UnitP999, UnitCPU, UnitServer}

// Value is a value of a benchmark line.
type Value struct {
	Unit
	Value float64
}

// Line is a benchmark line: a request of a result, or the whole result.
type Line struct {
	Name   string // without Benchmark
	N      int64
	Values []Value
}

// Lines returns the benchmark lines of a result: one for each request, and one for all of them if there are several.
// Percentiles that the number of requests does not resolve are left out. CPU time is measured for the whole process, so
// only a line for all requests has it.
func Lines(r *result.Result) []Line {
	t := sum(r)
	suffix := t.labels()
	if len(r.Series) == 1 {
		line := t.line("Load/route="+label(t.name(r.Series[0]))+suffix, r.Series[0])
		return []Line{t.withCPU(line)}
	}
	lines := []Line{t.withCPU(t.line("Load/route=all"+suffix, t.all))}
	for _, s := range r.Series {
		lines = append(lines, t.line("Load/route="+label(t.name(s))+suffix, s))
	}
	return lines
}

func (t *totals) line(name string, s *result.Series) Line {
	l := Line{Name: name, N: s.Done}
	if s.Done > 0 && t.seconds > 0 {
		l.add(UnitCall, t.seconds*1e9/float64(s.Done))
		l.add(UnitRate, t.rate(s.Done))
	}
	for _, p := range []struct {
		unit Unit
		q    float64
	}{{UnitP50, 0.5}, {UnitP99, 0.99}, {UnitP999, 0.999}} {
		if s.Response.Resolves(p.q) {
			l.add(p.unit, float64(s.Response.Quantile(p.q)))
		}
	}
	return l
}

func (t *totals) withCPU(l Line) Line {
	if t.Generator.PerCall > 0 {
		l.add(UnitCPU, float64(t.Generator.PerCall))
	}
	if t.Server != nil && t.Server.PerCall > 0 {
		l.add(UnitServer, float64(t.Server.PerCall))
	}
	return l
}

func (l *Line) add(unit Unit, value float64) { l.Values = append(l.Values, Value{unit, value}) }

// labels returns the configuration part of a name: connections or users, or the rate that was asked for.
func (t *totals) labels() string {
	var b strings.Builder
	if t.Plan.Connections > 0 {
		fmt.Fprintf(&b, "/c=%d", t.Plan.Connections)
	}
	if len(t.Scenarios) == 1 {
		switch s := t.Scenarios[0]; {
		case s.Open:
			fmt.Fprintf(&b, "/rate=%s", strconv.FormatFloat(s.Rate, 'f', -1, 64))
		case t.Plan.Connections == 0:
			fmt.Fprintf(&b, "/vus=%d", s.VUs)
		}
	}
	// Go benchmarks end with GOMAXPROCS unless it is 1.
	if t.Host.CPUs > 1 {
		fmt.Fprintf(&b, "-%d", t.Host.CPUs)
	}
	return b.String()
}

// label makes text fit into the name of a benchmark, which has no spaces. A slash would begin another part of the name.
func label(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || !unicode.IsPrint(c) || c == '/' || c == '=' {
			return '_'
		}
		return c
	}, s)
	if s == "" {
		return "_"
	}
	return s
}

// Bench writes benchmark lines for benchstat, one set of lines for each result.
func Bench(w io.Writer, results ...*result.Result) error {
	out := bufio.NewWriter(w)
	if len(results) > 0 {
		host := results[0].Host
		fmt.Fprintf(out, "goos: %s\npkg: gallop-load\n", label(host.OS))
		if host.CPU != "" {
			fmt.Fprintf(out, "cpu: %s\n", strings.ReplaceAll(label(host.CPU), "_", " "))
		}
	}
	for _, u := range Units {
		better := "lower"
		if u.Higher {
			better = "higher"
		}
		fmt.Fprintf(out, "Unit %s better=%s\n", u.Name, better)
	}
	for _, r := range results {
		for _, l := range Lines(r) {
			if l.N == 0 {
				continue
			}
			fmt.Fprintf(out, "Benchmark%s\t%d", l.Name, l.N)
			for _, v := range l.Values {
				fmt.Fprintf(out, "\t%s %s", benchNumber(v.Value), v.Name)
			}
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

// benchNumber formats so that reading the number again gives the same value.
func benchNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

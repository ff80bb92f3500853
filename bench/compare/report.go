//go:build linux

package main

import (
	"fmt"
	"io"

	"github.com/gallop-http/gallop/bench/measure"
)

// report prints a comparison while it runs.
type report struct {
	io.Writer
	comparison
	samples map[string][]sample // by rival
}

func newReport(w io.Writer, c comparison) *report { return &report{w, c, map[string][]sample{}} }

// head prints what is measured, where and how.
func (r *report) head(o options) {
	servers := ""
	if o.servers != "" {
		servers = " -servers " + o.servers
	}
	fmt.Fprintf(r, "command: go run ./compare -n %d -d %v%s %s\n", o.rounds, o.length, servers, r.name)
	fmt.Fprint(r, measure.About(o.commit))
	where := "server on core 0 with GOMAXPROCS=1, load on core 1"
	switch {
	case r.shared:
		where = "server and load share all cores"
	case r.procs > 1:
		where = "server on all cores, load on core 1"
	}
	fmt.Fprintf(r, "%s; %d connections, %d rounds of %v; %s\n\n", r.about, r.conns, o.rounds, o.length, where)
	r.row("server", figureNames[:])
}

// row prints a line of the table.
func (r *report) row(name string, cells []string) {
	fmt.Fprintf(r, "%-16s", name)
	for _, cell := range cells {
		fmt.Fprintf(r, " %11s", cell)
	}
	fmt.Fprintln(r)
}

// add prints a round.
func (r *report) add(name string, s sample) {
	r.samples[name] = append(r.samples[name], s)
	r.row(name, s.cells())
}

func (s sample) cells() []string {
	cells := make([]string, figureCount)
	for f := range figureCount {
		digits := 2
		if f == rate || f == memory {
			digits = 0
		}
		cells[f] = fmt.Sprintf("%.*f", digits, s[f])
	}
	return cells
}

// finish prints medians, ratios and verdicts, and reports whether all goals were met.
func (r *report) finish() (met bool) {
	fmt.Fprintln(r)
	r.row("median", figureNames[:])
	for _, rival := range r.rivals {
		r.row(rival.name, median(r.samples[rival.name]).cells())
	}
	fmt.Fprintln(r)
	r.row("÷ "+r.rivals[0].name, figureNames[:])
	for _, rival := range r.rivals[1:] {
		r.row(rival.name, r.ratios(rival.name, r.rivals[0].name).ratioCells())
	}
	met = true
	for _, g := range r.goals {
		if verdict, ok, judged := r.judge(g); judged {
			fmt.Fprintln(r, verdict)
			met = met && ok
		}
	}
	fmt.Fprintln(r)
	return met
}

// median returns the median of each figure.
func median(samples []sample) (m sample) {
	for f := range figureCount {
		var values []float64
		for _, s := range samples {
			values = append(values, s[f])
		}
		m[f] = measure.Median(values)
	}
	return m
}

// ratios returns the ratios of the medians.
func (r *report) ratios(of, over string) (ratios sample) {
	a, b := median(r.samples[of]), median(r.samples[over])
	for f := range figureCount {
		if b[f] != 0 {
			ratios[f] = a[f] / b[f]
		}
	}
	return ratios
}

func (s sample) ratioCells() []string {
	cells := make([]string, figureCount)
	for f := range figureCount {
		cells[f] = fmt.Sprintf("%.3f", s[f])
	}
	return cells
}

// judge reports whether a goal was met. It skips goals for another number of connections or for rivals that did not
// run.
func (r *report) judge(g goal) (verdict string, met, judged bool) {
	if g.conns != 0 && g.conns != r.conns || r.samples[g.of] == nil || r.samples[g.over] == nil {
		return "", false, false
	}
	got := r.ratios(g.of, g.over)[g.figure]
	met = g.figure.met(got, g.limit)
	bound, word := "≤", "met"
	if g.figure == rate {
		bound = "≥"
	}
	if !met {
		word = "MISSED"
	}
	return fmt.Sprintf("goal: %s of %s %s %.2f × %s: %.3f, %s", figureNames[g.figure], g.of, bound, g.limit, g.over, got, word), met, true
}

//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// Goals: gallop's rate as a multiple of fasthttp's, in each cell and as the geometric mean of all cells.
const (
	leastRate = 0.97
	leastMean = 1.0
)

// key is one server in one cell.
type key struct {
	cell   cell
	server string
}

// report prints the measurements while they are made.
type report struct {
	io.Writer
	samples map[key][]sample
	cells   []cell   // in the order in which they were measured
	errors  []string // responses of a wrong size, or with wrong bytes
}

func newReport(w io.Writer) *report { return &report{Writer: w, samples: map[key][]sample{}} }

// head prints what is measured, where and how.
func (r *report) head(o options) {
	command := fmt.Sprintf("go run ./cmd/matrix -rounds %d -d %v -c %d", o.rounds, o.length, o.conns)
	if o.peers != strings.Join(allPeers, ",") {
		command += " -peers " + o.peers
	}
	fmt.Fprintf(r, "command: %s\n%s", strings.Join(append([]string{command}, o.names...), " "), measure.About(o.commit))
	fmt.Fprintf(r, "server on core 0 with GOMAXPROCS=1, wrk on core 1; %d connections, medians of %d rounds of %v\n", o.conns, o.rounds, o.length)
}

// columns prints the names of the columns.
func (r *report) columns() {
	r.row("cell, server", figureNames[:], "  requests/s of each round")
}

func (r *report) row(name string, cells []string, more string) {
	fmt.Fprintf(r, "%-22s", name)
	for _, cell := range cells {
		fmt.Fprintf(r, " %10s", cell)
	}
	fmt.Fprintln(r, more)
}

// add remembers a round.
func (r *report) add(c cell, server string, s sample) {
	r.samples[key{c, server}] = append(r.samples[key{c, server}], s)
}

// wrong remembers and prints that a response was wrong.
func (r *report) wrong(c cell, server string, err error) {
	text := fmt.Sprintf("%s %s: %v", c, server, err)
	r.errors = append(r.errors, text)
	fmt.Fprintln(r, "WRONG:", text)
}

// cell prints the medians of one cell.
func (r *report) cell(c cell, peers []string) {
	r.cells = append(r.cells, c)
	for _, peer := range peers {
		var rounds strings.Builder
		for _, s := range r.samples[key{c, peer}] {
			fmt.Fprintf(&rounds, " %.0f", s[rate])
		}
		cells := r.median(c, peer).cells()
		r.row(c.String()+" "+peer, cells[:], " "+rounds.String())
	}
}

// median returns the median of each figure.
func (r *report) median(c cell, server string) (m sample) {
	for f := range figures {
		var values []float64
		for _, s := range r.samples[key{c, server}] {
			values = append(values, s[f])
		}
		m[f] = measure.Median(values)
	}
	return m
}

// ratio returns a figure of gallop divided by that of fasthttp. It is 0 if one of them was not measured.
func (r *report) ratio(c cell, f figure) float64 {
	ours, theirs := r.median(c, "gallop"), r.median(c, "fasthttp")
	if theirs[f] == 0 {
		return 0
	}
	return ours[f] / theirs[f]
}

// finish prints ratios and verdicts, and reports whether all goals were met.
func (r *report) finish(took time.Duration) (met bool) {
	fmt.Fprintln(r)
	r.ratios(rate)
	r.ratios(cpu)
	met = r.verdict(len(r.errors) == 0, fmt.Sprintf("no response has a wrong size or wrong bytes: %d", len(r.errors)))
	if r.ratio(r.cells[0], rate) > 0 {
		met = r.compare() && met
	}
	fmt.Fprintf(r, "time of the run: %v\n", took.Round(time.Second))
	return met
}

// ratios prints gallop's ratios to fasthttp, a line for each kind and a column for each size.
func (r *report) ratios(f figure) {
	if r.ratio(r.cells[0], f) == 0 {
		return
	}
	fmt.Fprintf(r, "%-26s", "÷ fasthttp's "+figureNames[f])
	for _, kB := range sizes {
		fmt.Fprintf(r, " %8s", fmt.Sprintf("%d kB", kB))
	}
	fmt.Fprintln(r)
	measured := map[cell]bool{}
	for _, c := range r.cells {
		measured[c] = true
	}
	for _, kind := range kinds {
		fmt.Fprintf(r, "%-26s", kind)
		for _, kB := range sizes {
			text := "-"
			if c := (cell{kind, kB}); measured[c] {
				text = fmt.Sprintf("%.3f", r.ratio(c, f))
			}
			fmt.Fprintf(r, " %8s", text)
		}
		fmt.Fprintln(r)
	}
	fmt.Fprintln(r)
}

// compare prints whether gallop is fast enough compared with fasthttp.
func (r *report) compare() (met bool) {
	var slow []string
	logs := 0.0
	for _, c := range r.cells {
		q := r.ratio(c, rate)
		logs += math.Log(q)
		if q < leastRate {
			slow = append(slow, fmt.Sprintf("%s %.3f", c, q))
		}
	}
	text := fmt.Sprintf("gallop's rate ≥ %.2f × fasthttp's in each cell: %d of %d cells", leastRate, len(r.cells)-len(slow), len(r.cells))
	if len(slow) > 0 {
		text += " (not " + strings.Join(slow, ", ") + ")"
	}
	met = r.verdict(len(slow) == 0, text)
	mean := math.Exp(logs / float64(len(r.cells)))
	return r.verdict(mean >= leastMean, fmt.Sprintf("geometric mean of gallop's rates ≥ %.2f × fasthttp's: %.3f", leastMean, mean)) && met
}

func (r *report) verdict(met bool, text string) bool {
	word := "met"
	if !met {
		word = "MISSED"
	}
	fmt.Fprintf(r, "goal: %s, %s\n", text, word)
	return met
}

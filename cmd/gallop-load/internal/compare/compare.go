// Package compare compares runs with the statistics of benchstat: medians, their confidence intervals from order statistics,
// and the Mann–Whitney U test.
//
//	compare.go   samples, tables, comparisons
//	plan.go      reasons to refuse a comparison or to doubt it
//	runs.go      repeated runs, and two targets in turn
//	text.go      tables for a terminal, in the form of benchstat
//	csv.go       the form of benchstat -format csv
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/internal/load/result"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// Side is one of the things that are compared: the results of a file, or of a target. The first side is the baseline.
type Side struct {
	Name    string
	Results []*result.Result
}

// Options of a comparison. The zero value of a field is its default.
type Options struct {
	Alpha      float64 // a difference counts if its p is at most Alpha; 0: 0.05
	Confidence float64 // of intervals; 0: 0.95
	MaxNoise   float64 // half the width of an interval of the rate or the median latency, as a fraction; 0: 0.05
	Force      bool    // compare although the plans differ
}

func (o Options) defaults() Options {
	if o.Alpha == 0 {
		o.Alpha = benchmath.DefaultThresholds.CompareAlpha
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.MaxNoise == 0 {
		o.MaxNoise = 0.05
	}
	return o
}

// Comparison is the outcome: a table for each unit.
type Comparison struct {
	Sides    []string `json:"sides"`
	Runs     []int    `json:"runs"` // by side
	Tables   []*Table `json:"tables"`
	Noisy    bool     `json:"noisy"`              // some interval is wider than Options.MaxNoise
	Warnings []string `json:"warnings,omitempty"` // reasons to doubt the comparison
}

// Table compares one unit. Units are those of benchstat: seconds, bytes.
type Table struct {
	Unit           string     `json:"unit"`
	HigherIsBetter bool       `json:"higher_is_better"`
	Rows           []*Row     `json:"rows"`
	Geomean        []*Geomean `json:"geomean"` // by side
}

// Row is a request, or all of them.
type Row struct {
	Name  string  `json:"name"`
	Cells []*Cell `json:"cells"` // by side; nil if the side has no values
}

// Cell summarizes the values of one side.
type Cell struct {
	Values  []float64 `json:"values"`
	Median  float64   `json:"median"`
	Low     *float64  `json:"low,omitempty"` // limits of the interval, if there are enough values
	High    *float64  `json:"high,omitempty"`
	Changed *Change   `json:"change,omitempty"` // against the baseline, if it has values
	Notes   []string  `json:"notes,omitempty"`

	summary benchmath.Summary
}

// Change is the comparison of a cell with the baseline.
type Change struct {
	P           float64  `json:"p"`
	Significant bool     `json:"significant"`
	Ratio       *float64 `json:"ratio,omitempty"` // of the medians; nil if the baseline is 0
	Better      bool     `json:"better"`          // the change is significant and for the better
	Worse       bool     `json:"worse"`
	Notes       []string `json:"notes,omitempty"`

	delta, test string
}

// Geomean is the geometric mean of a column.
type Geomean struct {
	Median *float64 `json:"median,omitempty"` // nil unless all values are positive
	Ratio  *float64 `json:"ratio,omitempty"`  // geometric mean of the ratios to the baseline
	Notes  []string `json:"notes,omitempty"`
}

// Compare compares the results of one or more sides. It returns an error if the plans of the runs differ, unless o.Force is
// set. With one side, it summarizes repeated runs.
func Compare(sides []Side, o Options) (*Comparison, error) {
	o = o.defaults()
	c := &Comparison{}
	for _, s := range sides {
		if len(s.Results) == 0 {
			return nil, fmt.Errorf("compare: %s has no results", s.Name)
		}
		c.Sides, c.Runs = append(c.Sides, s.Name), append(c.Runs, len(s.Results))
	}
	if len(sides) == 0 {
		return nil, errors.New("compare: nothing to compare")
	}
	if why := differ(sides); why != "" {
		if !o.Force {
			return nil, fmt.Errorf("compare: the plans of the runs differ (%s), so their figures are not comparable", why)
		}
		c.Warnings = append(c.Warnings, "the plans of the runs differ: "+why)
	}
	c.Warnings = append(c.Warnings, doubts(sides)...)
	c.Tables = tables(sides)
	for _, t := range c.Tables {
		t.compute(o)
		c.findNoise(t, o)
	}
	return c, nil
}

// tables sorts the values of all results by unit, request and side.
func tables(sides []Side) []*Table {
	var all []*Table
	for i, side := range sides {
		for _, r := range side.Results {
			for _, line := range report.Lines(r) {
				if line.N == 0 {
					continue
				}
				for _, v := range line.Values {
					all = put(all, line.Name, v, i, len(sides))
				}
			}
		}
	}
	return all
}

func put(all []*Table, name string, v report.Value, side, sides int) []*Table {
	value, unit := benchunit.Tidy(v.Value, v.Name)
	t := slices.IndexFunc(all, func(t *Table) bool { return t.Unit == unit })
	if t < 0 {
		t = len(all)
		all = append(all, &Table{Unit: unit, HigherIsBetter: v.Higher})
	}
	rows := &all[t].Rows
	r := slices.IndexFunc(*rows, func(r *Row) bool { return r.Name == name })
	if r < 0 {
		r = len(*rows)
		*rows = append(*rows, &Row{Name: name, Cells: make([]*Cell, sides)})
	}
	cell := &(*rows)[r].Cells[side]
	if *cell == nil {
		*cell = &Cell{}
	}
	(*cell).Values = append((*cell).Values, value)
	return all
}

// compute fills the statistics of a table.
func (t *Table) compute(o Options) {
	thresholds := &benchmath.Thresholds{CompareAlpha: o.Alpha}
	for _, row := range t.Rows {
		samples := make([]*benchmath.Sample, len(row.Cells))
		for i, cell := range row.Cells {
			if cell == nil {
				continue
			}
			// Samples are sorted in place; Values keep the order of the runs.
			samples[i] = benchmath.NewSample(slices.Clone(cell.Values), thresholds)
			cell.summarize(samples[i], o)
			if i > 0 && row.Cells[0] != nil {
				cell.compare(row.Cells[0], samples[0], samples[i], t.HigherIsBetter)
			}
		}
	}
	for i := range t.Rows[0].Cells {
		t.Geomean = append(t.Geomean, t.geomean(i))
	}
}

func (c *Cell) summarize(s *benchmath.Sample, o Options) {
	c.summary = benchmath.AssumeNothing.Summary(s, o.Confidence)
	c.Median, c.Notes = c.summary.Center, words(c.summary.Warnings)
	if !math.IsInf(c.summary.Lo, 0) && !math.IsInf(c.summary.Hi, 0) {
		c.Low, c.High = &c.summary.Lo, &c.summary.Hi
	}
}

func (c *Cell) compare(base *Cell, before, after *benchmath.Sample, higher bool) {
	test := benchmath.AssumeNothing.Compare(before, after)
	change := &Change{P: test.P, Significant: test.P <= test.Alpha, Notes: words(test.Warnings),
		delta: test.FormatDelta(base.Median, c.Median), test: test.String()}
	if base.Median != 0 {
		ratio := c.Median / base.Median
		change.Ratio = &ratio
	}
	if change.Significant && c.Median != base.Median {
		change.Better = (c.Median > base.Median) == higher
		change.Worse = !change.Better
	}
	c.Changed = change
}

func (t *Table) geomean(side int) *Geomean {
	g := &Geomean{}
	var medians, ratios []float64
	bases, zero := 0, false
	for _, row := range t.Rows {
		base, cell := row.Cells[0], row.Cells[side]
		if base != nil {
			bases++
		}
		if cell == nil {
			continue
		}
		medians = append(medians, cell.Median)
		if side == 0 || base == nil {
			continue
		}
		switch {
		case cell.Median == base.Median:
			ratios = append(ratios, 1)
		case base.Median == 0:
			ratios, zero = append(ratios, 0), true
		default:
			ratios = append(ratios, cell.Median/base.Median)
		}
	}
	if side > 0 && bases != len(ratios) {
		g.Notes = append(g.Notes, "benchmark set differs from baseline; geomeans may not be comparable")
	}
	if mean := stats.GeoMean(medians); math.IsNaN(mean) {
		g.Notes = append(g.Notes, "summaries must be >0 to compute geomean")
	} else {
		g.Median = &mean
	}
	if side > 0 && !zero {
		if mean := stats.GeoMean(ratios); math.IsNaN(mean) {
			g.Notes = append(g.Notes, "ratios must be >0 to compute geomean")
		} else {
			g.Ratio = &mean
		}
	}
	return g
}

func words(warnings []error) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Error())
	}
	return all
}

// JSON writes the comparison as JSON.
func (c *Comparison) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(c)
}

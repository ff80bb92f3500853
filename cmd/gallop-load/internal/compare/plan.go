package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gallop-http/gallop/internal/load/result"
)

// differ returns in which respect the plan of some run differs from the plan of the first run. Targets may differ: two
// servers are compared with the same load.
func differ(sides []Side) string {
	first := sides[0].Results[0]
	for _, side := range sides {
		for i, r := range side.Results {
			for _, p := range planParts {
				if a, b := p.of(first), p.of(r); a != b {
					return fmt.Sprintf("%s: %s in %s run 1, %s in %s run %d", p.name, a, sides[0].Name, b, side.Name, i+1)
				}
			}
		}
	}
	return ""
}

var planParts = []struct {
	name string
	of   func(*result.Result) string
}{
	{"engine", func(r *result.Result) string { return r.Tool.Engine }},
	{"protocol", func(r *result.Result) string { return r.Target.Proto }},
	{"connections", func(r *result.Result) string { return fmt.Sprint(r.Plan.Connections) }},
	{"streams", func(r *result.Result) string { return fmt.Sprint(r.Plan.Streams) }},
	{"pipeline", func(r *result.Result) string { return fmt.Sprint(r.Plan.Pipeline) }},
	{"processes", func(r *result.Result) string { return fmt.Sprint(r.Plan.Parts) }},
	{"scenarios", scenarios},
	{"requests", requests},
}

func scenarios(r *result.Result) string {
	var all []string
	for _, s := range r.Scenarios {
		load := fmt.Sprintf("%d VUs", s.VUs)
		if s.Open {
			load = fmt.Sprintf("%g/s", s.Rate)
		}
		all = append(all, fmt.Sprintf("%s %s %s for %s", s.Name, s.Executor, load, s.Duration))
	}
	return strings.Join(all, ", ")
}

func requests(r *result.Result) string {
	var all []string
	for _, s := range r.Series {
		all = append(all, s.Scenario+"/"+s.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// doubts returns reasons to doubt the figures of some runs.
func doubts(sides []Side) []string {
	var all []string
	first := sides[0].Results[0]
	for _, side := range sides {
		var saturated, byHand, failed, machine int
		for _, r := range side.Results {
			saturated += one(r.Generator.Saturated)
			byHand += one(r.ByHand)
			failed += one(errorShare(r) > 0.01)
			machine += one(r.Host.CPU != first.Host.CPU || r.Host.CPUs != first.Host.CPUs || r.Host.Kernel != first.Host.Kernel)
		}
		for _, d := range []struct {
			n    int
			what string
		}{
			{saturated, "the generator was saturated, so latencies include its own delays"},
			{byHand, "the rate was changed by hand"},
			{failed, "more than 1% of the requests failed"},
			{machine, "the machine of the generator was another one than that of the first run"},
		} {
			if d.n > 0 {
				all = append(all, fmt.Sprintf("%s: in %d of %d runs %s", side.Name, d.n, len(side.Results), d.what))
			}
		}
	}
	return all
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func errorShare(r *result.Result) float64 {
	total := r.Total()
	if total.Sent == 0 {
		return 0
	}
	return float64(total.Failed) / float64(total.Sent)
}

// findNoise warns about intervals of the rate and of the median latency that are too wide. Tails vary more by nature.
func (c *Comparison) findNoise(t *Table, o Options) {
	if t.Unit != "req/s" && t.Unit != "p50-sec" {
		return
	}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if cell == nil || cell.Low == nil || cell.Median == 0 {
				continue
			}
			noise := math.Max(*cell.High/cell.Median-1, 1-*cell.Low/cell.Median)
			if noise > o.MaxNoise {
				c.Noisy = true
				c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s of %s varies by ±%.0f%%, more than %.0f%%: repeat on a quiet machine",
					c.Sides[i], t.Unit, row.Name, 100*noise, 100*o.MaxNoise))
			}
		}
	}
}

//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
)

// again ends the name of a twin.
const again = " again"

// withTwin adds a second gallop to a comparison, or a second first rival if there is no gallop. Both are the same program under
// the same load, so any difference between them comes from the machine. The twin runs at the other end of each round.
func (c comparison) withTwin() comparison {
	if c.beside {
		return c // whose server does next to nothing
	}
	i := slices.IndexFunc(c.rivals, func(r rival) bool { return r.name == "gallop" || r.name == arenaPrefix+"gallop" })
	i = max(i, 0)
	twin := c.rivals[i]
	c.original, twin.name = twin.name, twin.name+again
	if i < len(c.rivals)/2 {
		c.rivals = append(slices.Clone(c.rivals), twin)
	} else {
		c.rivals = slices.Insert(slices.Clone(c.rivals), 1, twin)
	}
	return c
}

// steadyFigure is the figure by which a comparison is judged: CPU time if the server has a core to itself, otherwise the rate.
func (w workload) steadyFigure() figure {
	if w.shared {
		return rate
	}
	return cpu
}

// doubt returns a reason to refuse the comparison, or "" if the twins agree within this limit, in percent.
func (r *report) doubt(limit float64) string {
	if r.original == "" || limit <= 0 {
		return ""
	}
	f := r.steadyFigure()
	difference := 100 * math.Abs(r.ratios(r.original+again, r.original)[f]-1)
	if difference <= limit {
		return ""
	}
	return fmt.Sprintf("REFUSED: %s of the same server differ by %.1f %%, more than %v %%: the machine is too busy or too unsteady to compare servers", figureNames[f], difference, limit)
}

package compare

import (
	"encoding/csv"
	"fmt"
	"io"
)

// CSV writes the tables like benchstat -format csv. Values are in the unit of the table.
func (c *Comparison) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	for i, t := range c.Tables {
		if i > 0 {
			out.Write([]string{""})
		}
		t.csv(out, c.Sides)
	}
	out.Flush()
	return out.Error()
}

// column returns the first column of a side: the baseline has two columns, the others have four.
func column(side int) int { return max(1, 4*side-1) }

func (t *Table) csv(out *csv.Writer, sides []string) {
	record := func() []string { return make([]string, column(len(sides))) }
	names, units := record(), record()
	for i, name := range sides {
		names[column(i)] = name
		copy(units[column(i):], []string{t.Unit, "CI"})
		if i > 0 {
			copy(units[column(i)+2:], []string{"vs base", "P"})
		}
	}
	out.Write(names)
	out.Write(units)
	for _, row := range t.Rows {
		cells := record()
		cells[0] = row.Name
		for i, cell := range row.Cells {
			if cell == nil {
				continue
			}
			copy(cells[column(i):], []string{fmt.Sprint(cell.Median), cell.summary.PctRangeString()})
			if change := cell.Changed; change != nil {
				copy(cells[column(i)+2:], []string{change.delta, change.test})
			}
		}
		out.Write(cells)
	}
	cells := record()
	cells[0] = "geomean"
	for i, g := range t.Geomean {
		if g.Median != nil {
			cells[column(i)] = fmt.Sprint(*g.Median)
		}
		if i > 0 {
			cells[column(i)+2] = g.delta()
		}
	}
	out.Write(cells)
}

// delta formats the ratio to the baseline.
func (g *Geomean) delta() string {
	if g.Ratio == nil {
		return "?"
	}
	return fmt.Sprintf("%+.2f%%", (*g.Ratio-1)*100)
}

package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"golang.org/x/perf/benchunit"
)

// Text writes the tables in the form of benchstat, with changes in green if they are for the better and in red if they are
// for the worse. Warnings follow.
func (c *Comparison) Text(w io.Writer, style figure.Style) error {
	var b strings.Builder
	for i, t := range c.Tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.text(&b, c.Sides, style)
	}
	for i, warning := range c.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(style.Yellow("warning: "+figure.Line(warning, 1000)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is a cell of the text: its text, and how to color it.
type cell struct {
	text  string
	color func(string) string
	left  bool // aligned on the left
}

// grid collects the rows of a table. A side takes six columns: median, interval, notes, change, test, notes of the test. The
// baseline leaves the last three empty.
type grid struct {
	rows  [][]cell
	notes []string
}

const sideColumns = 6

// note returns the references to notes as superscripts.
func (g *grid) note(notes []string) cell {
	var all []string
	for _, n := range notes {
		i := slices.Index(g.notes, n)
		if i < 0 {
			i = len(g.notes)
			g.notes = append(g.notes, n)
		}
		all = append(all, superscript(i+1))
	}
	return cell{text: strings.Join(all, " "), left: true}
}

func superscript(n int) string {
	return strings.Map(func(c rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[c-'0'] }, fmt.Sprint(n))
}

func (t *Table) text(b *strings.Builder, sides []string, style figure.Style) {
	g := &grid{}
	class := benchunit.ClassOf(t.Unit)
	for _, row := range t.Rows {
		g.rows = append(g.rows, g.row(row, class, style))
	}
	if len(t.Rows) > 1 {
		g.rows = append(g.rows, g.geomean(t, class))
	}
	g.format(b, t.Unit, sides)
	for i, n := range g.notes {
		fmt.Fprintf(b, "%s %s\n", superscript(i+1), n)
	}
}

func (g *grid) row(row *Row, class benchunit.Class, style figure.Style) []cell {
	cells := []cell{{text: row.Name, left: true}}
	var medians []float64
	for _, c := range row.Cells {
		if c != nil {
			medians = append(medians, c.Median)
		}
	}
	scale := benchunit.CommonScale(medians, class)
	for _, c := range row.Cells {
		if c == nil {
			cells = append(cells, make([]cell, sideColumns)...)
			continue
		}
		cells = append(cells, cell{text: scale.Format(c.Median)}, cell{text: "± " + c.summary.PctRangeString()}, g.note(c.Notes))
		change := c.Changed
		if change == nil {
			cells = append(cells, make([]cell, 3)...)
			continue
		}
		color := style.Faint
		if change.Better {
			color = style.Green
		} else if change.Worse {
			color = style.Red
		}
		cells = append(cells, cell{text: change.delta, color: color}, cell{text: "(" + change.test + ")", left: true}, g.note(change.Notes))
	}
	return cells
}

func (g *grid) geomean(t *Table, class benchunit.Class) []cell {
	cells := []cell{{text: "geomean", left: true}}
	for i, mean := range t.Geomean {
		side := make([]cell, sideColumns)
		if mean.Median != nil {
			side[0].text = benchunit.Scale(*mean.Median, class)
		}
		if i > 0 {
			side[3].text = mean.delta()
			side[5] = g.note(mean.Notes)
		} else {
			side[2] = g.note(mean.Notes)
		}
		cells = append(cells, side...)
	}
	return cells
}

// format writes the names of the sides, the unit, and the rows.
func (g *grid) format(b *strings.Builder, unit string, sides []string) {
	widths := make([]int, 1+sideColumns*len(sides))
	for _, row := range g.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	blocks := make([]int, len(sides)) // width of each side
	for i, name := range sides {
		group := widths[1+i*sideColumns:][:sideColumns]
		widen(&group[0], between(group[:3]), utf8.RuneCountInString(unit))
		if i > 0 {
			widen(&group[4], between(group[3:]), len("vs base"))
		}
		last := len(group) - 1
		for last > 0 && group[last] == 0 {
			last--
		}
		widen(&group[last], between(group), utf8.RuneCountInString(name))
		blocks[i] = between(group)
	}
	label := strings.Repeat(" ", widths[0])
	head, units := label, label
	for i, name := range sides {
		head += " │ " + center(name, blocks[i])
		line := center(unit, between(widths[1+i*sideColumns:][:3]))
		if i > 0 {
			line += " vs base"
		}
		units += " │ " + pad(line, blocks[i], true)
	}
	fmt.Fprintf(b, "%s │\n%s │\n", head, units)
	for _, row := range g.rows {
		b.WriteString(strings.TrimRight(g.line(row, widths), " ") + "\n")
	}
}

func (g *grid) line(row []cell, widths []int) string {
	line := pad(row[0].text, widths[0], true)
	for i, c := range row[1:] {
		w := widths[i+1]
		if i%sideColumns == 0 {
			line += "  "
		} else if w == 0 {
			continue
		}
		text := pad(c.text, w, c.left)
		if c.color != nil {
			text = strings.Replace(text, c.text, c.color(c.text), 1)
		}
		line += " " + text
	}
	return line
}

// between returns the width of columns with a space between those that are not empty.
func between(widths []int) int {
	sum := -1
	for _, w := range widths {
		if w > 0 {
			sum += w + 1
		}
	}
	return max(sum, 0)
}

// widen makes a column wider so that its group, which is have wide, is want wide.
func widen(column *int, have, want int) { *column += max(want-have, 0) }

func pad(s string, width int, left bool) string {
	space := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
	if left {
		return s + space
	}
	return space + s
}

func center(s string, width int) string {
	return pad(strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0)/2)+s, width, true)
}

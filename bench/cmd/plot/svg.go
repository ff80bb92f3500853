package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// theme has the colors of one plot. The background stays transparent.
type theme struct{ name, text, faint, ours, others string }

var themes = []theme{
	{"light", "#1f2328", "#59636e", "#0b7d5b", "#b6bec8"},
	{"dark", "#f0f6fc", "#9198a1", "#2fbf8f", "#545d68"},
}

// The geometry, in pixels. A panel is a title with a bar for each server below.
const (
	width      = 680
	labels     = 76  // width of the column of names
	longest    = 480 // length of the longest bar
	titleLine  = 28
	barLine    = 24
	barHeight  = 16
	panelSpace = 18
)

// render draws the panels as an SVG image.
func render(panels []panel, t theme) []byte {
	var b bytes.Buffer
	height := len(panels)*(titleLine+barLine*len(servers)+panelSpace) - panelSpace + 6
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", summary(panels))
	y := 0
	for _, p := range panels {
		y = p.render(&b, t, y) + panelSpace
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// render draws one panel from y downwards and returns where it ends.
func (p panel) render(b *bytes.Buffer, t theme, y int) int {
	fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="600">%s<tspan fill="%s" font-weight="400"> · %s, lower is better</tspan></text>`+"\n",
		y+16, t.text, p.title, t.faint, p.unit)
	y += titleLine
	most := slices.Max(p.bars)
	for i, v := range p.bars {
		color, weight := t.others, "400"
		if i == 0 {
			color, weight = t.ours, "600"
		}
		length := max(2, int(v/most*longest+0.5))
		fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="%s">%s</text>`, y+13, t.text, weight, servers[i].label)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`, labels, y, length, barHeight, color)
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-weight="%s">%s</text>`+"\n", labels+length+8, y+13, t.text, weight, grouped(v))
		y += barLine
	}
	return y
}

// summary says in words what the plot shows, for people who cannot see it.
func summary(panels []panel) string {
	var texts []string
	for _, p := range panels {
		var bars []string
		for i, v := range p.bars {
			bars = append(bars, servers[i].label+" "+grouped(v))
		}
		texts = append(texts, fmt.Sprintf("%s in %s: %s.", p.title, p.unit, strings.Join(bars, ", ")))
	}
	return strings.Join(texts, " ")
}

// grouped writes a whole number with commas between groups of three digits. A half is rounded down: the median of two
// neighboring figures is then the same here and in the files of results.
func grouped(v float64) string {
	digits := strconv.Itoa(int(math.Ceil(v - 0.5)))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

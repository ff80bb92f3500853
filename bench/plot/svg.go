package plot

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gallop-http/gallop/bench/svg"
)

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

// Draw reads results from one directory and writes plot-light.svg and plot-dark.svg to another.
func Draw(results, docs string) error {
	panels, err := readPanels(results)
	if err != nil {
		return err
	}
	for _, t := range svg.Themes {
		if err := os.WriteFile(filepath.Join(docs, "plot-"+t.Name+".svg"), render(panels, t), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render draws the panels as an SVG image.
func render(panels []panel, t svg.Theme) []byte {
	height := len(panels)*(titleLine+barLine*len(servers)+panelSpace) - panelSpace + 6
	return svg.Image(width, height, summary(panels), func(b *bytes.Buffer) {
		y := 0
		for _, p := range panels {
			y = p.render(b, t, y) + panelSpace
		}
	})
}

// render draws one panel from y downwards and returns where it ends.
func (p panel) render(b *bytes.Buffer, t svg.Theme, y int) int {
	fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="600">%s<tspan fill="%s" font-weight="400"> · %s, lower is better</tspan></text>`+"\n",
		y+16, t.Text, p.title, t.Faint, p.unit)
	y += titleLine
	most := slices.Max(p.bars)
	for i, v := range p.bars {
		color, weight := t.Others, "400"
		if i == 0 {
			color, weight = t.Ours, "600"
		}
		length := max(2, int(v/most*longest+0.5))
		fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="%s">%s</text>`, y+13, t.Text, weight, servers[i].label)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`, labels, y, length, barHeight, color)
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-weight="%s">%s</text>`+"\n", labels+length+8, y+13, t.Text, weight, svg.Grouped(v))
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
			bars = append(bars, servers[i].label+" "+svg.Grouped(v))
		}
		texts = append(texts, fmt.Sprintf("%s in %s: %s.", p.title, p.unit, strings.Join(bars, ", ")))
	}
	return strings.Join(texts, " ")
}

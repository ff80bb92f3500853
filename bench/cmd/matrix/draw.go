//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gallop-http/gallop/bench/svg"
)

// docs is the directory of the plots.
var docs = filepath.Join("..", "docs")

// shown are the servers with bars, whose rates are divided by fasthttp's.
var shown = []struct{ key, label string }{{"gallop", "gallop"}, {"nethttp", "net/http"}, {puma, "puma"}}

// titles are the titles of the panels, one for each kind of body.
var titles = map[string]string{"bytes": "Bytes", "string": "String", "chunked": "Stream in chunks", "file": "File"}

// The geometry, in pixels. A panel has a title, a group of bars for each size, and a line with the sizes.
const (
	width      = 680
	leftEdge   = 70
	groupWidth = 86
	barWidth   = 22
	titleLine  = 40
	barsHeight = 110
	sizeLine   = 38
	panel      = titleLine + barsHeight + sizeLine
	legendLine = 28
)

// drawAll draws the plot of a saved report in each theme.
func drawAll(text, dir string) error {
	t, err := parseTable(text)
	if err != nil {
		return err
	}
	for _, theme := range svg.Themes {
		if err := os.WriteFile(filepath.Join(dir, "matrix-"+theme.Name+".svg"), t.draw(theme), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a panel for each kind of body.
func (t table) draw(theme svg.Theme) []byte {
	return svg.Image(width, legendLine+len(kinds)*panel, t.summary(), func(b *bytes.Buffer) {
		legend(b, theme)
		for i, kind := range kinds {
			t.panel(b, theme, kind, legendLine+i*panel)
		}
	})
}

// colors returns the color and the opacity of each server's bars.
func colors(theme svg.Theme, i int) (color, opacity string) {
	return []string{theme.Ours, theme.Others, theme.Others}[i], []string{"1", "1", ".5"}[i]
}

// legend shows the color of each server.
func legend(b *bytes.Buffer, theme svg.Theme) {
	x := 0
	for i, s := range shown {
		color, opacity := colors(theme, i)
		fmt.Fprintf(b, `<rect x="%d" y="5" width="12" height="12" rx="2" fill="%s" fill-opacity="%s"/>`, x, color, opacity)
		fmt.Fprintf(b, `<text x="%d" y="16" fill="%s">%s</text>`+"\n", x+18, theme.Text, s.label)
		x += 90
	}
	fmt.Fprintf(b, `<text x="%d" y="16" fill="%s">responses/s, fasthttp = 1, higher is better</text>`+"\n", x, theme.Faint)
}

// panel draws the bars of one kind of body from y downwards.
func (t table) panel(b *bytes.Buffer, theme svg.Theme, kind string, y int) {
	most := 1.2
	for _, kB := range sizes {
		for _, s := range shown {
			most = max(most, t.ratio(cell{kind, kB}, s.key))
		}
	}
	scale, bottom := barsHeight/most, y+titleLine+barsHeight
	fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="600">%s</text>`+"\n", y+16, theme.Text, titles[kind])
	for i, kB := range sizes {
		x := leftEdge + i*groupWidth
		for j, s := range shown {
			color, opacity := colors(theme, j)
			q := t.ratio(cell{kind, kB}, s.key)
			high := int(q*scale + 0.5)
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s" fill-opacity="%s"/>`, x+j*(barWidth+2), bottom-high, barWidth, high, color, opacity)
			if j == 0 {
				fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-size="12" font-weight="600" text-anchor="middle">%.2f</text>`, x+barWidth/2, bottom-high-4, theme.Text, q)
			}
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-size="12" text-anchor="middle">%s kB</text>`+"\n", x+(3*barWidth+4)/2, bottom+16, theme.Faint, svg.Grouped(float64(kB)))
	}
	one := bottom - int(scale+0.5)
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%[2]d" stroke="%[4]s" stroke-dasharray="4 3"/>`, leftEdge-6, one, width, theme.Faint)
	fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-size="12">fasthttp</text>`+"\n", one+4, theme.Faint)
}

// summary says in words what the plot shows, for people who cannot see it.
func (t table) summary() string {
	texts := []string{"Responses per second as a multiple of fasthttp's."}
	for _, kind := range kinds {
		for _, kB := range sizes {
			var bars []string
			for _, s := range shown {
				bars = append(bars, fmt.Sprintf("%s %.2f", s.label, t.ratio(cell{kind, kB}, s.key)))
			}
			texts = append(texts, fmt.Sprintf("%s of %d kB: %s.", titles[kind], kB, strings.Join(bars, ", ")))
		}
	}
	return strings.Join(texts, " ")
}

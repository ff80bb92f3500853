//go:build linux

package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/svg"
)

// files returns the page and the plots.
func (r *record) files() map[string][]byte {
	files := map[string][]byte{"README.md": r.page()}
	for _, theme := range svg.Themes {
		files["plot-"+theme.Name+".svg"] = r.draw(theme)
	}
	return files
}

// page writes a table for each comparison.
func (r *record) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Comparison of %s\n\n", r.Date.Format(time.DateOnly))
	fmt.Fprintf(&b, "Commit %s, %s. %s.\nThe tables show medians. In each round, the servers run one after the other.\n", r.Commit, strings.Join(r.Versions, ", "), r.Machine)
	if len(r.Comparisons) > 0 {
		b.WriteString("\n<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"plot-dark.svg\"><img src=\"plot-light.svg\" alt=\"The figures of the tables as bars\"></picture>\n")
	}
	for _, c := range r.Comparisons {
		fmt.Fprintf(&b, "\n## %s\n\n%s, %d connections, %d rounds of %v s; %s.\n\n", c.Name, capital(c.About), c.Conns, c.Rounds, c.Length, c.where())
		if c.Refused != "" {
			fmt.Fprintf(&b, "**%s**\n\n", c.Refused)
		}
		b.WriteString("| server | requests/s | CPU µs per request | p50 ms | p99 ms | memory MiB |\n|---|---|---|---|---|---|\n")
		for _, s := range c.Servers {
			m := s.Median
			fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %.2f | %.1f |\n", s.Name, svg.Grouped(m["requests_per_second"]), m["cpu_us"], m["p50_ms"], m["p99_ms"], m["rss_kib"]/1024)
		}
		for i, v := range c.Verdicts {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "- %s\n", v.Text)
		}
	}
	for _, row := range r.Benchmarks {
		fmt.Fprintf(&b, "\n## %s\n\n%s, %d rounds.\n\n```text\n%s```\n", row.Name, capital(row.About), row.Rounds, row.tables)
	}
	for _, row := range r.Programs {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```text\n%s```\n", row.Name, capital(row.About), row.Text)
	}
	return b.Bytes()
}

func (c recorded) where() string {
	if c.Shared {
		return "server and load share all cores, so compare requests/s"
	}
	return "the server has a core to itself, and the load generator limits requests/s, so compare CPU time"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// The geometry of the plot, in pixels.
const (
	plotWidth  = 720
	nameWidth  = 150
	longestBar = 460
	titleLine  = 28
	barLine    = 22
	barHeight  = 14
	panelSpace = 18
)

// draw draws a panel for each comparison that was not refused. Bars are CPU time, or the rate if cores are shared.
func (r *record) draw(theme svg.Theme) []byte {
	height, words := 0, []string{}
	var panels []recorded
	for _, c := range r.Comparisons {
		if c.Refused == "" {
			panels = append(panels, c)
			height += titleLine + barLine*len(c.bars()) + panelSpace
			words = append(words, c.words())
		}
	}
	return svg.Image(plotWidth, max(height, 1), strings.Join(words, " "), func(b *bytes.Buffer) {
		y := 0
		for _, c := range panels {
			y = c.draw(b, theme, y) + panelSpace
		}
	})
}

// bar is a server with its figure.
type bar struct {
	name  string
	value float64
	text  string
}

// bars returns the servers without twins.
func (c recorded) bars() (bars []bar) {
	for _, s := range c.Servers {
		if strings.HasSuffix(s.Name, again) {
			continue
		}
		if c.Shared {
			v := s.Median["requests_per_second"]
			bars = append(bars, bar{s.Name, v, svg.Grouped(v)})
		} else {
			v := s.Median["cpu_us"]
			bars = append(bars, bar{s.Name, v, fmt.Sprintf("%.2f", v)})
		}
	}
	return bars
}

func (c recorded) unit() string {
	if c.Shared {
		return "requests/s, higher is better"
	}
	return "µs of CPU time per request, lower is better"
}

func (c recorded) words() string {
	var words []string
	for _, b := range c.bars() {
		words = append(words, b.name+" "+b.text)
	}
	return fmt.Sprintf("%s, %s: %s.", c.Name, c.unit(), strings.Join(words, ", "))
}

func (c recorded) draw(b *bytes.Buffer, theme svg.Theme, y int) int {
	fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="600">%s<tspan fill="%s" font-weight="400"> · %s</tspan></text>`+"\n", y+16, theme.Text, c.Name, theme.Faint, c.unit())
	y += titleLine
	most := 0.0
	for _, s := range c.bars() {
		most = max(most, s.value)
	}
	for _, s := range c.bars() {
		color, weight := theme.Others, "400"
		if strings.Contains(s.name, "gallop") {
			color, weight = theme.Ours, "600"
		}
		length := max(2, int(s.value/max(most, 1e-9)*longestBar+0.5))
		fmt.Fprintf(b, `<text x="0" y="%d" fill="%s" font-weight="%s">%s</text>`, y+12, theme.Text, weight, s.name)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`, nameWidth, y, length, barHeight, color)
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-weight="%s">%s</text>`+"\n", nameWidth+length+8, y+12, theme.Text, weight, s.text)
		y += barLine
	}
	return y
}

package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The charts share one size; the page scales them.
const (
	chartWidth  = 560
	chartHeight = 250
	plotLeft    = 62
	plotRight   = chartWidth - 14
	plotTop     = 12
	plotBottom  = chartHeight - 40
)

// axis maps values to pixels.
type axis struct {
	low, high float64 // values at both ends
	log       bool
	from, to  float64 // pixels at both ends
	ticks     []tick
	unit      string // under or beside the axis
}

type tick struct {
	value float64
	label string
}

// at returns the pixel of a value. Values outside the axis are moved to its ends.
func (a *axis) at(v float64) float64 {
	low, high := a.low, a.high
	v = min(max(v, low), high)
	if a.log {
		v, low, high = math.Log10(v), math.Log10(low), math.Log10(high)
	}
	if high <= low {
		return a.from
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// linear creates an axis from 0 to at least high with about n ticks at round values.
func linear(high float64, n int, from, to float64, label func(float64) string) *axis {
	step := roundStep(high / float64(n))
	a := &axis{from: from, to: to}
	for i := 0; ; i++ {
		v := float64(i) * step
		a.ticks = append(a.ticks, tick{v, label(v)})
		if v >= high && i > 0 {
			a.high = v
			return a
		}
	}
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is at least v.
func roundStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// logarithmic creates an axis that includes low and high, with a tick at each power of ten. A short axis has ticks at 2 and
// 5 as well.
func logarithmic(low, high, from, to float64, label func(float64) string) *axis {
	first, last := math.Floor(math.Log10(low)+1e-9), math.Ceil(math.Log10(high)-1e-9)
	last = max(last, first+1)
	a := &axis{low: math.Pow(10, first), high: math.Pow(10, last), log: true, from: from, to: to}
	steps := []float64{1}
	if last-first <= 2 {
		steps = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range steps {
			if v := f * math.Pow(10, e); v <= a.high*(1+1e-9) {
				a.ticks = append(a.ticks, tick{v, label(v)})
			}
		}
	}
	return a
}

// line is a line of a chart.
type line struct {
	name   string
	class  string
	points []point
}

type point struct{ x, y float64 }

// svg is a chart that is being drawn.
type svg struct {
	strings.Builder
	x, y *axis
}

func (s *svg) f(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// px formats a pixel.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// newSVG begins a chart with its title and description for screen readers, and draws the axes.
func newSVG(id, title, desc string, x, y *axis) *svg {
	s := &svg{x: x, y: y}
	id = html.EscapeString(id)
	s.f(`<svg viewBox="0 0 %d %d" role="img" aria-labelledby="%s-t %s-d">`, chartWidth, chartHeight, id, id)
	s.f(`<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, id, html.EscapeString(title), id, html.EscapeString(desc))
	for _, t := range y.ticks {
		at := px(y.at(t.value))
		s.f(`<line class="grid" x1="%d" x2="%d" y1="%s" y2="%s"/>`, plotLeft, plotRight, at, at)
		s.f(`<text class="tick end" x="%d" y="%s" dy="4">%s</text>`, plotLeft-6, at, html.EscapeString(t.label))
	}
	for _, t := range x.ticks {
		at := px(x.at(t.value))
		s.f(`<line class="axis" x1="%s" x2="%s" y1="%d" y2="%d"/>`, at, at, plotBottom, plotBottom+4)
		s.f(`<text class="tick middle" x="%s" y="%d">%s</text>`, at, plotBottom+17, html.EscapeString(t.label))
	}
	s.f(`<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`, plotLeft, plotRight, plotBottom, plotBottom)
	if x.unit != "" {
		s.f(`<text class="tick middle" x="%d" y="%d">%s</text>`, (plotLeft+plotRight)/2, chartHeight-5, html.EscapeString(x.unit))
	}
	return s
}

// draw draws a line. It is interrupted where a logarithmic axis cannot show a value.
func (s *svg) draw(l line) {
	var path strings.Builder
	move := true
	for _, p := range l.points {
		if s.y.log && p.y <= 0 {
			move = true
			continue
		}
		command := "L"
		if move {
			command = "M"
		}
		move = false
		path.WriteString(command + px(s.x.at(p.x)) + " " + px(s.y.at(p.y)))
	}
	if path.Len() > 0 {
		s.f(`<path class="line %s" d="%s"/>`, html.EscapeString(l.class), path.String())
	}
}

func (s *svg) end() template.HTML {
	s.WriteString("</svg>")
	return template.HTML(s.String()) // all text went through html.EscapeString
}

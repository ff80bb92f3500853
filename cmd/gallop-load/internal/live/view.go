package live

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// screen is what the view is drawn on, with the state of the controls.
type screen struct {
	width, height int
	style         figure.Style
	paused        bool
	factor        float64
}

// block is a part of the view. If the terminal is too small, the blocks with the highest rank are left out.
type block struct {
	rank  int
	lines []string
}

// view draws a snapshot. Every line fits into the width, and there are at most height lines.
func view(s *Snapshot, on screen) string {
	blocks := []block{
		{0, []string{on.header(s)}},
		{3, on.scenarios(s)},
		{1, on.rate(s)},
		{1, []string{on.latency(s)}},
		{7, nil}, // the heat strip takes the room that is left
		{4, on.statuses(s)},
		{2, on.errors(s)},
		{5, on.thresholds(s)},
		{6, []string{on.conns(s)}},
		{6, []string{on.cpu(s)}},
		{8, []string{on.keys()}},
	}
	left := on.height
	shown := make([]bool, len(blocks))
	for rank := range 9 {
		for i, b := range blocks {
			if b.rank == rank && len(b.lines) > 0 && len(b.lines) <= left {
				shown[i] = true
				left -= len(b.lines)
			}
		}
	}
	// A strip of fewer than three rows says nothing.
	if left >= 3 {
		blocks[4].lines, shown[4] = heat(s.Recent, on.width, min(left, 14)), true
	}
	var lines []string
	for i, b := range blocks {
		if shown[i] {
			lines = append(lines, b.lines...)
		}
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, on.width, "…")
	}
	return strings.Join(lines, "\n")
}

// narrow reports whether lines have to be short.
func (on screen) narrow() bool { return on.width < 60 }

func (on screen) keys() string {
	if on.narrow() {
		return on.style.Faint("q end · p pause · + and - rate")
	}
	return on.style.Faint("q end with summary · p pause or go on · + and - change the rate")
}

// label pads the name of a line.
func (on screen) label(name string) string { return on.style.Faint(padRight(name, labelWidth)) }

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0)) + s
}

func clock(d time.Duration) string {
	d = d.Truncate(100 * time.Millisecond)
	return fmt.Sprintf("%dm%04.1fs", d/time.Minute, (d % time.Minute).Seconds())
}

func (on screen) header(s *Snapshot) string {
	line := on.style.Bold("gallop load") + " " + clock(s.Elapsed)
	if s.Length > 0 {
		line += " of " + clock(s.Length)
	}
	if s.WarmUp {
		line += " " + on.style.Yellow("warm-up")
	}
	if on.paused {
		line += " " + on.style.Yellow("paused")
	}
	if on.factor != 1 {
		line += " " + on.style.Yellow(fmt.Sprintf("rate × %.2f by hand", on.factor))
	}
	if s.Target != "" {
		line += "  " + figure.Line(s.Target, 200)
	}
	return line
}

// mostScenarios is how many scenarios have a line.
const mostScenarios = 6

func (on screen) scenarios(s *Snapshot) []string {
	var lines []string
	for i := range s.Scenarios {
		if i == mostScenarios {
			return append(lines, fmt.Sprintf("%s… and %d more scenarios", on.label(""), len(s.Scenarios)-i))
		}
		lines = append(lines, on.scenario(&s.Scenarios[i]))
	}
	return lines
}

func (on screen) scenario(c *Scenario) string {
	name := figure.Line(c.Name, labelWidth-2)
	wide := min(max(on.width/4, 8), 30)
	filled := int(min(max(c.Progress, 0), 1) * float64(wide))
	line := on.label(name) + "[" + on.style.Cyan(strings.Repeat("=", filled)) + strings.Repeat(" ", wide-filled) + "]" +
		fmt.Sprintf(" %3.0f%%", 100*min(max(c.Progress, 0), 1))
	switch c.State {
	case Waiting:
		return line + " " + on.style.Faint("waiting to start")
	case Ended:
		return line + " " + on.style.Green("done")
	}
	if c.Stages > 0 {
		line += fmt.Sprintf(" stage %d/%d", c.Stage, c.Stages)
	}
	line += " " + amount(c.Now, c.Open)
	switch {
	case c.Stages > 0:
		line += " → " + amount(c.Next, c.Open) + " in " + clock(c.Left)
	case c.Left > 0:
		line += ", " + clock(c.Left) + " left"
	}
	if c.Open {
		line += ", " + users(c.Users)
		if c.MaxUsers > 0 {
			line += " of " + figure.Count(c.MaxUsers)
		}
	}
	return line
}

// amount formats users or a rate.
func amount(v float64, open bool) string {
	if open {
		return figure.ShortRate(v)
	}
	return users(int64(math.Round(v)))
}

func users(n int64) string {
	if n == 1 {
		return "1 user"
	}
	return figure.Count(n) + " users"
}

// isOpen reports whether some running scenario is an open loop.
func (s *Snapshot) isOpen() bool {
	return slices.ContainsFunc(s.Scenarios, func(c Scenario) bool { return c.Open })
}

func perSecond(n int64, s *result.Second) float64 {
	if s.Length <= 0 {
		return 0
	}
	return float64(n) / s.Length.Seconds()
}

func (on screen) rate(s *Snapshot) []string {
	line := on.label("rate") + on.style.Bold(figure.ShortRate(perSecond(s.Last.Done, &s.Last)))
	switch {
	case s.isOpen() && on.narrow():
		line += " of " + figure.ShortRate(perSecond(s.Last.Due, &s.Last))
		if s.Behind {
			line += " " + on.style.Red("behind")
		}
	case s.isOpen():
		line += " reached, " + figure.ShortRate(perSecond(s.Last.Due, &s.Last)) + " asked, lag " + figure.Duration(s.Last.Lag)
		if s.Behind {
			line += " " + on.style.Red("the generator is behind")
		}
	case s.Behind:
		line += " " + on.style.Red("the generator is saturated")
	}
	lines := []string{line}
	var rates []float64
	seconds := recent(s.Recent, on.width-labelWidth)
	for i := range seconds {
		rates = append(rates, perSecond(seconds[i].Done, &seconds[i]))
	}
	if len(rates) > 1 {
		lines = append(lines, on.label("")+on.style.Cyan(spark(rates)))
	}
	return lines
}

func (on screen) latency(s *Snapshot) string {
	l := &s.Last
	if on.narrow() {
		return on.label("latency") + fmt.Sprintf("p50 %s p99 %s", on.style.Bold(figure.Duration(l.P50)), on.style.Bold(figure.Duration(l.P99)))
	}
	return on.label("latency") + fmt.Sprintf("p50 %s  p90 %s  p99 %s  max %s", on.style.Bold(figure.Duration(l.P50)),
		figure.Duration(l.P90), on.style.Bold(figure.Duration(l.P99)), figure.Duration(l.Max)) + on.style.Faint(" (last second)")
}

func (on screen) statuses(s *Snapshot) []string {
	if len(s.Status) == 0 {
		return nil
	}
	line := on.label("status")
	for _, code := range slices.Sorted(maps.Keys(s.Status)) {
		text := fmt.Sprintf("%d: %s", code, figure.Count(s.Status[code]))
		switch {
		case code >= 500:
			text = on.style.Red(text)
		case code >= 400:
			text = on.style.Yellow(text)
		}
		line += text + "  "
	}
	if s.Unexpected > 0 {
		line += on.style.Red(figure.Count(s.Unexpected) + " unexpected")
	}
	return []string{strings.TrimRight(line, " ")}
}

// mostErrors is how many kinds of errors have a line.
const mostErrors = 4

func (on screen) errors(s *Snapshot) []string {
	var lines []string
	if s.Dropped > 0 {
		lines = append(lines, on.label("dropped")+on.style.Red(figure.Count(s.Dropped)+" iterations"))
	}
	for i, e := range s.Errors {
		label := ""
		if i == 0 {
			label = "errors"
		}
		if i == mostErrors {
			return append(lines, fmt.Sprintf("%s… and %d more kinds", on.label(""), len(s.Errors)-i))
		}
		lines = append(lines, on.label(label)+on.style.Red(figure.Line(e.Kind, 20)+": "+figure.Count(e.Count))+"  "+figure.Line(e.Example, 200))
	}
	return lines
}

// mostThresholds is how many thresholds have a line.
const mostThresholds = 6

func (on screen) thresholds(s *Snapshot) []string {
	var lines []string
	for i, t := range s.Thresholds {
		label := ""
		if i == 0 {
			label = "thresholds"
		}
		if i == mostThresholds {
			return append(lines, fmt.Sprintf("%s… and %d more thresholds", on.label(""), len(s.Thresholds)-i))
		}
		lines = append(lines, on.label(label)+on.style.Mark(t.OK)+fmt.Sprintf(" %s %s: %s (margin %+.0f%%)", figure.Line(t.Metric, 60),
			figure.Line(t.Expr, 40), figure.Metric(t.Metric, t.Expr, t.Value), 100*t.Margin))
	}
	return lines
}

func (on screen) conns(s *Snapshot) string {
	l := &s.Last
	if on.narrow() {
		return on.label("connections") + fmt.Sprintf("%s open, %s in flight", figure.Count(l.Conns), figure.Count(l.InFlight))
	}
	return on.label("connections") + fmt.Sprintf("%s open, %.0f opened/s, %.0f closed by the server/s, %s in flight", figure.Count(l.Conns),
		perSecond(l.Opened, l), perSecond(l.Closed, l), figure.Count(l.InFlight))
}

func (on screen) cpu(s *Snapshot) string {
	line := on.label("CPU") + "generator " + share(s.Last.CPU, s.Last.Length)
	if s.Server {
		line += ", server " + share(s.Last.Server, s.Last.Length)
		if s.ServerRSS > 0 {
			line += " and " + figure.Bytes(float64(s.ServerRSS))
		}
	}
	return line + on.style.Faint(" (100% is one core)")
}

func share(cpu, length time.Duration) string {
	if length <= 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(cpu)/float64(length))
}

//go:build linux

// Package reliability attacks an HTTP/1 server the way a hostile network does and says whether it held.
//
// Each [Scenario] starts the server under test as its own process, so that memory, descriptors and CPU time are the
// server's alone and are read from /proc, drives it with plain sockets, and compares what it counted with a goal. The
// attackers are processes of their own where they need more descriptors than one process may have.
//
// One program plays three parts, by package child: the judge, which is what a
// person starts; the server; the attacker. Linux only.
package reliability

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/load"
)

// Child plays the server's or the attacker's part when this process was started for it, and then does not return. A
// program that calls [Run] must call Child first.
func Child() {
	roles := child.Roles{"server": serverMain, "attack": attackMain}
	maps.Copy(roles, load.Roles)
	child.Play(roles)
}

// Options says what to attack and how hard.
type Options struct {
	Server   string    // one of package peers
	Timeouts bool      // give the peers the timeouts that gallop has by default; gallop ignores it
	Full     bool      // the full form, minutes to hours; false is at most 40 s a scenario, and three minutes for R8
	Seed     uint64    // of every random choice; 0 picks one
	Slack    float64   // latency goals are multiplied by it on a machine that is busy with something else; 0 means 1
	Out      io.Writer // where counts and verdicts go

	Endurance time.Duration // how long R8's load lasts; 0 is what its form has
}

// A Scenario is one attack with its goal.
type Scenario struct {
	ID    string
	Title string
	run   func(*trial) error
}

// Scenarios lists all of them in the order in which they run by default.
var Scenarios = []Scenario{
	{"R8", "endurance", endurance},
	{"R9", "slowloris", slowHeaders},
	{"R10", "slow bodies and slow readers", slowBodies},
	{"R11", "bad-input flood", badInput},
	{"R13", "restarts under load", restarts},
	{"R14", "handler panics", panics},
	{"R15", "out of descriptors, short of memory", exhaustion},
	{"R22", "idle connections", idleConnections},
	{"S6", "oversized and endless input", oversized},
	{"R20", "clock", clockJumps},
}

// A trial is one run of a scenario: it collects what was counted and which goals were missed.
type trial struct {
	Options
	random *rand.Rand
	counts []string
	missed []string
}

// logf prints a line of progress.
func (t *trial) logf(format string, args ...any) {
	fmt.Fprintf(t.Out, "  "+format+"\n", args...)
}

// count records a figure for the verdict line.
func (t *trial) count(format string, args ...any) {
	t.counts = append(t.counts, fmt.Sprintf(format, args...))
}

// require records a missed goal unless ok holds.
func (t *trial) require(ok bool, format string, args ...any) {
	if !ok {
		t.missed = append(t.missed, fmt.Sprintf(format, args...))
	}
}

// requireTime is require for a latency, which Slack loosens.
func (t *trial) requireTime(got, limit time.Duration, what string) {
	limit = time.Duration(float64(limit) * t.Slack)
	t.require(got <= limit, "%s %v, limit %v", what, round(got), round(limit))
}

// pick chooses between the short and the full size of something.
func (t *trial) pick(short, full int) int {
	if t.Full {
		return full
	}
	return short
}

// A Verdict is what became of one scenario.
type Verdict struct {
	ID, Title string
	Pass      bool
	Counts    []string // what was measured
	Missed    []string // the goals that were missed; empty when Pass
	Took      time.Duration
}

// Run runs one scenario and prints its verdict line.
func Run(s Scenario, o Options) Verdict {
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	if o.Slack == 0 {
		o.Slack = 1
	}
	t := &trial{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0))}
	fmt.Fprintf(o.Out, "%s %s: server %s, seed %d, %s form\n", s.ID, s.Title, o.Server, o.Seed, form(o.Full))
	start := time.Now()
	if err := s.run(t); err != nil {
		t.require(false, "could not be run to its end: %v", err)
	}
	v := Verdict{s.ID, s.Title, len(t.missed) == 0, t.counts, t.missed, time.Since(start)}
	fmt.Fprintln(o.Out, v.Line())
	return v
}

// Line is the one line that says it all.
func (v Verdict) Line() string {
	line := v.ID + " PASS " + strings.Join(v.Counts, ", ")
	if !v.Pass {
		line = v.ID + " FAIL " + strings.Join(v.Missed, "; ") + " (" + strings.Join(v.Counts, ", ") + ")"
	}
	return line
}

// Table shows several verdicts one below the other.
func Table(w io.Writer, verdicts []Verdict) {
	fmt.Fprintf(w, "\n%-4s %-36s %-5s %6s  %s\n", "id", "scenario", "", "took", "missed")
	for _, v := range verdicts {
		result := "PASS"
		if !v.Pass {
			result = "FAIL"
		}
		fmt.Fprintf(w, "%-4s %-36s %-5s %5.0fs  %s\n", v.ID, v.Title, result, v.Took.Seconds(), shorten(strings.Join(v.Missed, "; "), 100))
	}
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + " …"
}

func form(full bool) string {
	if full {
		return "full"
	}
	return "short"
}

// round makes a duration short enough to read.
func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

//go:build linux

// Package reliability attacks an HTTP/1 server like a hostile network does, and judges whether the server held. It
// runs on Linux only.
//
// Each [Scenario] starts the server under test in its own process, so that memory, descriptors and CPU time can be
// read from /proc. It then drives the server with plain sockets and compares the counts with a goal. Attackers run in
// further processes if they need more descriptors than one process may have.
//
// One program plays all three roles with the help of package child: the judge, which the user starts, the server and
// the attacker.
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

// Child runs the server's or the attacker's role and does not return, if this process was started for one. A program
// that calls [Run] must call Child first.
func Child() {
	roles := child.Roles{"server": serverMain, "attack": attackMain}
	maps.Copy(roles, load.Roles)
	child.Play(roles)
}

// Options says which server to attack and how hard.
type Options struct {
	Server   string    // a name from package peers, or "bare"
	Timeouts bool      // give the peers the timeouts that gallop has by default; no effect on gallop
	Full     bool      // run the full form, which takes minutes to hours; the short form takes at most 40 s, R8 three minutes
	Seed     uint64    // seed of every random choice; 0 picks one
	Slack    float64   // factor for the latency goals, for machines that are busy with other work; 0 means 1
	Out      io.Writer // where counts and verdicts are printed

	Endurance time.Duration // duration of R8's load; 0 means the default of the chosen form
}

// Scenario is one attack with its goal.
type Scenario struct {
	ID    string
	Title string
	run   func(*trial) error
}

// Scenarios lists all scenarios in the order in which they run by default.
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

// trial is one run of a scenario. It collects counts and missed goals.
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

// require records a missed goal unless ok is true.
func (t *trial) require(ok bool, format string, args ...any) {
	if !ok {
		t.missed = append(t.missed, fmt.Sprintf(format, args...))
	}
}

// requireTime is like require, for a latency. Slack multiplies its limit.
func (t *trial) requireTime(got, limit time.Duration, what string) {
	limit = time.Duration(float64(limit) * t.Slack)
	t.require(got <= limit, "%s %v, limit %v", what, round(got), round(limit))
}

// pick returns the short or the full size.
func (t *trial) pick(short, full int) int {
	if t.Full {
		return full
	}
	return short
}

// Verdict is the result of one scenario.
type Verdict struct {
	ID, Title string
	Pass      bool
	Counts    []string // measured figures
	Missed    []string // goals that were missed; empty if Pass is true
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

// Line returns the verdict as one line.
func (v Verdict) Line() string {
	line := v.ID + " PASS " + strings.Join(v.Counts, ", ")
	if !v.Pass {
		line = v.ID + " FAIL " + strings.Join(v.Missed, "; ") + " (" + strings.Join(v.Counts, ", ") + ")"
	}
	return line
}

// Table prints several verdicts as a table.
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

// round rounds a duration to a readable precision.
func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

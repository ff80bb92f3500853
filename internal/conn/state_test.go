package conn

import (
	"strings"
	"testing"
)

func init() { WatchPhases() }

// A transition that is not in the picture panics with the names of both phases.
func TestOffPicture(t *testing.T) {
	told := ""
	defer func(f func(string)) { offPicture = f }(offPicture)
	offPicture = func(text string) { told += text + "\n" }
	var c Entry
	for _, to := range []phase{phaseIdle, phaseLast, phaseStarted, phaseQueued, phasePending, phaseQueued, phaseClosing} {
		if c.become(to); c.now() != to || told != "" {
			t.Fatalf("%v: %v, %q", to, c.now(), told)
		}
	}
	if c.become(phaseIdle); told != "conn: no transition leads from closing to idle\n" {
		t.Errorf("%q", told)
	}
	if c.move(phaseLast, phaseActive) || strings.Count(told, "\n") != 1 {
		t.Errorf("a connection that is not in a phase has left it: %q", told)
	}
}

// Every phase can be reached from new, and leads to the end, in the picture.
func TestPicture(t *testing.T) {
	reached := setOf(phaseNew)
	for range phases {
		for from := range phases {
			if reached.has(from) {
				reached |= picture[from]
			}
		}
	}
	for p := range phases {
		if !reached.has(p) {
			t.Errorf("nothing leads to %v", p)
		}
		if isEnd := p == phaseTaken || p == phaseClosing; isEnd != (picture[p] == 0) {
			t.Errorf("%v leads to %d other phases", p, picture[p])
		}
		if picture[p].has(p) {
			t.Errorf("%v leads to itself", p)
		}
	}
}

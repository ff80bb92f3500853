package poll

import "testing"

// A loop spins only if that was successful often enough, except that it tries again every 64th time.
func TestSpin(t *testing.T) {
	for _, tt := range []struct {
		name         string
		spins        uint8 // before
		hits         int
		event, found bool
		want         int // hits afterwards
		looks        bool
	}{
		{"no success so far", 0, 0, true, false, 0, false},
		{"the 64th time, with an event", 63, 0, true, true, 2, true},
		{"the 64th time, without an event", 63, 0, false, false, 0, true},
		{"after successes, with an event", 0, 3, true, true, 5, true},
		{"after successes, without an event", 0, 3, false, false, 2, true},
		{"successes that are not counted", 0, 7, true, true, 8, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			w := &l.waits
			w.spins, w.hits = tt.spins, tt.hits
			if tt.event {
				ringBell(l.bell)
			}
			l.tick()
			from := l.now
			if found := l.spin(); found != tt.found || w.hits != tt.want {
				t.Errorf("found: %t, hits: %d", found, w.hits)
			}
			if took := l.now - from; !tt.looks && took != 0 || tt.looks && !tt.found && took < Moment(spinFor) {
				t.Errorf("it took %d ns", took)
			}
		})
	}
}

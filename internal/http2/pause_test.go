package http2

import (
	"slices"
	"strings"
	"testing"
)

// A connection that pauses means the same with the same bytes, but a call of Next does not do much more than pauseAfter.
func TestPauseAfterMuchWork(t *testing.T) {
	entry, refs := "\x40\x01a\x01b", strings.Repeat("\xbe", 1000)
	for _, tt := range []struct {
		name   string
		frames string
		one    int // the work of a frame
		pauses bool
	}{
		{"control frames", strings.Repeat(frame(typeWindowUpdate, 0, 0, number(1)), 900), headerLen + 4 + frameWork, true},
		{"unknown frames", strings.Repeat(frame(0xfa, 0, 0), 900), headerLen + frameWork, true},
		{"a header block that nobody gets", headers(1, 0, get...) + frame(typeRSTStream, 0, 1, number(8)) + frame(typeHeaders, flagEndHeaders|flagEndStream, 1, entry+refs) +
			strings.Repeat(frame(typeHeaders, flagEndHeaders|flagEndStream, 1, refs), 20), 1000*(1+fieldWork) + headerLen + frameWork + 10, true},
		{"few frames", strings.Repeat(frame(typeWindowUpdate, 0, 0, number(1)), 20), headerLen + 4 + frameWork, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events [2][]string
			for i, pauses := range []bool{false, true} {
				s := started(t)
				cfg := *s.c.cfg
				cfg.Pauses = pauses
				s.c.cfg = &cfg
				paused, most := 0, 0
				for p := []byte(tt.frames); len(p) > 0; {
					ev, n := s.c.Next(p, &s.m, s.now)
					p = p[n:]
					most = max(most, ev.Work)
					if ev.Kind == Pause {
						paused++
					} else {
						s.note(ev)
					}
				}
				events[i] = s.events
				if pauses && most >= pauseAfter+tt.one {
					t.Errorf("a call did %d, and a frame takes %d", most, tt.one)
				}
				if paused > 0 != (pauses && tt.pauses) {
					t.Errorf("%d pauses", paused)
				}
			}
			if !slices.Equal(events[0], events[1]) {
				t.Errorf("events %q with pauses, %q without", events[1], events[0])
			}
		})
	}
}

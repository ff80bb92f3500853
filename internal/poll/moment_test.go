package poll

import (
	"math"
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	now := Now()
	if got := now.Add(time.Hour) - now; got != Moment(time.Hour) {
		t.Errorf("an hour is %d", got)
	}
	if got := now.Add(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("for ever is until %d", got)
	}
	if at := MomentOf(time.Now()); at < now || at > Now() {
		t.Errorf("%d is not between %d and %d", at, now, Now())
	}
	for m, want := range map[Moment]Moment{
		0: 0, 1: Moment(wheelTick), Moment(wheelTick): Moment(wheelTick),
		Moment(wheelTick) + 1: 2 * Moment(wheelTick), math.MaxInt64: math.MaxInt64,
	} {
		if got := m.tick(); got != want {
			t.Errorf("what is due at %d fires at %d, not %d", m, got, want)
		}
	}
	if momentOf(time.Time{}) != 0 || momentOf(time.Unix(1, 0)) != past {
		t.Error("no deadline, or one that has passed, is a moment")
	}
}

// A deadline keeps its distance from now, with a monotonic reading and without.
func TestDeadlines(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, -time.Minute, time.Minute, time.Hour, 200 * 365 * 24 * time.Hour} {
		for name, at := range map[string]time.Time{"the clock": time.Now().Add(d).Round(0), "a monotonic one": time.Now().Add(d)} {
			left := time.Duration(momentOf(at) - int64(Now()))
			if left > d || left < d-30*time.Second {
				t.Errorf("%v from now, by %s, is %v away", d, name, left)
			}
		}
	}
	if got := momentOf(time.Now().Add(math.MaxInt64)); got != math.MaxInt64 {
		t.Errorf("for ever is until %d", got)
	}
	if got := momentOf(time.Time{}.Add(1)); got != past {
		t.Errorf("the beginning of time is %d", got)
	}
}

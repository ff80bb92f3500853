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

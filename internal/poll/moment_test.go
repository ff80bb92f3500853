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
	if momentOf(time.Time{}) != 0 || momentOf(time.Unix(1, 0)) != past {
		t.Error("no deadline, or one that has passed, is a moment")
	}
}

package rest

import (
	"math"
	"testing"
	"time"
)

func TestRetryWaits(t *testing.T) {
	for _, tc := range []struct {
		name      string
		wait, max time.Duration
		try       int
		want      time.Duration // from half of it to all
	}{
		{"the first", time.Second, time.Minute, 0, time.Second},
		{"twice as long each", time.Second, time.Minute, 3, 8 * time.Second},
		{"no longer than that", time.Second, time.Minute, 6, time.Minute},
		{"already the first", time.Hour, time.Minute, 0, time.Minute},
		{"more often than there are bits", time.Second, time.Minute, 1000, time.Minute},
		{"more than there is time", 1<<41 + 1, math.MaxInt64, 23, math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := Retry{Wait: tc.wait, MaxWait: tc.max}
			for range 100 {
				if got := p.wait(tc.try); got < tc.want/2 || got > tc.want {
					t.Fatalf("got %v, want up to %v", got, tc.want)
				}
			}
		})
	}
}

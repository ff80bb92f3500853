package gallop

import (
	"math"
	"testing"
	"time"
)

// The time for a body grows with it, whatever its size.
func TestBodyBudget(t *testing.T) {
	for _, tt := range []struct {
		got, rate int64
		want      time.Duration
	}{
		{0, 240, bodyRateGrace},
		{120, 240, bodyRateGrace + time.Second/2},
		{240 * 60, 240, bodyRateGrace + time.Minute},
		{10 << 30, 1 << 20, bodyRateGrace + 10<<10*time.Second},
		{240 << 40, 240, bodyRateGrace + math.MaxInt64/time.Second/2*time.Second},
	} {
		if got := bodyBudget(tt.got, tt.rate); got != tt.want {
			t.Errorf("%d bytes at %d: %v, want %v", tt.got, tt.rate, got, tt.want)
		}
	}
	for _, rate := range []int64{1, 240, 1 << 40, math.MaxInt64} {
		if got := bodyBudget(math.MaxInt64, rate); got < bodyRateGrace {
			t.Errorf("at %d: %v", rate, got)
		}
	}
}

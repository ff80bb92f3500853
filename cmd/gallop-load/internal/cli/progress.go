package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/result"
)

// lines writes a line per second until ctx is done.
func lines(ctx context.Context, w io.Writer, snapshot func() *result.Result, length time.Duration) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	start := time.Now()
	for shown := time.Duration(-1 << 62); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r := snapshot()
		for _, s := range r.Seconds {
			if s.T <= shown || s.T+s.Length+500*time.Millisecond > time.Since(start)-r.Plan.WarmUp {
				continue
			}
			shown = s.T
			fmt.Fprintln(w, line(s, length-r.Plan.WarmUp))
		}
	}
}

// line describes one second.
func line(s result.Second, length time.Duration) string {
	seconds := max(s.Length.Seconds(), 1e-3)
	text := fmt.Sprintf("%6s/%v  %.0f req/s, p50 %v, p99 %v, max %v, %d failed, %d users", s.T+time.Second, length.Round(time.Second),
		float64(s.Done)/seconds, rounded(s.P50), rounded(s.P99), rounded(s.Max), s.Failed, s.Users)
	if s.T < 0 {
		text += " (warm-up)"
	}
	return text
}

// rounded returns a duration with three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

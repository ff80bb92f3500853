package live

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
)

// Plain writes a line per second until ctx is done or w fails.
func Plain(ctx context.Context, source Source, w io.Writer) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		s := source.Snapshot()
		if s.Last.Length == 0 {
			continue // no second is complete yet
		}
		if _, err := fmt.Fprintln(w, plain(&s)); err != nil {
			return err
		}
	}
}

// plain formats a snapshot as a line.
func plain(s *Snapshot) string {
	var b strings.Builder
	b.WriteString(clock(s.Elapsed))
	if s.Length > 0 {
		fmt.Fprintf(&b, "/%s", clock(s.Length))
	}
	if s.WarmUp {
		b.WriteString(" warm-up")
	}
	l := &s.Last
	fmt.Fprintf(&b, "  %s", figure.ShortRate(perSecond(l.Done, l)))
	if s.isOpen() {
		fmt.Fprintf(&b, " of %s, lag %s", figure.ShortRate(perSecond(l.Due, l)), figure.Duration(l.Lag))
	}
	fmt.Fprintf(&b, "  p50 %s p99 %s max %s  %d users, %d in flight", figure.Duration(l.P50), figure.Duration(l.P99),
		figure.Duration(l.Max), l.Users, l.InFlight)
	for _, n := range []struct {
		n    int64
		what string
	}{{s.Unexpected, "unexpected"}, {s.Failed, "failed"}, {s.Dropped, "dropped"}} {
		if n.n > 0 {
			fmt.Fprintf(&b, ", %d %s", n.n, n.what)
		}
	}
	if s.Behind {
		b.WriteString(", the generator is behind")
	}
	return b.String()
}

package raw

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// TestCut cuts a run twice in virtual time. Each period ends at its cut, and together they have all requests.
func TestCut(t *testing.T) {
	for _, l := range []script.Load{{VUs: 2}, {Executor: script.ConstantArrivalRate, Rate: 500}} {
		synctest.Test(t, func(t *testing.T) {
			server := &stall{begin: time.Now(), period: time.Second}
			control := &engine.Control{}
			var ends []time.Duration
			var cuts []uint64
			var done, counted int64
			sink := func(p *result.Period) *result.Period {
				ends, cuts, done = append(ends, p.End), append(cuts, p.Cut), done+p.Series[0].Done
				p.Reset()
				return p
			}
			s := get("/")
			s.done = func(int, *script.Response) { counted++ }
			go func() {
				for n := range uint64(2) {
					time.Sleep(250 * time.Millisecond)
					if got := control.Cut(); got != n+1 {
						t.Errorf("cut %d has the number %d", n+1, got)
					}
				}
			}()
			l.Duration, l.Grace = 700*time.Millisecond, time.Minute
			o := &engine.Options{Address: "127.0.0.1:1", Scheme: "http", Control: control}
			newDriver := func(t *thread) (driver, error) { return &virtual{t: t, server: server}, nil }
			if err := run(t.Context(), o, []engine.Scenario{scenario1(s, l)}, sink, newDriver); err != nil {
				t.Fatal(err)
			}
			if len(ends) != 3 || cuts[0] != 1 || cuts[1] != 2 || done != counted {
				t.Fatalf("periods end at %v after the cuts %v, %d requests of %d", ends, cuts, done, counted)
			}
			for i, end := range ends[:2] {
				if at := time.Duration(i+1) * 250 * time.Millisecond; end < at || end > at+glance {
					t.Errorf("the period of the cut at %v ends at %v", at, end)
				}
			}
		})
	}
}

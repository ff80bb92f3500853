package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// stalled returns the result of ten users for ten seconds, with a response per millisecond each. The server stalls for the last two of
// the ten seconds.
func stalled(open bool) *result.Result {
	const users, seconds, stall = 10, 10, 2
	s := result.NewSeries("default", "get")
	all := result.Users{Most: users}
	add := func(d time.Duration, n int64) {
		s.Response.AddN(d, n)
		all.Length.AddN(d, n)
		s.Done += n
		all.Iterations += n
	}
	add(time.Millisecond, users*(seconds-stall)*1000)
	add(stall*time.Second, users)
	return &result.Result{
		Started: time.Unix(0, 0), Ended: time.Unix(seconds, 0), Series: []*result.Series{s},
		Scenarios: []result.Scenario{{Name: "default", Open: open, VUs: users, Users: all}},
	}
}

// TestOmission estimates what a closed loop does not count. If users had sent a request per millisecond, a fifth of the requests would
// have met the stall of 2 s, and p95 would be 1.5 s.
func TestOmission(t *testing.T) {
	o, ok := sum(stalled(false)).omission()
	if !ok || o.slow != 10 || o.share < 0.199 || o.share > 0.201 || o.missing < 19_900 || o.missing > 20_000 {
		t.Fatalf("%v, %+v", ok, o)
	}
	for q, want := range map[float64]time.Duration{0.5: time.Millisecond, 0.9: time.Second, 0.95: 1500 * time.Millisecond, 0.99: 1900 * time.Millisecond} {
		if got := o.all.Quantile(q); got < want*98/100 || got > want*102/100 {
			t.Errorf("p%g would be %v, not %v", 100*q, got, want)
		}
	}
	if _, ok := sum(stalled(true)).omission(); ok {
		t.Error("an open loop counts everything")
	}
	var text, page bytes.Buffer
	if err := Text(&text, stalled(false), false); err != nil || !strings.Contains(text.String(), "not counted: 10 responses took over 10 times as long") {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := HTML(&page, stalled(false)); err != nil || !strings.Contains(page.String(), "Not counted: 10 responses") {
		t.Errorf("%v, the page does not say what is not counted", err)
	}
}

package report

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// omission is what closed loops do not count. While a user waits for a slow response, it sends nothing, so the response counts
// once. Users that go on sending at their usual pace would have met the same delay with each request.
type omission struct {
	slow    int64            // slow responses
	share   float64          // of the users' time that slow responses took
	missing int64            // requests that were not sent meanwhile
	all     result.Histogram // responses, with those of the missing requests
}

const (
	// slowFactor says which responses are slow: those that take longer than so many of the usual intervals between the
	// requests of a user.
	slowFactor = 10
	// omissionSteps limits how many missing requests of a response are added one by one.
	omissionSteps = 1000
)

// omission returns what the closed loops do not count, or false if no response was slow.
func (t *totals) omission() (o omission, ok bool) {
	var waited, whole float64
	for i := range t.Scenarios {
		s := &t.Scenarios[i]
		if s.Open {
			continue
		}
		whole += s.Users.Length.Sum()
		waited += o.add(s, t.Series)
	}
	if o.slow == 0 || whole == 0 {
		return o, false
	}
	o.share = min(waited/whole, 1)
	return o, true
}

// add adds the requests of a scenario, and returns the time that slow responses took.
func (o *omission) add(s *result.Scenario, series []*result.Series) (waited float64) {
	var all result.Histogram
	for _, one := range series {
		if one.Scenario == s.Name {
			all.Merge(&one.Response)
			all.Merge(&one.UnexpectedResponse)
		}
	}
	o.all.Merge(&all)
	if all.Count() == 0 || s.Users.Iterations == 0 {
		return 0
	}
	// The median of the iterations is not much longer because of a few slow ones.
	interval := s.Users.Length.Quantile(0.5) * time.Duration(s.Users.Iterations) / time.Duration(all.Count())
	if interval <= 0 {
		return 0
	}
	all.Each(func(took time.Duration, count int64) {
		if took <= slowFactor*interval {
			return
		}
		o.slow += count
		waited += float64(took) * float64(count)
		per := (int64(took/interval) + omissionSteps - 1) / omissionSteps
		for left := took - interval; left >= interval; left -= interval * time.Duration(per) {
			o.missing += count * per
			o.all.AddN(left, count*per)
		}
	})
	return waited
}

func (o *omission) String() string {
	return fmt.Sprintf("%s responses took over %d times as long as a user's requests are usually apart: %.0f%% of the users' time.\n"+
		"About %s requests were not sent meanwhile. With them, p95 would be %s and p99 %s.", figure.Count(o.slow), slowFactor, 100*o.share,
		figure.Count(o.missing), figure.Duration(o.all.Quantile(0.95)), figure.Duration(o.all.Quantile(0.99)))
}

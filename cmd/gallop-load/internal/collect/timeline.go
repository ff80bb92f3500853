package collect

import (
	"math"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// timeline is what happened each second. Row 0 begins at the end of the warm-up, and rows before it have negative numbers.
type timeline struct {
	rows map[int]*row
	last int // the highest number
}

// row is a second. Its histogram is dropped when later rows make it unlikely that another thread still adds to it.
type row struct {
	result.Second
	latency *result.Histogram
	active  []int64 // users by scenario
	most    []int64
}

// openRows is how many rows keep their histograms.
const openRows = 4

// add adds a period to a row. The period's start decides which row.
func (t *timeline) add(p *result.Period, warmUp time.Duration) {
	i := int(math.Round((p.Start - warmUp).Seconds()))
	r := t.rows[i]
	if r == nil {
		r = t.open(i, len(p.Users))
	}
	r.Length = max(r.Length, p.End-p.Start)
	for _, s := range p.Series {
		r.Due += s.Due
		r.Sent += s.Sent
		r.Done += s.Done
		r.Failed += s.Failed + s.Unexpected
		if r.latency != nil {
			r.latency.Merge(&s.Response)
			r.latency.Merge(&s.UnexpectedResponse)
		}
	}
	for j, u := range p.Users {
		r.active[j] += u.Active
		r.most[j] += u.Most
		r.Users += u.Active
	}
	r.Conns += p.Conns
	r.InFlight += p.InFlight
	r.Opened += p.Opened
	r.Closed += p.Closed
	r.Lag = max(r.Lag, p.Lag.Max())
	r.summarise()
}

// open creates a row, and closes old ones.
func (t *timeline) open(i, scenarios int) *row {
	r := &row{Second: result.Second{T: time.Duration(i) * time.Second}, latency: &result.Histogram{}, active: make([]int64, scenarios), most: make([]int64, scenarios)}
	if len(t.rows) == 0 {
		t.rows, t.last = map[int]*row{}, i
	}
	t.rows[i] = r
	t.last = max(t.last, i)
	if old := t.rows[t.last-openRows]; old != nil {
		old.latency = nil
	}
	return r
}

// summarise computes the quantiles and the heat from the histogram.
func (r *row) summarise() {
	h := r.latency
	if h == nil || h.Count() == 0 {
		return
	}
	r.P50, r.P90, r.P99, r.Max = h.Quantile(.5), h.Quantile(.9), h.Quantile(.99), h.Max()
	r.Heat = make([]int64, result.HeatRows)
	h.Each(func(upTo time.Duration, count int64) { r.Heat[result.HeatRow(min(upTo, h.Max()))] += count })
}

// seconds returns the rows from a number on, with the processor times of the samples.
func (t *timeline) seconds(from int, s *samples) (all []result.Second) {
	numbers := make([]int, 0, len(t.rows))
	for i := range t.rows {
		if i >= from {
			numbers = append(numbers, i)
		}
	}
	slices.Sort(numbers)
	for _, i := range numbers {
		second := t.rows[i].Second
		second.CPU, second.Server = s.between(i, i+1)
		all = append(all, second)
	}
	return all
}

// inFlightBefore returns how many requests were in flight at the end of the warm-up.
func (t *timeline) inFlightBefore() int64 {
	if r := t.rows[-1]; r != nil {
		return r.InFlight
	}
	return 0
}

// users returns how many users a scenario has in the last row, and had at most.
func (t *timeline) users(scenario int) (active, most int64) {
	for i, r := range t.rows {
		if i >= 0 {
			most = max(most, r.most[scenario], r.active[scenario])
		}
	}
	if r := t.rows[t.last]; r != nil {
		active = r.active[scenario]
	}
	return active, most
}

package measure

import (
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{3, 1, 2}, 2},
		{[]float64{10, 1, 2, 4}, 3},
	} {
		if got := Median(test.values); got != test.want {
			t.Errorf("of %v it is %v, want %v", test.values, got, test.want)
		}
	}
	values := []float64{3, 1, 2}
	if Median(values); values[0] != 3 {
		t.Error("Median has sorted what it was given")
	}
}

func TestSlope(t *testing.T) {
	for _, test := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"a line", []float64{0, 1, 2, 3}, []float64{5, 7, 9, 11}, 2},
		{"falling", []float64{0, 10}, []float64{5, 0}, -.5},
		{"noise that is even", []float64{0, 0, 10, 10}, []float64{-1, 1, 29, 31}, 3},
		{"one point", []float64{1}, []float64{1}, 0},
		{"none", nil, nil, 0},
		{"x stands still", []float64{1, 1}, []float64{1, 2}, 0},
	} {
		if got := Slope(test.x, test.y); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestLatencies shows that quantiles are correct to within 1/16.
func TestLatencies(t *testing.T) {
	var l, sum Latencies
	for d := time.Microsecond; d <= time.Millisecond; d += time.Microsecond {
		l.Add(d)
	}
	sum.Merge(&l)
	sum.Merge(&l)
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond, 1: time.Millisecond} {
		if got := l.Quantile(q); got < want || got > want+want/10 {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
		if l.Quantile(q) != sum.Quantile(q) {
			t.Errorf("quantile %v is %v of the same twice", q, sum.Quantile(q))
		}
	}
	if l.Count() != 1000 || sum.Count() != 2000 {
		t.Errorf("counted %d and %d", l.Count(), sum.Count())
	}
	if got := new(Latencies).Quantile(.99); got != 0 {
		t.Errorf("of none it is %v", got)
	}
	for _, test := range []struct { // of 1, 2, … s
		count int
		q     float64
		want  time.Duration
	}{{1, .99, 1}, {2, .5, 1}, {3, .5, 2}, {10, .9, 9}, {10, .91, 10}, {10, 0, 1}, {100, .99, 99}, {100, 1, 100}} {
		var few Latencies
		for i := range test.count {
			few.Add(time.Duration(i+1) * time.Second)
		}
		want := test.want * time.Second
		if got := few.Quantile(test.q); got < want || got > want+want/16 {
			t.Errorf("quantile %v of %d is %v, want %v", test.q, test.count, got, want)
		}
	}
	l.Add(0)
	l.Add(-1)
	l.Add(1<<63 - 1)
	if l.Count() != 1003 {
		t.Errorf("counted %d with extremes", l.Count())
	}
	if got := l.Quantile(1); got != 1<<63-1 {
		t.Errorf("the longest is %v", got)
	}
}

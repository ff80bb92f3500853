package result

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// random returns durations from 1 µs to 10 s, spread evenly over their logarithms.
func random(n int, seed uint64) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(1000<<r.IntN(23)) * time.Duration(100+r.IntN(100)) / 100
	}
	return all
}

func fill(h *Histogram, all []time.Duration) *Histogram {
	for _, d := range all {
		h.Add(d)
	}
	return h
}

func TestQuantilesAreExactEnough(t *testing.T) {
	for digits, bound := range map[int]float64{3: 0.001, 2: 0.01} {
		all := random(10_000, 1)
		h := fill(&Histogram{digits: digits}, all)
		slices.Sort(all)
		for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
			want := all[min(max(int(q*float64(len(all)))-1, 0), len(all)-1)]
			got := h.Quantile(q)
			if diff := float64(got-want) / float64(want); diff < -bound || diff > bound {
				t.Errorf("%d digits, quantile %v: %v, the sorted list has %v", digits, q, got, want)
			}
		}
		if h.Min() != all[0] || h.Max() != all[len(all)-1] {
			t.Errorf("limits %v and %v, not %v and %v", h.Min(), h.Max(), all[0], all[len(all)-1])
		}
	}
}

// TestBucketsAreThoseOfHdrHistogram adds the same durations to an HdrHistogram, and also merges histograms of another precision.
func TestBucketsAreThoseOfHdrHistogram(t *testing.T) {
	all := random(10_000, 2)
	for d := range time.Duration(5000) {
		all = append(all, d)
	}
	for n := range 41 {
		all = append(all, 1<<n-1, 1<<n, 1<<n+1)
	}
	all = append(all, Longest-1, Longest)
	for _, digits := range []int{2, 3} {
		h, same := fill(&Histogram{digits: digits}, all), hdrhistogram.New(1, int64(Longest), digits)
		for _, d := range all {
			if err := same.RecordValue(int64(d)); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string) {
			t.Helper()
			if want := same.Export().Counts; !slices.Equal(h.counts, want) || h.Count() != same.TotalCount() {
				t.Fatalf("%d digits, %s: the counts differ", digits, what)
			}
			for i, n := range h.counts {
				if low, high := h.limits(i); n > 0 && (!same.ValuesAreEquivalent(int64(low), int64(high)) || same.ValuesAreEquivalent(int64(low), int64(high+1))) {
					t.Fatalf("%d digits, %s: bucket %d is said to be from %v to %v", digits, what, i, low, high)
				}
			}
			for q := 0.001; q < 1; q += 0.001 {
				if got, want := h.Quantile(q), min(max(time.Duration(same.ValueAtQuantile(q*100)), h.min), h.max); got != want {
					t.Fatalf("%d digits, %s: quantile %v is %v, not %v", digits, what, q, got, want)
				}
			}
		}
		check("added")
		other := fill(&Histogram{digits: 5 - digits}, all)
		h.Merge(other)
		same.Merge(other.export())
		check("merged")
	}
}

func TestMergeIsExact(t *testing.T) {
	var whole, merged Histogram
	for seed := range uint64(4) {
		part := random(1000, seed)
		fill(&whole, part)
		data, err := json.Marshal(fill(&Histogram{}, part))
		if err != nil {
			t.Fatal(err)
		}
		var read Histogram
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		merged.Merge(&read)
	}
	a, _ := json.Marshal(&whole)
	b, _ := json.Marshal(&merged)
	if string(a) != string(b) {
		t.Errorf("four merged parts differ from the whole:\n%s\n%s", a, b)
	}
}

func TestLongDurationsCount(t *testing.T) {
	h := fill(&Histogram{}, []time.Duration{-5, 0, 2 * Longest})
	if h.Count() != 3 || h.Max() != 2*Longest || h.Min() != 0 || h.Quantile(0.999) < Longest {
		t.Errorf("count %d, %v to %v", h.Count(), h.Min(), h.Max())
	}
	if h.Resolves(0.9) || !h.Resolves(0.5) {
		t.Error("three durations resolve the wrong quantiles")
	}
}

func BenchmarkAdd(b *testing.B) {
	var h Histogram
	all := random(1024, 1)
	for i := 0; b.Loop(); i++ {
		h.Add(all[i%1024])
	}
}

func BenchmarkMerge(b *testing.B) {
	var h Histogram
	from := fill(&Histogram{}, random(10_000, 1))
	for b.Loop() {
		h.Merge(from)
	}
}

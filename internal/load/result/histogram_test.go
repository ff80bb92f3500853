package result

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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

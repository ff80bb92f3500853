package result

import (
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is the longest duration that a histogram tells apart. Longer ones count as Longest; Max and the mean stay exact.
const Longest = time.Hour

// Histogram counts durations with a relative error of at most 0.1 % (Coarse: 1 %). Minimum, maximum and mean are exact. Two
// histograms of the same kind merge exactly. It is for one goroutine at a time.
//
// It has the buckets of an HdrHistogram from 1 ns to Longest, in the same order, so that its encoded form has exactly its counts. Adding
// a duration is a shift and an increment. Merging adds two arrays. An engine adds six durations per request. Its periods are merged each
// second, perhaps on the same processor.
//
//	v < 2^n       bucket v
//	otherwise     the n leading bits of v decide; each further bit of its length moves on by 2^(n-1) buckets
type Histogram struct {
	counts []int64 // by bucket; nil until the first Add
	count  int64
	digits int
	sum    float64
	min    time.Duration
	max    time.Duration
}

// Coarse makes an empty histogram use an eighth of the memory, with a relative error of 1 %.
func (h *Histogram) Coarse() { h.digits = 2 }

// leading returns how many leading bits of a duration decide about its bucket.
func (h *Histogram) leading() int {
	if h.digits == 2 {
		return 8
	}
	return 11
}

func (h *Histogram) init() {
	if h.digits == 0 {
		h.digits = 3
	}
	n := h.leading()
	h.counts = make([]int64, (bits.Len64(uint64(Longest))-n+2)<<(n-1))
}

// bucket returns the bucket of a duration of at least 0 and at most Longest.
func (h *Histogram) bucket(d time.Duration) int {
	n := h.leading()
	shift := max(bits.Len64(uint64(d))-n, 0)
	return shift<<(n-1) + int(uint64(d)>>shift)
}

// limits returns the shortest and the longest duration of a bucket.
func (h *Histogram) limits(bucket int) (low, high time.Duration) {
	n := h.leading()
	shift := max(bucket>>(n-1)-1, 0)
	low = time.Duration(bucket-shift<<(n-1)) << shift
	return low, low + 1<<shift - 1
}

// Add counts a duration. Negative ones count as zero.
func (h *Histogram) Add(d time.Duration) { h.AddN(d, 1) }

// AddN counts n durations that are equal.
func (h *Histogram) AddN(d time.Duration, n int64) {
	if n <= 0 {
		return
	}
	if h.counts == nil {
		h.init()
	}
	d = max(d, 0)
	if h.count == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.sum += float64(d) * float64(n)
	h.count += n
	h.counts[h.bucket(min(d, Longest))] += n
}

// Count returns how many durations were added.
func (h *Histogram) Count() int64 { return h.count }

// Min returns the shortest duration, or 0 if the histogram is empty.
func (h *Histogram) Min() time.Duration { return h.min }

// Max returns the longest duration, or 0 if the histogram is empty.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean returns the average, or 0 if the histogram is empty.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.Count()))
}

// Sum returns the sum of all durations in nanoseconds.
func (h *Histogram) Sum() float64 { return h.sum }

// StdDev returns the standard deviation, computed from the middles of the buckets.
func (h *Histogram) StdDev() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.export().StdDev())
}

// Quantile returns the duration that a fraction q of the durations do not exceed. The result lies between Min and Max.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	if q <= 0 {
		return h.min
	}
	if q >= 1 {
		return h.max
	}
	rank := min(max(int64(q*float64(h.count)+0.5), 1), h.count)
	for i, n := range h.counts {
		if rank -= n; rank <= 0 {
			_, high := h.limits(i)
			return min(max(high, h.min), h.max)
		}
	}
	return h.max
}

// Resolves reports whether the histogram has enough durations for Quantile(q) to differ from Max. With 1,000 durations,
// the quantile 0.999 is the maximum.
func (h *Histogram) Resolves(q float64) bool {
	return float64(h.Count())*(1-q) > 1-1e-9
}

// Each calls f for each bucket that is not empty, from the shortest to the longest, with its largest duration.
func (h *Histogram) Each(f func(upTo time.Duration, count int64)) {
	for i, n := range h.counts {
		if n > 0 {
			_, high := h.limits(i)
			f(high, n)
		}
	}
}

// Merge adds the durations of another histogram.
func (h *Histogram) Merge(from *Histogram) {
	if from.Count() == 0 {
		return
	}
	if h.counts == nil {
		if h.digits == 0 {
			h.digits = from.digits
		}
		h.init()
	}
	if h.count == 0 {
		h.min = from.min
	}
	h.min, h.max, h.sum, h.count = min(h.min, from.min), max(h.max, from.max), h.sum+from.sum, h.count+from.count
	if h.digits != from.digits {
		h.mergeOther(from)
		return
	}
	to := h.counts[:len(from.counts)]
	for i, n := range from.counts {
		to[i] += n
	}
}

// mergeOther adds the counts of a histogram with another precision.
func (h *Histogram) mergeOther(from *Histogram) {
	for i, n := range from.counts {
		if n > 0 {
			low, _ := from.limits(i)
			h.counts[h.bucket(min(low, Longest))] += n
		}
	}
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.count, h.sum, h.min, h.max = 0, 0, 0, 0
}

// export returns the counts as an HdrHistogram.
func (h *Histogram) export() *hdrhistogram.Histogram {
	return hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: int64(Longest), SignificantFigures: int64(h.digits), Counts: h.counts, IntegerToDoubleConversionRatio: 1})
}

// percentiles are those that a result file shows beside the encoded histogram, which has all of them.
var percentiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}}

// MarshalJSON writes the histogram as count, min, mean, max, percentiles in nanoseconds and, as hdr, the whole histogram in
// the V2 format of HdrHistogram (compressed, base64). Percentiles that the count does not resolve are left out.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	m := map[string]any{"count": h.Count()}
	if h.Count() > 0 {
		m["min"], m["max"], m["mean"], m["sum"], m["digits"] = h.min, h.max, h.Mean(), h.sum, h.digits
		for _, p := range percentiles {
			if h.Resolves(p.q) {
				m[p.name] = h.Quantile(p.q)
			}
		}
		hdr, err := h.export().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, err
		}
		m["hdr"] = string(hdr)
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote. The percentiles are computed again.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var m struct {
		Count    int64
		Min, Max time.Duration
		Sum      float64
		Digits   int
		HDR      string
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	*h = Histogram{digits: m.Digits}
	if m.Count == 0 {
		return nil
	}
	if m.Digits != 2 && m.Digits != 3 {
		return errors.New("result: histogram with an unknown precision")
	}
	read, err := hdrhistogram.Decode([]byte(m.HDR))
	if err != nil {
		return err
	}
	if !h.read(read) || h.count != m.Count || m.Min < 0 || m.Max < m.Min || math.IsNaN(m.Sum) {
		return errors.New("result: histogram contradicts its count or its limits")
	}
	h.min, h.max, h.sum = m.Min, m.Max, m.Sum
	return nil
}

// read takes the counts of an HdrHistogram. It reports whether all of them have a bucket.
func (h *Histogram) read(from *hdrhistogram.Histogram) bool {
	h.init()
	for _, bar := range from.Distribution() {
		if bar.Count <= 0 {
			continue
		}
		d := time.Duration(bar.From)
		if d < 0 || d > Longest || h.bucket(d) >= len(h.counts) {
			return false
		}
		h.counts[h.bucket(d)] += bar.Count
		h.count += bar.Count
	}
	return true
}

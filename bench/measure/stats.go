// Package measure computes the statistics that benchmarks print, and reads from /proc what a process has used. On
// Linux it also has a [Yardstick], which shows how fast the machine is at the moment.
package measure

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// Median returns the middle value, the mean of the two middle values, or 0 if there are no values.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// Slope returns how much y grows with x, by least squares. It is 0 if x does not change.
func Slope(x, y []float64) float64 {
	var meanX, meanY float64
	for i := range x {
		meanX += x[i] / float64(len(x))
		meanY += y[i] / float64(len(x))
	}
	var covariance, variance float64
	for i := range x {
		covariance += (x[i] - meanX) * (y[i] - meanY)
		variance += (x[i] - meanX) * (x[i] - meanX)
	}
	if variance == 0 {
		return 0
	}
	return covariance / variance
}

// Latencies is a histogram of durations with a resolution of 1/16. The zero value is empty. It is safe for concurrent
// use.
type Latencies [64 * 16]atomic.Int64

// Add counts d.
func (l *Latencies) Add(d time.Duration) {
	n := uint64(max(d, 16))
	shift := bits.Len64(n) - 5
	l[shift*16+int(n>>shift)-16].Add(1)
}

// Merge adds all counts of other.
func (l *Latencies) Merge(other *Latencies) {
	for i := range other {
		if n := other[i].Load(); n != 0 {
			l[i].Add(n)
		}
	}
}

// Count returns the number of durations.
func (l *Latencies) Count() int {
	total := int64(0)
	for i := range l {
		total += l[i].Load()
	}
	return int(total)
}

// Quantile returns the duration that the share q of the durations does not exceed, with an error of at most 1/16. It
// is 0 if there are no durations.
func (l *Latencies) Quantile(q float64) time.Duration {
	count := l.Count()
	rank := min(max(int64(math.Ceil(q*float64(count)))-1, 0), int64(count)-1)
	for i := range l {
		if rank -= l[i].Load(); rank < 0 && count > 0 {
			return time.Duration(min(uint64(i%16+17)<<(i/16), math.MaxInt64))
		}
	}
	return 0
}

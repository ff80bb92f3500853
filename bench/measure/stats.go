// Package measure computes what benches print, and reads from /proc what a process has used.
package measure

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// Median returns the middle of the values, or the mean of the two in the middle; of none it is 0.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// Slope returns how much y grows with x, by least squares. It is 0 where x does not change.
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

// Latencies is a histogram whose buckets are 1/16 of their value wide. The zero value is empty. It is safe for
// concurrent use.
type Latencies [64 * 16]atomic.Int64

// Add counts d.
func (l *Latencies) Add(d time.Duration) {
	n := uint64(max(d, 16))
	shift := bits.Len64(n) - 5
	l[shift*16+int(n>>shift)-16].Add(1)
}

// Merge adds all that other has counted.
func (l *Latencies) Merge(other *Latencies) {
	for i := range other {
		if n := other[i].Load(); n != 0 {
			l[i].Add(n)
		}
	}
}

// Count returns how many durations were counted.
func (l *Latencies) Count() int {
	total := int64(0)
	for i := range l {
		total += l[i].Load()
	}
	return int(total)
}

// Quantile returns what that part of the durations does not exceed, to 1/16; of none it is 0.
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

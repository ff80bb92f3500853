// Package schedule computes from a load when iterations start and how many users there are. Its functions read no clock: times
// are durations since the start of a scenario. The rules are those of k6's executors.
//
// A load can be split into parts, one for each thread or process. The parts together start exactly the iterations of the
// whole load, at the same times.
//
//	schedule.go    parts of a load
//	ramp.go        the integral of a rate that consists of straight lines, and its inverse
//	arrivals.go    open loops: when iterations start
//	users.go       closed loops: how many users there are
package schedule

// Part is one of several equal parts of a load: number Index of Count, counted from 0. The zero value is the whole load.
type Part struct{ Index, Count int }

func (p Part) count() int64 { return int64(max(p.Count, 1)) }

// Share returns how many of n items the part has. The items 0 to n-1 go to the parts in turn, so the shares of all parts add
// up to n.
func (p Part) Share(n int64) int64 {
	return max(0, (n-int64(p.Index)+p.count()-1)/p.count())
}

// Number returns the number in the whole load, counted from 1, of the part's item with index i. It numbers users.
func (p Part) Number(i int) int { return p.Index + 1 + i*int(p.count()) }

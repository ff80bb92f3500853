package conn

import (
	"sync/atomic"
	"time"
)

// predictor predicts whether a call of the program is going to block, by what earlier calls for the same place did, as a
// processor predicts branches. The wire says which place a call is for; several kinds of calls may share one. A place has to
// be proven by a number of short runs on goroutines before calls are made on the loop. Each time that this turns out wrong
// too soon, the place needs a larger number.
//
// Places are read and written without synchronization between read and write. A count that is lost costs a run on a
// goroutine.
type predictor struct {
	Places [PredictPlaces]atomic.Uint32
}

const (
	PredictPlaces = 1024

	// ShortRun is how long a run may take that is a short one: no longer than it would
	// take to have it made by somebody else, by an order of magnitude.
	ShortRun = 50 * time.Microsecond

	// longRun is how long a single run on the loop may take at most.
	longRun = 500 * time.Microsecond

	// firstProof is how many short runs it takes at first, and secondProof after the first
	// time that the prediction was wrong; then it grows to four times as much each time up
	// to quickProof, and to twice as much up to lastProof. All are powers of two.
	firstProof  = 3
	secondProof = 6
	quickProof  = 10
	lastProof   = 20

	// SlowCost is how many short runs make up for one that was not: so many on goroutines
	// cost about what a loop that stands still for a millisecond does. A call that is slow
	// as often is better not made on the loop; but where more threads want processors than
	// there are, any call is interrupted now and then, and has not to be suspected for that.
	SlowCost = 1 << 10

	// A place that was right for RareTime, in samples, takes no more than before, as nothing
	// was lost; for four times that, or for LongTime and still right, it is forgiven a step.
	RareTime = SlowCost / Sampled
	LongTime = 1 << 14

	// sampled is the part of the runs on a loop whose time is taken.
	Sampled     = 1 << sampledBits
	sampledBits = 4
)

// isSample reports whether the nth run on a loop is timed. The timed runs follow no regular pattern, because the runs of
// two paths may alternate regularly. Counting per connection would not work: many connections have only one turn.
func isSample(n uint64) bool { return n*0x9E3779B97F4A7C15>>(64-sampledBits) == 0 }

// A place holds how many short runs there have been, less SlowCost for each that was not, in the lower bits, and how many it
// takes, as a power of two, above them; 0 there is firstProof.
const (
	proofShift = 24
	RunsMask   = 1<<proofShift - 1
)

// IsFast reports whether the program may be called on the loop.
func IsFast(place uint32) bool { return place&RunsMask >= 1<<(proof(place)%32) }

func proof(place uint32) uint32 {
	if place>>proofShift == 0 {
		return firstProof
	}
	return place >> proofShift
}

// ran takes note of a run.
func ran(place *atomic.Uint32, took time.Duration) {
	was := place.Load()
	switch {
	case IsFast(was) && took > longRun:
		mispredicted(place)
	case IsFast(was):
		if was++; was&RunsMask >= 1<<proof(was)+LongTime {
			was = forgiven(was)
		}
		place.Store(was)
	case took > ShortRun:
		place.Store(was - min(was&RunsMask, SlowCost))
	default:
		place.Store(was + 1)
	}
}

// mispredicted takes note of a run on the loop that should not have been there.
func mispredicted(place *atomic.Uint32) {
	was := place.Load()
	next, right := proof(was), int(was&RunsMask)-1<<proof(was)
	switch {
	case right >= 4*RareTime:
		next = max(next-1, firstProof)
	case right >= RareTime:
	case was>>proofShift == 0:
		next = secondProof
	case next >= quickProof:
		next = min(next+1, lastProof)
	default:
		next += 2
	}
	place.Store(next << proofShift)
}

// forgiven returns a place as it was before its last wrong prediction, and proven again.
func forgiven(place uint32) uint32 {
	next := max(proof(place)-1, firstProof)
	return next<<proofShift | 1<<next
}

// count returns how many places are fast, and how many were ever used.
func (p *predictor) count() (fast, used int) {
	for i := range p.Places {
		place := p.Places[i].Load()
		if place != 0 {
			used++
		}
		if IsFast(place) {
			fast++
		}
	}
	return fast, used
}

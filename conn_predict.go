package gallop

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
	places [predictPlaces]atomic.Uint32
}

const (
	predictPlaces = 1024

	// shortRun is how long a run may take that is a short one: no longer than it would
	// take to have it made by somebody else, by an order of magnitude.
	shortRun = 50 * time.Microsecond

	// longRun is how long a single run on the loop may take at most.
	longRun = 500 * time.Microsecond

	// firstProof is how many short runs it takes at first, and secondProof after the first
	// time that the prediction was wrong; then it grows to four times as much each time up
	// to quickProof, and to twice as much up to lastProof. All are powers of two.
	firstProof  = 3
	secondProof = 6
	quickProof  = 10
	lastProof   = 20

	// slowCost is how many short runs make up for one that was not: so many on goroutines
	// cost about what a loop that stands still for a millisecond does. A call that is slow
	// as often is better not made on the loop; but where more threads want processors than
	// there are, any call is interrupted now and then, and has not to be suspected for that.
	slowCost = 1 << 10

	// A place that was right for rareTime, in samples, takes no more than before, as nothing
	// was lost; for four times that, or for longTime and still right, it is forgiven a step.
	rareTime = slowCost / sampled
	longTime = 1 << 14

	// sampled is the part of the runs on a loop whose time is taken.
	sampled     = 1 << sampledBits
	sampledBits = 4
)

// isSample reports whether the nth run on a loop is timed. The timed runs follow no regular pattern, because the runs of
// two paths may alternate regularly. Counting per connection would not work: many connections have only one turn.
func isSample(n uint64) bool { return n*0x9E3779B97F4A7C15>>(64-sampledBits) == 0 }

// A place holds how many short runs there have been, less slowCost for each that was not, in the lower bits, and how many it
// takes, as a power of two, above them; 0 there is firstProof.
const (
	proofShift = 24
	runsMask   = 1<<proofShift - 1
)

// isFast reports whether the program may be called on the loop.
func isFast(place uint32) bool { return place&runsMask >= 1<<(proof(place)%32) }

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
	case isFast(was) && took > longRun:
		mispredicted(place)
	case isFast(was):
		if was++; was&runsMask >= 1<<proof(was)+longTime {
			was = forgiven(was)
		}
		place.Store(was)
	case took > shortRun:
		place.Store(was - min(was&runsMask, slowCost))
	default:
		place.Store(was + 1)
	}
}

// mispredicted takes note of a run on the loop that should not have been there.
func mispredicted(place *atomic.Uint32) {
	was := place.Load()
	next, right := proof(was), int(was&runsMask)-1<<proof(was)
	switch {
	case right >= 4*rareTime:
		next = max(next-1, firstProof)
	case right >= rareTime:
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
	for i := range p.places {
		place := p.places[i].Load()
		if place != 0 {
			used++
		}
		if isFast(place) {
			fast++
		}
	}
	return fast, used
}

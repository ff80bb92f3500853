package gallop

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// predictor predicts, for each method and path, whether the handler is going to block, by
// what its last runs did, as a processor predicts branches. A place in its table, which
// several of them may share, has to be proven by a number of short runs in a row on
// goroutines before handlers are called on the loop. Each time that turns out wrong it
// takes more of them.
//
// Places are read and written without care for what others do to them: a count that is
// lost costs a run on a goroutine.
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

	// firstProof is how many short runs in a row it takes at first, and secondProof after
	// the first time that the prediction was wrong; then it grows to four times as much
	// each time up to quickProof, and to twice as much up to lastProof. All are powers of
	// two. A place that has been right for longTime, in samples, is forgiven a step, and
	// takes no more than before if it was right for rareTime: machines pause now and then,
	// and what is that rare costs less than goroutines do.
	firstProof  = 3
	secondProof = 6
	quickProof  = 10
	lastProof   = 20
	longTime    = 1 << 14
	rareTime    = 1 << 10

	// sampled is the part of the runs on a loop whose time is taken.
	sampled = 16
)

// A place holds how many short runs there have been, in the lower bits, and how many it
// takes, as a power of two, above them; 0 there is firstProof.
const (
	proofShift = 24
	runsMask   = 1<<proofShift - 1
)

var predictSeed = maphash.MakeSeed()

// at returns the place of a method and a target.
func (p *predictor) at(method, target []byte) *atomic.Uint32 {
	if end := bytes.IndexByte(target, '?'); end >= 0 {
		target = target[:end]
	}
	h := maphash.Bytes(predictSeed, target)
	if len(method) > 0 {
		h += uint64(method[0])<<3 + uint64(len(method))
	}
	return &p.places[h%predictPlaces]
}

// isFast reports whether the handler may be called on the loop.
func isFast(place uint32) bool { return place&runsMask >= 1<<proof(place) }

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
		place.Store(was &^ runsMask)
	default:
		place.Store(was + 1)
	}
}

// mispredicted takes note of a run on the loop that should not have been there.
func mispredicted(place *atomic.Uint32) {
	next := uint32(secondProof)
	switch was := place.Load(); {
	case was&runsMask >= 1<<proof(was)+rareTime:
		next = proof(was)
	case was>>proofShift >= quickProof:
		next = min(was>>proofShift+1, lastProof)
	case was>>proofShift != 0:
		next = was>>proofShift + 2
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

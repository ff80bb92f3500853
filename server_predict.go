package gallop

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/message"
)

// predictor predicts, for each method and path, whether the handler is going to block, by
// what its last runs did, as a processor predicts branches. A place in its table, which
// several of them may share, has to be proven by a number of short runs on goroutines before
// handlers are called on the loop. Each time that turns out wrong too soon it takes more of
// them.
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

	// firstProof is how many short runs it takes at first, and secondProof after the first
	// time that the prediction was wrong; then it grows to four times as much each time up
	// to quickProof, and to twice as much up to lastProof. All are powers of two.
	firstProof  = 3
	secondProof = 6
	quickProof  = 10
	lastProof   = 20

	// slowCost is how many short runs make up for one that was not: so many on goroutines
	// cost about what a loop that stands still for a millisecond does. A handler that is slow
	// as often is better not called on the loop; but where more threads want processors than
	// there are, any handler is interrupted now and then, and has not to be suspected for that.
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
// two paths may alternate regularly. Counting per connection would not work: many connections bring only one request.
func isSample(n uint64) bool { return n*0x9E3779B97F4A7C15>>(64-sampledBits) == 0 }

// A place holds how many short runs there have been, less slowCost for each that was not, in the lower bits, and how many it
// takes, as a power of two, above them; 0 there is firstProof.
const (
	proofShift = 24
	runsMask   = 1<<proofShift - 1
)

// placeKey makes places secret: which targets share one differs from process to process.
var placeKey = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// placeIndex returns which place is that of the method and the target of a request.
func placeIndex(h *message.Head) uint32 {
	return uint32(placeOf(&placeKey, h) % predictPlaces)
}

// placeOf returns a hash of a request's method and of its target up to the query.
//
// The hash has to be quick rather than good. There are so few places that a client can fill them
// all by choosing targets. Then handlers run on goroutines or, until that is noticed, once on the
// loop. But a client that does not know the key must not be able to hit the place of one target.
// So each word is multiplied by a secret number, and the two halves of the double-length product
// are XORed. Without the key, nobody can tell which words collide. The low half of the product
// alone would reveal some of them.
func placeOf(key *[2]uint64, head *message.Head) uint64 {
	target := head.Fields.Bytes(head.Target)
	h := key[0]
	for len(target) >= 8 && queries(ascii.Word(target, 0)) == 0 {
		hi, lo := bits.Mul64(h^ascii.Word(target, 0), key[1])
		h, target = hi^lo, target[8:]
	}
	rest := uint64(0) // of the path: less than a word
	if len(target) >= 8 {
		rest = ascii.Word(target, 0)
		query := queries(rest)
		rest &= query&-query>>7 - 1
	} else {
		for i := 0; i < len(target) && target[i] != '?'; i++ {
			rest |= uint64(target[i]) << (8 * i)
		}
	}
	hi, lo := bits.Mul64(h^rest, key[1])
	h = hi ^ lo
	if head.MethodID == message.OtherMethod && head.Method.Len > 0 {
		return h + uint64(head.Fields.Bytes(head.Method)[0])<<3 + uint64(head.Method.Len)
	}
	return h + uint64(head.MethodID) // those of one target are kept apart
}

// queries marks, with the high bit of its byte, the first '?' in w, and perhaps others behind it.
func queries(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w ^= ones * '?'
	return (w - ones) &^ w & highs
}

// isFast reports whether the handler may be called on the loop.
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

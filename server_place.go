package gallop

import (
	"math/bits"
	"math/rand/v2"

	"github.com/gallop-http/gallop/internal/conn"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/message"
)

// placeKey makes places secret: which targets share one differs from process to process.
var placeKey = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// placeIndex returns which place is that of the method and the target of a request.
func placeIndex(h *message.Head) uint32 {
	return uint32(placeOf(&placeKey, h) % conn.PredictPlaces)
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

package middleware

import (
	"crypto/rand"
	"sync"
)

const (
	requestIDSize    = 26 // as many as rand.Text returns
	requestIDLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// randomBytes are random bytes for the next IDs. One call of rand.Read for several IDs takes little longer than a call for one ID.
type randomBytes struct {
	bytes [16 * requestIDSize]byte
	used  int
}

var randomPool = sync.Pool{New: func() any { return &randomBytes{used: len(randomBytes{}.bytes)} }}

// newRequestID returns a new ID with 130 random bits.
func newRequestID() string {
	r := randomPool.Get().(*randomBytes)
	defer randomPool.Put(r)
	if r.used == len(r.bytes) {
		rand.Read(r.bytes[:])
		r.used = 0
	}
	id := r.bytes[r.used : r.used+requestIDSize]
	r.used += requestIDSize
	for i, b := range id {
		id[i] = requestIDLetters[b%byte(len(requestIDLetters))]
	}
	return string(id)
}

package main

import (
	"hash/crc32"
	"math/rand/v2"
)

// kind is the kind of a request. Its name is the first segment of the path.
type kind int

const (
	kindEcho    kind = iota // POST; the response has the same body and its length
	kindChunked             // POST in chunks; the response has the same body and its length
	kindStream              // POST; the response streams the same body
	kindMake                // GET; the server generates the body
	kindHead                // HEAD of kindMake
	kindNone                // POST; the response is 204
	kindSame                // GET with If-None-Match; the response is 304
	kinds       = iota
)

var kindNames = [kinds]string{"echo", "chunked", "stream", "make", "head", "none", "same"}

func (k kind) String() string { return kindNames[k] }

// cutOff marks the ids of requests that end before they are complete. The handler must never see one with its whole
// body.
const cutOff = 1 << 62

const maxBody = 200 << 10

// noise is the source of all bodies. It is the same in each run.
var noise = func() []byte {
	b := make([]byte, 1<<20+maxBody)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}()

// payload returns the body of a request: n bytes, which must not be changed.
func payload(id uint64, n int) []byte {
	at := int(id * 0x9e3779b97f4a7c15 >> 44)
	return noise[at : at+n]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// bodySize returns a random length: mostly small, sometimes zero, rarely large.
func bodySize(r *rand.Rand) int {
	switch p := r.IntN(1000); {
	case p < 100:
		return 0
	case p < 700:
		return 1 + r.IntN(100)
	case p < 950:
		return 100 + r.IntN(1900)
	case p < 997:
		return 2000 + r.IntN(14_000)
	default:
		return 16_000 + r.IntN(maxBody-16_000)
	}
}

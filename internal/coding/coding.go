// Package coding is the content codings of RFC 9110 §8.4.1: gzip, deflate, br and
// zstd, encoded and decoded through pools, and decoded only within limits.
//
// How it is organised: a [Coding] names one coding and a [List] what stands in
// Content-Encoding. Encoding is [AppendEncode] for bytes that are all there and
// [Writer] for a stream; decoding is [AppendDecode] and [Reader]. A Reader is a
// chain of layers, one per coding of its List, and every layer counts against the
// same [Limits]: there is no way to decode without any.
//
// Nothing here starts a goroutine, so nothing is left behind when a stream is
// given up half way.
package coding

import "bytes"

// Coding is a content coding. The zero value is Identity.
type Coding uint8

const (
	// Identity is no coding at all.
	Identity Coding = iota
	// Gzip is RFC 1952: one or more members.
	Gzip
	// Deflate is the zlib format of RFC 1950 around RFC 1951, as RFC 9110 §8.4.1.2
	// has it. The bare format of RFC 1951, which some senders mean by the name, is
	// understood when decoding and never written.
	Deflate
	// Brotli is RFC 7932.
	Brotli
	// Zstd is RFC 8878 with windows of at most 8 MiB, RFC 9659.
	Zstd

	codings
)

var tokens = [codings]string{"identity", "gzip", "deflate", "br", "zstd"}

// String returns the coding's token in Content-Encoding and Accept-Encoding.
func (c Coding) String() string {
	if c >= codings {
		return "unknown"
	}
	return tokens[c]
}

// Parse returns the coding with this token, in whatever case. The alias x-gzip is
// Gzip (RFC 9110 §8.4.1.3). It reports false for every other name.
func Parse(token []byte) (Coding, bool) {
	for c, name := range tokens {
		if equalFold(token, name) {
			return Coding(c), true
		}
	}
	return Gzip, equalFold(token, "x-gzip")
}

// equalFold compares with a name in ASCII. A rune beyond ASCII that folds to a
// letter of it is longer in bytes, so equal lengths leave ASCII only.
func equalFold(token []byte, name string) bool {
	return len(token) == len(name) && bytes.EqualFold(token, []byte(name))
}

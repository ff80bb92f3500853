// Package coding provides the content codings of RFC 9110 §8.4.1: gzip, deflate, br and zstd. It encodes and decodes
// with pooled encoders and decoders, and decodes only within limits.
//
// A [Coding] names one coding, and a [List] holds the codings of a Content-Encoding field. [AppendEncode] encodes a
// whole body and [Writer] a stream; [AppendDecode] and [Reader] decode. A Reader is a chain of layers, one per coding
// of its List, and all layers count against the same [Limits].
//
// Nothing here starts a goroutine, so an abandoned stream leaves nothing behind.
package coding

import "bytes"

// Coding is a content coding. The zero value is Identity.
type Coding uint8

const (
	// Identity means no coding.
	Identity Coding = iota
	// Gzip is RFC 1952, with one or more members.
	Gzip
	// Deflate is the zlib format of RFC 1950 around RFC 1951, as RFC 9110 §8.4.1.2 requires. Some senders use the
	// bare format of RFC 1951 instead, which is decoded but never written.
	Deflate
	// Brotli is RFC 7932.
	Brotli
	// Zstd is RFC 8878 with windows of at most 8 MiB (RFC 9659).
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

// Parse returns the coding with this token, in any case. x-gzip means Gzip (RFC 9110 §8.4.1.3). Parse reports false
// for every other name.
func Parse(token []byte) (Coding, bool) {
	for c, name := range tokens {
		if equalFold(token, name) {
			return Coding(c), true
		}
	}
	return Gzip, equalFold(token, "x-gzip")
}

// equalFold compares token with an ASCII name. A rune beyond ASCII that folds to an ASCII letter has more bytes, so
// equal lengths rule it out.
func equalFold(token []byte, name string) bool {
	return len(token) == len(name) && bytes.EqualFold(token, []byte(name))
}

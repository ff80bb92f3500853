package coding

import (
	"github.com/andybalholm/brotli"
	brrr "github.com/molecule-man/go-brrr"
)

// go-brrr encodes, because it needs half of andybalholm's CPU time. andybalholm decodes, because its decoder has read
// untrusted input for years. docs/design/0017-compression.md has the measurements.

// brotliWindow is the binary logarithm of the window in bytes. A stream of more than 64 KiB holds a multiple of its
// window as long as it lasts. That is up to 8 MB, instead of 30 MB with go-brrr's default. The window has no influence on
// bodies of up to 512 KiB.
const brotliWindow = 19

// firstSlowBrotli is the first level that searches for the best encoding. go-brrr's Writer starts goroutines for that, so
// streams of these levels use the other encoder.
const firstSlowBrotli = 10

func newBrotliEncoder(level int, out *output) encoder {
	if level >= firstSlowBrotli {
		return brotli.NewWriterLevel(out, level)
	}
	w := must(brrr.NewWriterOptions(out, level, brrr.WriterOptions{LGWin: brotliWindow}))
	w.Reset(out) // a writer that was never reset gives its memory back on Close
	return w
}

// appendSlowBrotli encodes a whole body at one of the slow levels, without goroutines.
func appendSlowBrotli(dst, src []byte, level int) []byte {
	return append(dst, must(brrr.Compress(src, level))...)
}

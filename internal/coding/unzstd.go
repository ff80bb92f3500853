package coding

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// appendUnzstd decodes with the output as the window. That saves a window of up to 8 MiB and a copy. It reports
// false, and has done nothing, if src is corrupt or needs more room than its length makes likely. Then a Reader,
// which grows with the output, must decode src.
func appendUnzstd(dst, src []byte, limits Limits) (_ []byte, done bool, _ error) {
	room := int(min(zstdGuess(src), limits.MaxSize))
	if len(src) == 0 || room == 0 {
		return dst, false, nil
	}
	z := unzstds.Get().(*zstdDecoder)
	defer unzstds.Put(z)
	dst = slices.Grow(dst, room)
	at := len(dst)
	out, err := z.DecodeAll(src, dst[at:at:at+room])
	if err != nil {
		return dst, false, nil // too little room shows up as one of several errors
	}
	if err := limits.check(int64(len(src)), int64(len(out))); err != nil {
		return dst, true, err
	}
	return append(dst, out...), true, nil // no copy, because the bytes are already there
}

// unzstds are separate from the decoders of the layers, for two reasons. A decoder that stopped in the middle of a
// stream cannot decode anything else, and these decoders hold no window.
var unzstds = sync.Pool{New: func() any { return newZstdDecoder(zstd.WithDecodeAllCapLimit(true)) }}

const (
	// zstdLikely is the expansion that is believed if a frame states its size.
	zstdLikely = 32
	// zstdUsual is the expansion that is assumed if a frame does not state its size.
	zstdUsual = 8
)

// zstdGuess returns how many bytes src is likely to yield.
func zstdGuess(src []byte) int64 {
	n := int64(min(len(src), ratioFloor))
	var head zstd.Header
	if head.Decode(src) == nil && head.HasFCS && head.FrameContentSize <= uint64(max(64<<10, n*zstdLikely)) {
		return max(1, int64(head.FrameContentSize))
	}
	return max(512, n*zstdUsual)
}

package coding

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// appendUnzstd decodes with the output as the window, which spares the decoder up
// to 8 MiB of its own and a copy. It reports false, and has done nothing, where
// src is bad or the room that it makes likely did not suffice: then it is for a
// Reader, which grows with the output, to find out what src is.
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
		return dst, false, nil // too little room shows as one of several errors
	}
	if err := limits.check(int64(len(src)), int64(len(out))); err != nil {
		return dst, true, err
	}
	return append(dst, out...), true, nil // no copy: it is there already
}

// unzstds are the decoders for this, apart from those of the layers: one that was
// left in the middle of a stream does not decode anything else, and these have no
// window to hold on to.
var unzstds = sync.Pool{New: func() any { return newZstdDecoder(zstd.WithDecodeAllCapLimit(true)) }}

const (
	// zstdLikely is the expansion that is believed of a frame which says its size.
	zstdLikely = 32
	// zstdUsual is the expansion expected of a frame which does not.
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

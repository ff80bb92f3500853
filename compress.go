package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/coding"
)

// Levels of gzip and deflate. A level that is none of -2 to 9 is
// CompressDefaultCompression.
const (
	// Levels of gzip and deflate. Values outside of -2 to 9 mean CompressDefaultCompression.
	CompressNoCompression      = 0
	CompressBestSpeed          = 1
	CompressBestCompression    = 9
	CompressDefaultCompression = 6
	CompressHuffmanOnly        = -2
)

// Levels of br. A level that is none of 0 to 11 is CompressBrotliDefaultCompression.
const (
	CompressBrotliNoCompression      = 0
	CompressBrotliBestSpeed          = 0
	CompressBrotliBestCompression    = 11
	CompressBrotliDefaultCompression = 4 // costs about what gzip's 6 does
)

// Levels of zstd. A level that is none of 1 to 4 is CompressZstdDefault.
const (
	CompressZstdSpeedNotSet = iota
	CompressZstdBestSpeed
	CompressZstdDefault
	CompressZstdSpeedBetter
	CompressZstdBestCompression
)

// All functions of this file take nil slices, are safe for concurrent use, and
// keep nothing they were given. src and p must not lie in dst's spare capacity.
//
// The Append functions that compress cannot fail. The Write functions that
// compress return the number of bytes of p that were taken, as a writer does, and
// the first error of w.

// AppendGzipBytes appends src, gzipped at CompressDefaultCompression, to dst.
func AppendGzipBytes(dst, src []byte) []byte {
	return AppendGzipBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendGzipBytesLevel appends src, gzipped at the level, to dst.
func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Gzip, level)
}

// AppendDeflateBytes appends src, deflated at CompressDefaultCompression, to dst.
// It is the coding "deflate" of RFC 9110 §8.4.1.2, which has a zlib head.
func AppendDeflateBytes(dst, src []byte) []byte {
	return AppendDeflateBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendDeflateBytesLevel appends src, deflated at the level, to dst.
func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Deflate, level)
}

// AppendBrotliBytes appends src in br at CompressBrotliDefaultCompression to dst.
func AppendBrotliBytes(dst, src []byte) []byte {
	return AppendBrotliBytesLevel(dst, src, CompressBrotliDefaultCompression)
}

// AppendBrotliBytesLevel appends src in br at the level to dst.
func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Brotli, level)
}

// AppendZstdBytes appends src in zstd at CompressZstdDefault to dst.
func AppendZstdBytes(dst, src []byte) []byte {
	return AppendZstdBytesLevel(dst, src, CompressZstdDefault)
}

// AppendZstdBytesLevel appends src in zstd at the level to dst. No window is over
// 8 MiB (RFC 9659).
func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Zstd, level)
}

// WriteGzip writes p, gzipped at CompressDefaultCompression, to w.
func WriteGzip(w io.Writer, p []byte) (int, error) {
	return WriteGzipLevel(w, p, CompressDefaultCompression)
}

// WriteGzipLevel writes p, gzipped at the level, to w.
func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Gzip, level)
}

// WriteDeflate writes p, deflated at CompressDefaultCompression, to w.
func WriteDeflate(w io.Writer, p []byte) (int, error) {
	return WriteDeflateLevel(w, p, CompressDefaultCompression)
}

// WriteDeflateLevel writes p, deflated at the level, to w.
func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Deflate, level)
}

// WriteBrotli writes p in br at CompressBrotliDefaultCompression to w.
func WriteBrotli(w io.Writer, p []byte) (int, error) {
	return WriteBrotliLevel(w, p, CompressBrotliDefaultCompression)
}

// WriteBrotliLevel writes p in br at the level to w.
func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Brotli, level)
}

// WriteZstdLevel writes p in zstd at the level to w.
func WriteZstdLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Zstd, level)
}

func writeEncoded(w io.Writer, p []byte, c coding.Coding, level int) (int, error) {
	z := coding.AcquireWriter(c, level, w)
	defer coding.ReleaseWriter(z)
	n, err := z.Write(p)
	if err != nil {
		return n, err
	}
	return n, z.Close()
}

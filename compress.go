package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/coding"
)

// Compression levels for gzip and deflate. A level outside the range -2 to 9 means CompressDefaultCompression.
const (
	CompressNoCompression      = 0
	CompressBestSpeed          = 1
	CompressBestCompression    = 9
	CompressDefaultCompression = 6
	CompressHuffmanOnly        = -2
)

// Compression levels for br. A level outside the range 0 to 11 means CompressBrotliDefaultCompression.
const (
	CompressBrotliNoCompression      = 0
	CompressBrotliBestSpeed          = 0
	CompressBrotliBestCompression    = 11
	CompressBrotliDefaultCompression = 4 // costs about as much as gzip level 6
)

// Compression levels for zstd. A level outside the range 1 to 4 means CompressZstdDefault.
const (
	CompressZstdSpeedNotSet = iota
	CompressZstdBestSpeed
	CompressZstdDefault
	CompressZstdSpeedBetter
	CompressZstdBestCompression
)

// All functions of this file accept nil slices, may be called concurrently, and keep none of their arguments. src and
// p must not lie in the spare capacity of dst. The Append functions cannot fail. The Write functions return the first
// error of w.

// AppendGzipBytes compresses src with gzip at CompressDefaultCompression, appends the compressed data to dst and
// returns the extended slice.
func AppendGzipBytes(dst, src []byte) []byte {
	return AppendGzipBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendGzipBytesLevel does the same as [AppendGzipBytes], but at the given level.
func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Gzip, level)
}

// AppendDeflateBytes compresses src with deflate at CompressDefaultCompression, appends the compressed data to dst and
// returns the extended slice. The compressed data has a zlib header, as HTTP requires (RFC 9110 §8.4.1.2).
func AppendDeflateBytes(dst, src []byte) []byte {
	return AppendDeflateBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendDeflateBytesLevel does the same as [AppendDeflateBytes], but at the given level.
func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Deflate, level)
}

// AppendBrotliBytes compresses src with br at CompressBrotliDefaultCompression, appends the compressed data to dst and
// returns the extended slice.
func AppendBrotliBytes(dst, src []byte) []byte {
	return AppendBrotliBytesLevel(dst, src, CompressBrotliDefaultCompression)
}

// AppendBrotliBytesLevel does the same as [AppendBrotliBytes], but at the given level.
func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Brotli, level)
}

// AppendZstdBytes compresses src with zstd at CompressZstdDefault, appends the compressed data to dst and returns the
// extended slice. The compression window is at most 8 MiB, as RFC 9659 requires.
func AppendZstdBytes(dst, src []byte) []byte {
	return AppendZstdBytesLevel(dst, src, CompressZstdDefault)
}

// AppendZstdBytesLevel does the same as [AppendZstdBytes], but at the given level.
func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncode(dst, src, coding.Zstd, level)
}

// WriteGzip compresses p with gzip at CompressDefaultCompression and writes the compressed data to w. The returned
// number says how many bytes of p were compressed.
func WriteGzip(w io.Writer, p []byte) (int, error) {
	return WriteGzipLevel(w, p, CompressDefaultCompression)
}

// WriteGzipLevel does the same as [WriteGzip], but at the given level.
func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Gzip, level)
}

// WriteDeflate compresses p with deflate at CompressDefaultCompression and writes the compressed data to w. The
// returned number says how many bytes of p were compressed.
func WriteDeflate(w io.Writer, p []byte) (int, error) {
	return WriteDeflateLevel(w, p, CompressDefaultCompression)
}

// WriteDeflateLevel does the same as [WriteDeflate], but at the given level.
func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Deflate, level)
}

// WriteBrotli compresses p with br at CompressBrotliDefaultCompression and writes the compressed data to w. The
// returned number says how many bytes of p were compressed.
func WriteBrotli(w io.Writer, p []byte) (int, error) {
	return WriteBrotliLevel(w, p, CompressBrotliDefaultCompression)
}

// WriteBrotliLevel does the same as [WriteBrotli], but at the given level.
func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, coding.Brotli, level)
}

// WriteZstdLevel compresses p with zstd at the given level and writes the compressed data to w. The returned number
// says how many bytes of p were compressed.
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

// All functions of this file have the default limits of package coding. Input that ends too early, is corrupt, or
// continues after its end is an error. An error of w is returned unchanged.

// AppendGunzipBytes decompresses the gzip data src, appends the decompressed data to dst and returns the extended
// slice. The argument src may consist of several gzip members in a row (RFC 1952 §2.2).
//
// If the decompressed data has more than 32 MiB, the error is ErrDecompressedTooLarge. If the decompressed data has
// more than 1 MiB and is more than 100 times as large as src, the error is ErrDecompressionRatio. After an error,
// AppendGunzipBytes returns dst unchanged. To set another limit, use [Request.BodyGunzipWithLimit].
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Gzip), coding.Limits{})
}

// AppendInflateBytes decompresses the deflate data src, appends the decompressed data to dst and returns the extended
// slice. RFC 9110 §8.4.1.2 requires a zlib header, but AppendInflateBytes also accepts src without the header. See
// [AppendGunzipBytes] for limits and errors.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Deflate), coding.Limits{})
}

// AppendUnbrotliBytes decompresses the br data src, appends the decompressed data to dst and returns the extended
// slice. See [AppendGunzipBytes] for limits and errors.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Brotli), coding.Limits{})
}

// AppendUnzstdBytes decompresses the zstd data src, appends the decompressed data to dst and returns the extended
// slice. The argument src may consist of several zstd frames in a row. AppendUnzstdBytes refuses a frame that needs a
// window of more than 8 MiB (RFC 9659). See [AppendGunzipBytes] for limits and errors.
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Zstd), coding.Limits{})
}

// WriteGunzip decompresses the gzip data p and writes the result to w. WriteGunzip returns the number of bytes written
// to w. Even if p is invalid, WriteGunzip may have written part of the result to w. See [AppendGunzipBytes] for limits
// and errors.
func WriteGunzip(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Gzip) }

// WriteInflate decompresses the deflate data p and writes the result to w. See [WriteGunzip].
func WriteInflate(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Deflate) }

// WriteUnbrotli decompresses the br data p and writes the result to w. See [WriteGunzip].
func WriteUnbrotli(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Brotli) }

// WriteUnzstd decompresses the zstd data p and writes the result to w. See [WriteGunzip].
func WriteUnzstd(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Zstd) }

func writeDecoded(w io.Writer, p []byte, c coding.Coding) (int, error) {
	n, err := coding.Decode(w, p, coding.ListOf(c), coding.Limits{})
	return int(n), err // at most the default limit
}

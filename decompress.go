package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/coding"
)

// All functions of this file have the default limits of package coding. Input that ends too early, is corrupt, or
// continues after its end is an error. An error of w is returned unchanged.

// AppendGunzipBytes decompresses the gzip data src, appends the decompressed data to dst and returns the extended
// slice. src may consist of several gzip members in a row (RFC 1952 §2.2).
//
// If the decompressed data has more than 32 MiB, the error is ErrDecompressedTooLarge. If src grows to more than 100
// times its size and to more than 1 MiB, the error is ErrDecompressionRatio. After an error, AppendGunzipBytes returns
// dst unchanged. To set another limit, use [Request.BodyGunzipWithLimit].
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Gzip), coding.Limits{})
}

// AppendInflateBytes decompresses the deflate data src, appends the decompressed data to dst and returns the extended
// slice. src may lack the zlib header, although RFC 9110 §8.4.1.2 requires one. See [AppendGunzipBytes] for limits and
// errors.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Deflate), coding.Limits{})
}

// AppendUnbrotliBytes decompresses the br data src, appends the decompressed data to dst and returns the extended
// slice. See [AppendGunzipBytes] for limits and errors.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Brotli), coding.Limits{})
}

// AppendUnzstdBytes decompresses the zstd data src, appends the decompressed data to dst and returns the extended
// slice. src may consist of several frames in a row. AppendUnzstdBytes refuses a frame that needs a window of more than
// 8 MiB (RFC 9659). See [AppendGunzipBytes] for limits and errors.
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Zstd), coding.Limits{})
}

// WriteGunzip decompresses the gzip data p and writes the result to w. WriteGunzip returns the number of bytes written
// to w. If p is invalid, w can already have received part of the result. See [AppendGunzipBytes] for limits and errors.
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

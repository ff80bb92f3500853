package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/coding"
)

// All functions of this file have the default limits of package coding. Input that ends too early, is corrupt, or
// continues after its end is an error. An error of w is returned unchanged.

// AppendGunzipBytes decompresses the gzip data src, appends the result to dst and returns it. It also
// decompresses several members in a row (RFC 1952 §2.2).
//
// The error is ErrDecompressedTooLarge for a result of more than 32 MiB. It is ErrDecompressionRatio for a
// result of more than 1 MiB that is more than 100 times as large as src. After an error the result is dst
// unchanged. To set another limit, use [Request.BodyGunzipWithLimit].
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Gzip), coding.Limits{})
}

// AppendInflateBytes decompresses the deflate data src, appends the result to dst and returns it. It accepts
// data with and without the zlib header that RFC 9110 §8.4.1.2 requires. See [AppendGunzipBytes] for limits and
// errors.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Deflate), coding.Limits{})
}

// AppendUnbrotliBytes decompresses the br data src, appends the result to dst and returns it. See
// [AppendGunzipBytes] for limits and errors.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Brotli), coding.Limits{})
}

// AppendUnzstdBytes decompresses the zstd data src, appends the result to dst and returns it. It also
// decompresses several frames in a row. It refuses a window of more than 8 MiB (RFC 9659). See
// [AppendGunzipBytes] for limits and errors.
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Zstd), coding.Limits{})
}

// WriteGunzip decompresses the gzip data p and writes the result to w. It returns how many bytes it has
// written, which may be more than zero even if p turns out to be invalid. See [AppendGunzipBytes] for limits
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

package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/coding"
)

// All functions of this file stop at the default limits, with an error: at 32 MiB
// of output with ErrDecompressedTooLarge, and at 100 bytes of output for each byte
// of input, once there is more than 1 MiB of it, with ErrDecompressionRatio. Input
// that ends too early, is corrupt, or goes on behind its end is an error.
//
// The Append functions return dst as it was with every error. The Write functions
// return the number of decompressed bytes written to w, which may have got the
// beginning of a body before the error was found; an error of w is returned as it is.

// AppendGunzipBytes appends what the gzip bytes src yield to dst. Several members
// in a row are one body (RFC 1952 §2.2).
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Gzip), coding.Limits{})
}

// AppendInflateBytes appends what the deflate bytes src yield to dst. They may have
// the zlib head that RFC 9110 §8.4.1.2 asks for or lack it.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Deflate), coding.Limits{})
}

// AppendUnbrotliBytes appends what the br bytes src yield to dst.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Brotli), coding.Limits{})
}

// AppendUnzstdBytes appends what the zstd bytes src yield to dst. Several frames in
// a row are one body; a window over 8 MiB is an error (RFC 9659).
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecode(dst, src, coding.ListOf(coding.Zstd), coding.Limits{})
}

// WriteGunzip writes what the gzip bytes p yield to w.
func WriteGunzip(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Gzip) }

// WriteInflate writes what the deflate bytes p yield to w.
func WriteInflate(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Deflate) }

// WriteUnbrotli writes what the br bytes p yield to w.
func WriteUnbrotli(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Brotli) }

// WriteUnzstd writes what the zstd bytes p yield to w.
func WriteUnzstd(w io.Writer, p []byte) (int, error) { return writeDecoded(w, p, coding.Zstd) }

func writeDecoded(w io.Writer, p []byte, c coding.Coding) (int, error) {
	n, err := coding.Decode(w, p, coding.ListOf(c), coding.Limits{})
	return int(n), err // at most the default limit
}

package fasthttp

import (
	"io"

	"github.com/gallop-http/gallop"
)

func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return gallop.AppendBrotliBytesLevel(dst, src, level)
}

func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return gallop.WriteBrotliLevel(w, p, level)
}

func WriteBrotli(w io.Writer, p []byte) (int, error) { return gallop.WriteBrotli(w, p) }

func AppendBrotliBytes(dst, src []byte) []byte { return gallop.AppendBrotliBytes(dst, src) }

func WriteUnbrotli(w io.Writer, p []byte) (int, error) { return gallop.WriteUnbrotli(w, p) }

func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return gallop.AppendUnbrotliBytes(dst, src)
}

func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return gallop.AppendGzipBytesLevel(dst, src, level)
}

func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return gallop.WriteGzipLevel(w, p, level)
}

func WriteGzip(w io.Writer, p []byte) (int, error) { return gallop.WriteGzip(w, p) }

func AppendGzipBytes(dst, src []byte) []byte { return gallop.AppendGzipBytes(dst, src) }

func WriteGunzip(w io.Writer, p []byte) (int, error) { return gallop.WriteGunzip(w, p) }

func AppendGunzipBytes(dst, src []byte) ([]byte, error) { return gallop.AppendGunzipBytes(dst, src) }

func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return gallop.AppendDeflateBytesLevel(dst, src, level)
}

func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return gallop.WriteDeflateLevel(w, p, level)
}

func WriteDeflate(w io.Writer, p []byte) (int, error) { return gallop.WriteDeflate(w, p) }

func AppendDeflateBytes(dst, src []byte) []byte { return gallop.AppendDeflateBytes(dst, src) }

func WriteInflate(w io.Writer, p []byte) (int, error) { return gallop.WriteInflate(w, p) }

func AppendInflateBytes(dst, src []byte) ([]byte, error) { return gallop.AppendInflateBytes(dst, src) }

func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return gallop.AppendZstdBytesLevel(dst, src, level)
}

func WriteZstdLevel(w io.Writer, p []byte, level int) (int, error) {
	return gallop.WriteZstdLevel(w, p, level)
}

func AppendZstdBytes(dst, src []byte) []byte { return gallop.AppendZstdBytes(dst, src) }

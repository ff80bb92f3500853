package gallop

import (
	"bufio"
	"errors"
	"io"
	"math"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// bufferedBody reads a body from a bufio.Reader, up to the end of the body and never beyond. After an error it
// always returns that error.
type bufferedBody struct {
	r        *bufio.Reader
	kind     message.BodyKind
	left     int64 // bytes left of a fixed body, or otherwise of the data at the front of r
	chunks   http1.ChunkReader
	trailers *field.List // receives the trailers
	err      error
}

// bodyOn returns the body with this framing that starts at the front of r.
func bodyOn(r *bufio.Reader, kind message.BodyKind, length int64, trailers *field.List) bufferedBody {
	b := bufferedBody{r: r, kind: kind, trailers: trailers}
	switch kind {
	case message.NoBody:
		b.err = io.EOF
	case message.Fixed:
		if b.left = length; length == 0 {
			b.err = io.EOF
		}
	case message.UntilClose:
		b.left = math.MaxInt64
	}
	return b
}

// Read implements io.Reader. The error for a body that is cut off is io.ErrUnexpectedEOF to errors.Is.
func (b *bufferedBody) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if b.left == 0 { // chunked
		if b.err = b.nextChunk(); b.err != nil {
			return 0, b.err
		}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.took(n, err)
	return n, b.err
}

// took records that n bytes were taken from r, and the error that came with them.
func (b *bufferedBody) took(n int, err error) {
	if b.err = err; b.kind == message.UntilClose {
		return
	}
	if b.left -= int64(n); b.left == 0 && b.kind == message.Fixed {
		b.err = io.EOF
	} else if err == io.EOF {
		b.err = b.cutOff()
	}
}

func (b *bufferedBody) cutOff() error {
	if b.kind == message.Chunked {
		return ErrBrokenChunk{io.ErrUnexpectedEOF}
	}
	return io.ErrUnexpectedEOF
}

// nextChunk moves the data of the next chunk to the front of r, or ends the body.
func (b *bufferedBody) nextChunk() error {
	for {
		buffered, _ := b.r.Peek(b.r.Buffered())
		data, n, err := b.chunks.Next(buffered, &trailerLimits, b.trailers)
		if err != nil {
			return ErrBrokenChunk{parseError(err)}
		}
		b.r.Discard(n - len(data))
		b.left = int64(len(data))
		switch {
		case b.chunks.Done():
			return io.EOF
		case b.left > 0:
			return nil
		case n > 0:
			continue
		}
		if _, err := b.r.Peek(len(buffered) + 1); err == bufio.ErrBufferFull {
			return ErrBrokenChunk{&ErrSmallBuffer{ErrSmallReadBuffer}}
		} else if err == io.EOF {
			return b.cutOff()
		} else if err != nil {
			return err
		}
	}
}

// ErrBrokenChunk is returned for a chunked body that is malformed, too expensive to parse, or cut off. If a chunk line
// or the trailers do not fit into the read buffer, ErrBrokenChunk wraps an *ErrSmallBuffer.
type ErrBrokenChunk struct{ error }

// Unwrap returns the underlying error.
func (e ErrBrokenChunk) Unwrap() error { return e.error }

// appendAll appends the rest of the body to dst, at most limit bytes if limit is positive. dst grows with the
// bytes that arrive, regardless of the announced length.
func (b *bufferedBody) appendAll(dst []byte, limit int) ([]byte, error) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	if b.kind == message.Fixed && b.left > int64(limit) {
		return dst, ErrBodyTooLarge
	}
	start := len(dst)
	for {
		dst = bufpool.Grow(dst, max(1, int(min(b.left, int64(b.r.Buffered())))))
		n, err := b.Read(dst[len(dst):cap(dst)])
		if n > limit-(len(dst)-start) {
			return dst, ErrBodyTooLarge
		}
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// maxCloseDrain is how many bytes of a body Close reads at most to find its end.
const maxCloseDrain = 256 << 10

// Close skips the rest of the body, up to 256 KiB, so that the next message can be read from r. If more is left, it
// returns an error, and r cannot be used for another message.
func (b *bufferedBody) Close() error {
	var skipped int64
	for b.err == nil && skipped <= maxCloseDrain {
		if b.kind == message.Fixed && b.left > maxCloseDrain {
			break
		}
		if b.left == 0 {
			b.err = b.nextChunk()
			continue
		}
		n, err := b.r.Discard(int(min(b.left, maxCloseDrain)))
		skipped += int64(n)
		b.took(n, err)
	}
	switch b.err {
	case io.EOF:
		return nil
	case nil:
		b.err = errBodyUnread
	}
	return b.err
}

// readBody reads from to its end and makes the result the body.
func (b *body) readBody(from *bufferedBody, limit int) (err error) {
	b.ResetBody()
	b.buf, err = from.appendAll(b.buf, limit)
	b.fail(err)
	return err
}

// BodyGunzip decompresses a body that has the content coding gzip, and returns the result. The result is limited to 32
// MiB. A result of more than 1 MiB is also limited to 100 times the size of the compressed body. If the result exceeds
// a limit, the error is ErrBodyTooLarge. The result belongs to the caller.
func (b *body) BodyGunzip() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Gzip), coding.Limits{})
}

// BodyGunzipWithLimit decompresses a body that has the content coding gzip, and returns the result. The result can have
// at most maxBodySize bytes. If maxBodySize is not positive, there is no limit. Turn the limit off only for data that
// you have compressed yourself. The result belongs to the caller.
func (b *body) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Gzip), decodeLimits(maxBodySize))
}

// BodyInflate decompresses a body that has the content coding deflate, and returns the result. The limits are the
// same as for BodyGunzip.
func (b *body) BodyInflate() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Deflate), coding.Limits{})
}

// BodyInflateWithLimit decompresses a body that has the content coding deflate, and returns the result. See
// BodyGunzipWithLimit for the limit.
func (b *body) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Deflate), decodeLimits(maxBodySize))
}

// BodyUnbrotli decompresses a body that has the content coding br, and returns the result. The limits are the same as
// for BodyGunzip.
func (b *body) BodyUnbrotli() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Brotli), coding.Limits{})
}

// BodyUnbrotliWithLimit decompresses a body that has the content coding br, and returns the result. See
// BodyGunzipWithLimit for the limit.
func (b *body) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Brotli), decodeLimits(maxBodySize))
}

// BodyUnzstd decompresses a body that has the content coding zstd, and returns the result. The limits are the same as
// for BodyGunzip.
func (b *body) BodyUnzstd() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Zstd), coding.Limits{})
}

// BodyUnzstdWithLimit decompresses a body that has the content coding zstd, and returns the result. See
// BodyGunzipWithLimit for the limit.
func (b *body) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Zstd), decodeLimits(maxBodySize))
}

// decodeLimits returns the limits for a caller who has named a size. There is no limit for the ratio then.
func decodeLimits(maxBodySize int) coding.Limits {
	if maxBodySize <= 0 {
		maxBodySize = -1
	}
	return coding.Limits{MaxSize: int64(maxBodySize), MaxRatio: -1}
}

func (b *body) uncompressed(h *header, limits coding.Limits) ([]byte, error) {
	codings, err := contentCodings(&h.head.Fields)
	if err != nil {
		return nil, err
	}
	if codings.Len() > 0 {
		return b.decode(codings, limits)
	}
	plain := b.Body()
	if limits.MaxSize > 0 && int64(len(plain)) > limits.MaxSize {
		return nil, ErrBodyTooLarge
	}
	return plain, b.err
}

func (b *body) decode(codings coding.List, limits coding.Limits) ([]byte, error) {
	encoded := b.Body()
	if b.err != nil {
		return nil, b.err
	}
	decoded, err := coding.AppendDecode(nil, encoded, codings, limits)
	if err != nil {
		return nil, decodeError(err)
	}
	return decoded, nil
}

// decodeError returns ErrBodyTooLarge if err says that a limit was exceeded, and err otherwise.
func decodeError(err error) error {
	if errors.Is(err, coding.ErrTooLarge) || errors.Is(err, coding.ErrRatio) {
		return ErrBodyTooLarge
	}
	return err
}

// contentCodings returns the codings in Content-Encoding. The error is ErrContentEncodingUnsupported.
func contentCodings(fields *field.List) (codings coding.List, err error) {
	for i := fields.FindID(field.ContentEncoding); i >= 0; i = field.Next(fields, i, field.ContentEncoding, "") {
		if err := codings.Add(fields.Value(i)); err != nil {
			return codings, ErrContentEncodingUnsupported
		}
	}
	return codings, nil
}

package gallop

import (
	"errors"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

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

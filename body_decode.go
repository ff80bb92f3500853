package gallop

import (
	"errors"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// BodyGunzip returns the body, which is in gzip coding, decoded: at most 32 MiB, and
// at most 100 times the size of the body once it is over 1 MiB. What is beyond is
// ErrBodyTooLarge. The result is the caller's.
func (b *body) BodyGunzip() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Gzip), coding.Limits{})
}

// BodyGunzipWithLimit is BodyGunzip with a limit of maxBodySize bytes instead,
// or without any if that is not positive: which is to be used only on what one
// has encoded oneself.
func (b *body) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Gzip), decodeLimits(maxBodySize))
}

// BodyInflate is BodyGunzip for the deflate coding.
func (b *body) BodyInflate() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Deflate), coding.Limits{})
}

// BodyInflateWithLimit is BodyGunzipWithLimit for the deflate coding.
func (b *body) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Deflate), decodeLimits(maxBodySize))
}

// BodyUnbrotli is BodyGunzip for the br coding.
func (b *body) BodyUnbrotli() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Brotli), coding.Limits{})
}

// BodyUnbrotliWithLimit is BodyGunzipWithLimit for the br coding.
func (b *body) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Brotli), decodeLimits(maxBodySize))
}

// BodyUnzstd is BodyGunzip for the zstd coding.
func (b *body) BodyUnzstd() ([]byte, error) {
	return b.decode(coding.ListOf(coding.Zstd), coding.Limits{})
}

// BodyUnzstdWithLimit is BodyGunzipWithLimit for the zstd coding.
func (b *body) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return b.decode(coding.ListOf(coding.Zstd), decodeLimits(maxBodySize))
}

// BodyUncompressed returns the body with the codings of Content-Encoding undone,
// within the limits of BodyGunzip. Without any it is Body. The error is
// ErrContentEncodingUnsupported for codings that are not known.
func (req *Request) BodyUncompressed() ([]byte, error) {
	return req.uncompressed(&req.Header.header, coding.Limits{})
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of BodyGunzipWithLimit.
func (req *Request) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return req.uncompressed(&req.Header.header, decodeLimits(maxBodySize))
}

// BodyUncompressed returns the body with the codings of Content-Encoding undone,
// within the limits of BodyGunzip. Without any it is Body. The error is
// ErrContentEncodingUnsupported for codings that are not known. An answer that can have no
// body, to HEAD or with the status 304, say, has none, whatever Content-Encoding says of another.
func (resp *Response) BodyUncompressed() ([]byte, error) {
	return resp.uncompressedAnswer(coding.Limits{})
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of BodyGunzipWithLimit.
func (resp *Response) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return resp.uncompressedAnswer(decodeLimits(maxBodySize))
}

func (resp *Response) uncompressedAnswer(limits coding.Limits) ([]byte, error) {
	if !resp.mayHaveBody() && len(resp.Body()) == 0 {
		return nil, resp.err
	}
	return resp.uncompressed(&resp.Header.header, limits)
}

// decodeLimits are those of a caller who named a size, and means it.
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

// decodeError makes a limit that was hit an ErrBodyTooLarge.
func decodeError(err error) error {
	if errors.Is(err, coding.ErrTooLarge) || errors.Is(err, coding.ErrRatio) {
		return ErrBodyTooLarge
	}
	return err
}

// contentCodings returns what Content-Encoding says. The error is
// ErrContentEncodingUnsupported.
func contentCodings(fields *field.List) (codings coding.List, err error) {
	for i := fields.FindID(field.ContentEncoding); i >= 0; i = field.Next(fields, i, field.ContentEncoding, "") {
		if err := codings.Add(fields.Value(i)); err != nil {
			return codings, ErrContentEncodingUnsupported
		}
	}
	return codings, nil
}

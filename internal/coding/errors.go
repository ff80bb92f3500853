package coding

import "errors"

var (
	// ErrTooLarge says that a body decodes to more than Limits.MaxSize.
	ErrTooLarge = errors.New("decoded body is over the size limit")
	// ErrRatio says that a body expands by more than Limits.MaxRatio.
	ErrRatio = errors.New("body expands beyond the ratio limit: a decompression bomb?")
	// ErrWindow says that a zstd frame needs a window over 8 MiB, which RFC 9659
	// forbids in a content coding.
	ErrWindow = errors.New("zstd window is over 8 MiB")
	// ErrCorrupt says that a body is not what its content coding says, or that
	// something follows it.
	ErrCorrupt = errors.New("body is not valid in its content coding")
	// ErrTruncated says that a body ends before its content coding does.
	ErrTruncated = errors.New("body ends within its content coding")
	// ErrUnknown says that Content-Encoding names a coding that this package does not know.
	ErrUnknown = errors.New("unknown content coding")
	// ErrTooManyLayers says that Content-Encoding lists more than MaxLayers codings.
	ErrTooManyLayers = errors.New("too many content codings")
	// ErrClosed says that a Reader was read after Close.
	ErrClosed = errors.New("decoding reader is closed")
)

// Error is why a body did not decode: Reason is ErrCorrupt, ErrTruncated or
// ErrWindow, and Cause what the decoder of the coding said, which for a truncated
// body is io.ErrUnexpectedEOF. errors.Is finds both.
type Error struct {
	Coding Coding
	Reason error
	Cause  error
}

// Error names the coding, the reason and the cause. No byte of the body is in it.
func (e *Error) Error() string {
	return e.Coding.String() + ": " + e.Reason.Error() + ": " + e.Cause.Error()
}

// Unwrap returns Reason and Cause.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Cause} }

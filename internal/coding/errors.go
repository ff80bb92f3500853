package coding

import "errors"

var (
	// ErrTooLarge means that a body decodes to more than Limits.MaxSize bytes.
	ErrTooLarge = errors.New("decoded body is over the size limit")
	// ErrRatio means that a body expands by more than Limits.MaxRatio.
	ErrRatio = errors.New("body expands beyond the ratio limit: a decompression bomb?")
	// ErrWindow means that a zstd frame needs a window over 8 MiB, which RFC 9659 forbids in a content coding.
	ErrWindow = errors.New("zstd window is over 8 MiB")
	// ErrCorrupt means that a body does not match its content coding, or that bytes follow its end.
	ErrCorrupt = errors.New("body is not valid in its content coding")
	// ErrTruncated means that a body ends before its content coding does.
	ErrTruncated = errors.New("body ends within its content coding")
	// ErrUnknown means that Content-Encoding names a coding that this package does not support.
	ErrUnknown = errors.New("unknown content coding")
	// ErrTooManyLayers means that Content-Encoding lists more than MaxLayers codings.
	ErrTooManyLayers = errors.New("too many content codings")
	// ErrClosed means that a Reader was read after Close.
	ErrClosed = errors.New("decoding reader is closed")
)

// Error says why a body could not be decoded. Reason is ErrCorrupt, ErrTruncated or ErrWindow. Cause is the error of
// the coding's decoder; for a truncated body it is io.ErrUnexpectedEOF. errors.Is finds both.
type Error struct {
	Coding Coding
	Reason error
	Cause  error
}

// Error names the coding, the reason and the cause. It contains no bytes of the body.
func (e *Error) Error() string {
	return e.Coding.String() + ": " + e.Reason.Error() + ": " + e.Cause.Error()
}

// Unwrap returns Reason and Cause.
func (e *Error) Unwrap() []error { return []error{e.Reason, e.Cause} }

package h2client

import (
	"errors"

	"github.com/gallop-http/gallop/internal/http2"
)

var (
	// ErrNoRoom is returned by Open if the connection accepts no further stream. Nothing was sent.
	ErrNoRoom = errors.New("the HTTP/2 connection accepts no further stream")

	// ErrDeadline is returned if a time limit of the call has passed.
	ErrDeadline = errors.New("the time of the call is over")

	// ErrInterrupted is returned after Interrupt.
	ErrInterrupted = errors.New("the call was interrupted")

	// ErrTooLarge is returned if a body that is collected exceeds its limit.
	ErrTooLarge = errors.New("the response body is too large")

	// ErrStopped is returned by Write and End if the call needs no more of the request body.
	ErrStopped = errors.New("the rest of the request body is not needed")
)

var (
	errPing  = errors.New("the server has not responded to an HTTP/2 PING")
	errStale = errors.New("the idle HTTP/2 connection has ended")
)

// GoAwayError is why a connection accepts no further calls: the server has sent GOAWAY with a code.
type GoAwayError struct{ Code http2.Code }

// Error implements error.
func (e *GoAwayError) Error() string {
	if e.Code == http2.NoError {
		return "the server is closing the HTTP/2 connection"
	}
	return "the server is closing the HTTP/2 connection: " + e.Code.String()
}

// LostError is returned if the connection ended before the call. Err says why.
type LostError struct {
	Err error

	// Unprocessed means that the server has not acted on the request: it has said so, or nothing of the request was sent.
	Unprocessed bool

	// Written is how many bytes of the head of the request were written.
	Written int64
}

// Error implements error.
func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// ResetError is returned if the stream of a call was reset.
type ResetError struct {
	Code http2.Code
	Err  *http2.Error // why this side has reset it, or nil if the server has
}

// Error implements error.
func (e *ResetError) Error() string {
	if e.Err != nil {
		return "HTTP/2 stream reset: " + e.Err.Reason
	}
	return "the server has reset the HTTP/2 stream: " + e.Code.String()
}

// ExcessError is returned if the head or the trailers of a response exceed a limit. Err says which one.
type ExcessError struct{ Err error }

// Error implements error.
func (e *ExcessError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ExcessError) Unwrap() error { return e.Err }

package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gallop-http/gallop"
)

// PanicError is the error for a panic. [Recover] returns the PanicError as the cause of a [web.Error].
type PanicError = gallop.PanicError

// TimeoutError reports that a handler returned an error because the deadline of its context had passed. The middleware
// Timeout returns a TimeoutError as the cause of a web.Error. For a TimeoutError, errors.Is(err, context.DeadlineExceeded) is
// true.
type TimeoutError struct {
	After time.Duration // After is the time limit that the handler had.
	Err   error         // Err is the error that the handler returned.
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("middleware: handler gave up after %v: %v", e.After, e.Err)
}

// Unwrap returns context.DeadlineExceeded and Err.
func (e *TimeoutError) Unwrap() []error { return []error{context.DeadlineExceeded, e.Err} }

// Timeout always returns true. Code that checks for timeouts with the method Timeout of [net.Error] therefore recognizes a
// TimeoutError.
func (e *TimeoutError) Timeout() bool { return true }

// ErrValueTooLarge is the error of a [Store] for a value that is too large for the Store.
var ErrValueTooLarge = errors.New("middleware: value is too large for the store")

// Errors of programs that use a Store incorrectly.
var (
	errNegativeTTL = errors.New("middleware: ttl is negative")
	errNotNumber   = errors.New("middleware: the value of the key is not a decimal number in the range of int64")
	errOverflow    = errors.New("middleware: the counter would leave the range of int64")
	errBucket      = errors.New("middleware: a Bucket needs a positive Limit and Window, and has to be full again within 73 years")
	errSameBucket  = errors.New("middleware: two buckets of one call have the same key")
)

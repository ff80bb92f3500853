package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PanicError is what Recover makes of a panic. It is in the web.Error that goes to the error
// handler.
type PanicError struct {
	Value any    // that of the panic
	Stack []byte // of the goroutine, as debug.Stack has it
}

// Error implements error. The stack is not in it.
func (e *PanicError) Error() string { return fmt.Sprintf("web: panic: %v", e.Value) }

// Unwrap returns the value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// TimeoutError is what Timeout makes of a handler that gave up. It is in the web.Error that goes to the
// error handler, and it is a context.DeadlineExceeded.
type TimeoutError struct {
	After time.Duration // which the handler had
	Err   error         // that it returned
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("web: the handler gave up after %v: %v", e.After, e.Err)
}

// Unwrap returns what the error is, and what the handler returned.
func (e *TimeoutError) Unwrap() []error { return []error{context.DeadlineExceeded, e.Err} }

// Timeout reports that it is one, as net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// ErrTooLarge is returned by a Store for a value that it cannot keep because of its size.
var ErrTooLarge = errors.New("web: the value is too large for the store")

package gallop

import (
	"fmt"
	"runtime/debug"
)

// What becomes of a call when a function that the program has set panics: whatever the
// call holds is given back, the connection is closed, and the panic goes on to the
// caller. The same holds for runtime.Goexit. Functions that run on another goroutine
// than the caller's are called by aside.

// PanicError says that a function that the program has set panicked where no caller
// could see it: a Resolver, for all who wait for the name, or the dial, the Trace or
// the TLS settings of a PipelineClient, for all calls on the connection.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error has the text of the value.
func (e *PanicError) Error() string { return fmt.Sprintf("gallop: panic: %v", e.Value) }

// Unwrap returns the value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// aside runs f on a goroutine of its own. When f has returned, then gets nil; when it
// panicked, a *PanicError; and errGoexit when it ended the goroutine.
func aside(f func(), then func(failure error)) {
	go func() {
		failure := errGoexit
		defer func() {
			if v := recover(); v != nil {
				failure = &PanicError{v, debug.Stack()}
			}
			then(failure)
		}()
		f()
		failure = nil
	}()
}

// panicAgain lets a panic that aside has caught go on, where the call was made for
// which the function ran. Any other failure is returned.
func panicAgain(failure error) error {
	if e, ok := failure.(*PanicError); ok {
		panic(e.Value)
	}
	return failure
}

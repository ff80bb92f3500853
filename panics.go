package gallop

import "github.com/gallop-http/gallop/internal/callback"

// If a function that the program has set panics during a call, the call gives back everything that it holds and
// closes its connection. The panic goes on to the caller. The same holds for runtime.Goexit. Package callback calls
// the functions that run on a goroutine other than the caller's.

// PanicError reports a panic in a function of your program. A panic in one of the following functions causes a
// PanicError:
//
//   - a Resolver: every call that waits for the lookup gets the PanicError
//   - a function in the field Dial, DialContext, Trace or TLSConfig of a PipelineClient: every call on the connection
//     gets the PanicError
//   - a handler, if middleware.Recover is in use: the error handler of package web gets the PanicError
type PanicError struct {
	// Value is the argument of panic.
	Value any

	// Stack is the stack of the goroutine that panicked, in the format of debug.Stack.
	Stack []byte
}

// Error returns the panic value as text, without the stack.
func (e *PanicError) Error() string { return (*callback.Panic)(e).Error() }

// Unwrap returns Value if Value is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// isAbort reports whether a handler that panicked with v has only aborted its response. Nothing logs such a panic.
func isAbort(v any) bool { return v == ErrAbortHandler }

// shownPanic returns a panic that callback.Go caught as a *PanicError. It returns other errors unchanged.
func shownPanic(err error) error {
	if p, ok := err.(*callback.Panic); ok {
		return (*PanicError)(p)
	}
	return err
}

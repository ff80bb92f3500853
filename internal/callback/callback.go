// Package callback runs functions of the program on separate goroutines. [Go] reports whether the function returned,
// panicked or ended its goroutine, so a panic does not end the process. [Again] repeats the panic on the goroutine of
// the call that waits for the function.
package callback

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrGoexit is the failure of a function that ended its goroutine.
var ErrGoexit = errors.New("gallop: a callback ended its goroutine (runtime.Goexit)")

// Panic is the failure of a function that panicked.
type Panic struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine that panicked, in the format of debug.Stack
}

// Error returns the panic value as text.
func (p *Panic) Error() string { return fmt.Sprintf("gallop: panic: %v", p.Value) }

// Go runs f on its own goroutine and then calls then. failure is nil if f returned, a *Panic if f
// panicked, and ErrGoexit if f ended the goroutine.
func Go(f func(), then func(failure error)) {
	go func() {
		failure := ErrGoexit
		defer func() {
			if v := recover(); v != nil {
				failure = &Panic{v, debug.Stack()}
			}
			then(failure)
		}()
		f()
		failure = nil
	}()
}

// Again repeats a panic that Go caught, on the goroutine of the call that f ran for. It returns any
// other failure.
func Again(failure error) error {
	if p, ok := failure.(*Panic); ok {
		panic(p.Value)
	}
	return failure
}

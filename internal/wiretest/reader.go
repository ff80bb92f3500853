package wiretest

import (
	"errors"
	"io"
	"strings"
)

// ErrTest is an error that no code but a test returns.
var ErrTest = errors.New("test")

// ReaderFunc is an io.Reader whose Read is the function.
type ReaderFunc func(p []byte) (int, error)

// Read calls the function.
func (f ReaderFunc) Read(p []byte) (int, error) { return f(p) }

// Failing returns a reader that yields text and then [ErrTest].
func Failing(text string) io.Reader {
	return io.MultiReader(strings.NewReader(text), ReaderFunc(func([]byte) (int, error) { return 0, ErrTest }))
}

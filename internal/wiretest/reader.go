package wiretest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
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

// AtMost returns a reader that reads from r, at most n bytes at a time.
func AtMost(r io.Reader, n int) io.Reader {
	return ReaderFunc(func(p []byte) (int, error) { return r.Read(p[:min(len(p), n)]) })
}

// ReadHead reads the text of a head into a header. It panics if the header does not accept the text.
func ReadHead(header interface{ Read(*bufio.Reader) error }, text string) {
	if err := header.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
		panic(err)
	}
}

// FailingWriter is an io.Writer that writes nothing and returns [ErrTest].
type FailingWriter struct{}

// Write returns ErrTest.
func (FailingWriter) Write([]byte) (int, error) { return 0, ErrTest }

// CountingCloser is a reader that counts how often it is closed.
type CountingCloser struct {
	io.Reader
	Closed int
	Err    error // what Close returns
}

// Close counts the call.
func (c *CountingCloser) Close() error {
	c.Closed++
	return c.Err
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

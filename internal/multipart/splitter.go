// Package multipart splits multipart bodies into parts (RFC 2046 §5.1), as functions over bytes and small types without
// I/O.
//
// splitter.go finds the delimiters between parts, and head.go parses the headers of a part. Both work on a window: the
// bytes of the body that were read and not used yet. If the window is too short to decide something, the caller reads
// more of the body into the window and calls again. The outcome does not depend on where the body is cut.
package multipart

import (
	"bytes"
	"errors"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Limits of a body.
const (
	MaxParts    = 1000     // parts
	MaxHead     = 8 << 10  // bytes in the headers of a part
	Window      = 16 << 10 // bytes in a full window; more than MaxHead
	maxBoundary = 70       // bytes, RFC 2046 §5.1.1
)

// Errors of malformed bodies. They are passed on to users.
var (
	ErrDelimiter = errors.New("gallop: multipart boundary is missing or not followed by a line end (RFC 2046 §5.1.1)")
	ErrHead      = errors.New("gallop: header of a part is malformed (RFC 2046 §5.1)")
	ErrLargeHead = errors.New("gallop: header of a part is too large")
	ErrParts     = errors.New("gallop: too many parts")
)

// IsBoundary reports whether b is a valid boundary (RFC 2046 §5.1.1).
func IsBoundary[S ascii.Text](b S) bool {
	if len(b) == 0 || len(b) > maxBoundary || b[len(b)-1] == ' ' {
		return false
	}
	for i := range len(b) {
		if c := b[i]; ascii.Lower(c)-'a' > 'z'-'a' && !ascii.IsDigit(c) && strings.IndexByte("'()+_,-./:=? ", c) < 0 {
			return false
		}
	}
	return true
}

// Splitter finds the parts in a body. The window of a new body must begin with CRLF, so that the first delimiter looks
// like the following ones.
type Splitter struct {
	delim    []byte // CRLF "--" boundary
	parts    int    // delimiters so far, without the closing one
	preamble bool   // whether an empty line was skipped before the first part
}

// NewSplitter returns a Splitter for a new body. The boundary must be valid.
func NewSplitter(boundary string) Splitter { return Splitter{delim: []byte("\r\n--" + boundary)} }

// Parts returns the number of parts that have begun.
func (s *Splitter) Parts() int { return s.parts }

// Content returns how many bytes at the start of b belong to the content of a part. If b begins with a delimiter, the
// number is zero. If b is too short to decide that, ok is false.
func (s *Splitter) Content(b []byte) (n int, ok bool) {
	if n := plainData(b, s.delim); n > 0 {
		return n, true
	}
	if rest, ok := bytes.CutPrefix(b, s.delim); ok {
		if ends, sure := endsPart(rest); ends {
			return 0, true
		} else if sure {
			return len(s.delim), true
		}
	}
	return 0, false
}

// plainData returns the index of the first byte in b at which delim begins or, if b ends first, may begin.
// delim has only one CR, which is its first byte.
func plainData(b, delim []byte) int {
	if i := bytes.Index(b, delim); i >= 0 {
		return i
	}
	tail := max(0, len(b)-len(delim)+1)
	if i := bytes.LastIndexByte(b[tail:], '\r'); i >= 0 && bytes.HasPrefix(delim, b[tail+i:]) {
		return tail + i
	}
	return len(b)
}

// endsPart reports whether rest, the bytes after a delimiter, confirm that it is one. If not, the delimiter is
// the beginning of a longer word and belongs to the content. sure is false if more of rest is needed.
func endsPart(rest []byte) (ends, sure bool) {
	if len(rest) == 0 {
		return false, false
	}
	switch rest[0] {
	case '\r', '\n', ' ', '\t':
		return true, true
	case '-':
		return len(rest) > 1 && rest[1] == '-', len(rest) > 1
	}
	return false, true
}

// Skip does the same as Content, for a caller that skips the content. Before the first part, Skip allows nothing or an
// empty line. Forms have no preamble, although RFC 2046 allows one, and parsers disagree about what a line in a
// preamble is.
func (s *Splitter) Skip(b []byte) (n int, ok bool, err error) {
	n, ok = s.Content(b)
	if n > 0 && s.parts == 0 {
		if n != len(crlf) || s.preamble {
			return 0, false, ErrDelimiter
		}
		s.preamble = true
	}
	return n, ok, nil
}

// Delimiter returns the length of the delimiter at the start of b, up to the CRLF that ends its line. closing reports
// whether the delimiter ends the body. If b is too short, n is zero. eof says that the body ends with b.
func (s *Splitter) Delimiter(b []byte, eof bool) (n int, closing bool, err error) {
	rest, closing := bytes.CutPrefix(b[len(s.delim):], []byte("--"))
	rest = bytes.TrimLeft(rest, " \t")
	switch {
	case closing && (bytes.HasPrefix(rest, crlf) || len(rest) == 0 && eof):
		return len(b) - len(rest), true, nil
	case bytes.HasPrefix(rest, crlf):
		if s.parts++; s.parts > MaxParts {
			return 0, false, ErrParts
		}
		return len(b) - len(rest), false, nil
	case len(rest) > 1 || len(rest) == 1 && rest[0] != '\r' || len(b) == Window:
		return 0, false, ErrDelimiter
	}
	return 0, false, nil
}

var crlf = []byte("\r\n")

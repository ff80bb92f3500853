package multipart

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestBoundaries(t *testing.T) {
	for _, tt := range []struct {
		boundary string
		ok       bool
	}{
		{"b", true}, {"----WebKitFormBoundaryx9'()+_,-./:=?", true}, {"a b", true}, {strings.Repeat("b", 70), true},
		{"", false}, {"b ", false}, {strings.Repeat("b", 71), false}, {"b\r\n", false}, {"b\"", false}, {"bé", false}, {"b;", false},
	} {
		if IsBoundary(tt.boundary) != tt.ok || IsBoundary([]byte(tt.boundary)) != tt.ok {
			t.Errorf("%q: want %v", tt.boundary, tt.ok)
		}
	}
}

// partsOf splits in, of which a caller reads step bytes at a time. It returns the parts as "head|content".
func partsOf(in string, step int) (found []string, err error) {
	s := NewSplitter("b")
	window, eof := []byte("\r\n"), false
	more := func() error {
		if eof {
			return io.ErrUnexpectedEOF
		}
		n := min(step, len(in), Window-len(window))
		window, in, eof = append(window, in[:n]...), in[n:], n == len(in)
		return nil
	}
	for {
		for { // to the next delimiter
			n, ok, err := s.Skip(window)
			if err != nil {
				return found, err
			}
			if s.Parts() > 0 {
				found[len(found)-1] += string(window[:n])
			}
			if window = window[n:]; ok && n == 0 {
				break
			}
			if !ok {
				if err := more(); err != nil {
					return found, err
				}
			}
		}
		for { // over the delimiter
			n, closing, err := s.Delimiter(window, eof)
			if err != nil || closing {
				return found, err
			}
			if window = window[n:]; n > 0 {
				break
			}
			if err := more(); err != nil {
				return found, err
			}
		}
		for { // over the head
			head, n, err := Head(window)
			if err != nil {
				return found, err
			}
			if n > 0 {
				found, window = append(found, head+"|"), window[n:]
				break
			}
			if err := more(); err != nil {
				return found, err
			}
		}
	}
}

// The CRLF of the empty line after the head is still in front of the content here.
func TestSplitter(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		err      error
	}{
		{"one part", "--b\r\nA: b\r\n\r\nabc\r\n--b--\r\n", []string{"A: b\r\n|\r\nabc"}, nil},
		{"two parts", "--b\r\n\r\nabc\r\n--b \t\r\nA: b\r\n\r\ndef\r\n--b--", []string{"|\r\nabc", "A: b\r\n|\r\ndef"}, nil},
		{"no parts", "--b--", nil, nil},
		{"no content", "--b\r\nA: b\r\n\r\n--b--", []string{"A: b\r\n|"}, nil},
		{"an empty line in front", "\r\n--b\r\n\r\nabc\r\n--b--", []string{"|\r\nabc"}, nil},
		{"longer words", "--b\r\n\r\na\r\n--bc\r\n--b-\r\n\r--b\r\n--b--", []string{"|\r\na\r\n--bc\r\n--b-\r\n\r--b"}, nil},
		{"epilogue", "--b--\r\n--b\r\n\r\nabc\r\n--b--", nil, nil},
		{"preamble", "hello\r\n--b--", nil, ErrDelimiter},
		{"two empty lines in front", "\r\n\r\n--b--", nil, ErrDelimiter},
		{"word behind the boundary", "--b x\r\n", nil, ErrDelimiter},
		{"word behind the closing boundary", "--b--x", nil, ErrDelimiter},
		{"bare CR behind the boundary", "--b\rx", nil, ErrDelimiter},
		{"blanks over the window", "--b" + strings.Repeat(" ", 2*Window), nil, ErrDelimiter},
		{"head over the limit", "--b\r\nA: " + strings.Repeat("x", MaxHead) + "\r\n\r\n", nil, ErrLargeHead},
		{"head without an end", "--b\r\nA: " + strings.Repeat("x", 2*Window), nil, ErrLargeHead},
		{"parts over the limit", strings.Repeat("--b\r\n\r\n\r\n", MaxParts+1) + "--b--", nil, ErrParts},
		{"no closing boundary", "--b\r\n\r\nabc", []string{"|\r\nabc"}, io.ErrUnexpectedEOF},
		{"half a closing boundary", "--b\r\n\r\nabc\r\n--b-", []string{"|\r\nabc"}, io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, step := range []int{1, 2, 3, 5, 1 << 20} {
				got, err := partsOf(tc.in, step)
				if err != tc.err || err != ErrParts && !slices.Equal(got, tc.want) {
					t.Errorf("%d bytes at a time: got %.200q, %v; want %q, %v", step, got, err, tc.want, tc.err)
				}
			}
		})
	}
}

func TestContent(t *testing.T) {
	s := NewSplitter("b")
	for _, tc := range []struct {
		window string
		n      int
		ok     bool
	}{
		{"abc", 3, true},
		{"abc\r", 3, true},
		{"abc\r\n--b", 3, true},
		{"abc\r\n-x\r", 7, true},
		{"", 0, false},
		{"\r", 0, false},
		{"\r\n--", 0, false},
		{"\r\n--b", 0, false},
		{"\r\n--b-", 0, false},
		{"\r\n--b--", 0, true},
		{"\r\n--b\r", 0, true},
		{"\r\n--b\n", 0, true},
		{"\r\n--b ", 0, true},
		{"\r\n--b-x", 5, true},
		{"\r\n--bx", 5, true},
		{"\r\nabc", 5, true},
	} {
		if n, ok := s.Content([]byte(tc.window)); ok != tc.ok || ok && n != tc.n {
			t.Errorf("%q: got %d, %v; want %d, %v", tc.window, n, ok, tc.n, tc.ok)
		}
	}
}

func TestSplitterDoesNotAllocate(t *testing.T) {
	s := NewSplitter("b")
	content, delimiter := []byte("abc\r\n--bc\r\n-"), []byte("\r\n--b--\r\n")
	if n := testing.AllocsPerRun(100, func() {
		s.Content(content)
		s.Skip(delimiter)
		s.Delimiter(delimiter, false)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

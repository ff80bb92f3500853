package gallop

import (
	"bytes"
	"crypto/rand"
	"io"
	"math"
	"strconv"

	"github.com/gallop-http/gallop/internal/ascii"
)

// byteSpan is a part of a content: 0 ≤ start, 0 < length, start+length ≤ its size.
type byteSpan struct{ start, length int64 }

// maxSpans is how many ranges one request may ask for. More, or ranges that overlap,
// is asking for work rather than for bytes (RFC 9110 §17.15).
const maxSpans = 32

// parseSpans reads the value of a Range field against a content of size bytes.
// It returns no spans and true if the field is to be ignored: another unit, wrong
// syntax, too many ranges, or ones that overlap (RFC 9110 §14.2); and no spans and
// false if it has not a byte of the content, or one of them ends before it starts (RFC 9110 §15.5.17).
func parseSpans(value []byte, size int64) (spans []byteSpan, ignore bool) {
	unit, set := ascii.Cut(value, '=')
	if !ascii.EqualFold(unit, "bytes") || len(unit) == len(value) || size == 0 {
		return nil, true
	}
	specs := 0
	for more := true; more; {
		spec := set
		comma := bytes.IndexByte(set, ',')
		if more = comma >= 0; more {
			spec, set = set[:comma], set[comma+1:]
		}
		if spec = ascii.TrimOWS(spec); len(spec) == 0 {
			continue // empty members of a list count for nothing: RFC 9110 §5.6.1.2
		}
		if specs++; specs > maxSpans {
			return nil, true
		}
		span, ok := parseSpan(spec, size)
		if !ok {
			return nil, true
		}
		if span.length < 0 {
			return nil, false
		}
		if span.length > 0 {
			spans = append(spans, span)
		}
	}
	if specs == 0 || overlap(spans) {
		return nil, true
	}
	return spans, false
}

// parseSpan reads one range (RFC 9110 §14.1.2). One that lies outside the content has
// the length 0, and one that ends before it starts, which is invalid and known to be, -1.
func parseSpan(spec []byte, size int64) (span byteSpan, ok bool) {
	first, last, dash := bytes.Cut(spec, []byte("-"))
	if !dash || len(first)+len(last) == 0 || !isDigits(first) || !isDigits(last) {
		return span, false
	}
	if len(first) == 0 {
		n := min(parsePosition(last), size)
		return byteSpan{size - n, n}, true
	}
	start, end := parsePosition(first), size-1
	if len(last) > 0 {
		if end = parsePosition(last); end < start {
			return byteSpan{length: -1}, true
		}
	}
	if start >= size {
		return span, true
	}
	return byteSpan{start, min(end, size-1) - start + 1}, true
}

// parsePosition returns the number that digits are, or the largest there is.
func parsePosition(digits []byte) int64 {
	n, ok := ascii.ParseUint(digits)
	if !ok || n > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n)
}

func overlap(spans []byteSpan) bool {
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.start < b.start+b.length && b.start < a.start+a.length {
				return true
			}
		}
	}
	return false
}

// multipartSpans is a multipart/byteranges body (RFC 9110 §14.6).
type multipartSpans struct {
	io.Reader
	boundary string
	size     int64
}

// newMultipartSpans makes a body of the spans of content, which has size bytes and
// is of contentType.
func newMultipartSpans(content io.ReadSeeker, contentType []byte, spans []byteSpan, size int64) *multipartSpans {
	m := &multipartSpans{boundary: rand.Text()}
	parts := make([]io.Reader, 0, 2*len(spans)+1)
	for i, span := range spans {
		var head []byte
		if i > 0 {
			head = append(head, "\r\n"...)
		}
		head = append(append(append(head, "--"...), m.boundary...), "\r\n"...)
		head = appendContentRange(append(head, "Content-Range: "...), span, size)
		if len(contentType) > 0 {
			head = append(append(head, "\r\nContent-Type: "...), contentType...)
		}
		head = append(head, "\r\n\r\n"...)
		parts = append(parts, bytes.NewReader(head), &seekSection{content: content, start: span.start, left: span.length})
		m.size += int64(len(head)) + span.length
	}
	tail := "\r\n--" + m.boundary + "--\r\n"
	m.size += int64(len(tail))
	m.Reader = io.MultiReader(append(parts, bytes.NewReader([]byte(tail)))...)
	return m
}

func appendContentRange(dst []byte, span byteSpan, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, span.start, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, span.start+span.length-1, 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// seekSection reads left bytes of content from start on. It seeks when it is first
// read, so that several may share a content if one is read to its end before the next.
type seekSection struct {
	content io.ReadSeeker
	start   int64
	left    int64
	sought  bool
}

func (s *seekSection) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if !s.sought {
		if _, err := s.content.Seek(s.start, io.SeekStart); err != nil {
			return 0, err
		}
		s.sought = true
	}
	n, err := s.content.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

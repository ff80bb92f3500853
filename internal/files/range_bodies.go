package files

import (
	"bytes"
	"crypto/rand"
	"io"
	"strconv"
)

// Multipart is a multipart/byteranges body (RFC 9110 §14.6).
type Multipart struct {
	io.Reader
	Boundary string
	Size     int64
}

// NewMultipart returns a body with the spans of content, which has size bytes and the type contentType.
func NewMultipart(content io.ReadSeeker, contentType []byte, spans []Span, size int64) *Multipart {
	m := &Multipart{Boundary: rand.Text()}
	parts := make([]io.Reader, 0, 2*len(spans)+1)
	for i, span := range spans {
		var head []byte
		if i > 0 {
			head = append(head, "\r\n"...)
		}
		head = append(append(append(head, "--"...), m.Boundary...), "\r\n"...)
		head = AppendContentRange(append(head, "Content-Range: "...), span, size)
		if len(contentType) > 0 {
			head = append(append(head, "\r\nContent-Type: "...), contentType...)
		}
		head = append(head, "\r\n\r\n"...)
		parts = append(parts, bytes.NewReader(head), NewSection(content, span))
		m.Size += int64(len(head)) + span.Length
	}
	tail := "\r\n--" + m.Boundary + "--\r\n"
	m.Size += int64(len(tail))
	m.Reader = io.MultiReader(append(parts, bytes.NewReader([]byte(tail)))...)
	return m
}

// AppendContentRange appends the value of the Content-Range header for a span of a content of size bytes.
func AppendContentRange(dst []byte, span Span, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, span.Start, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, span.Start+span.Length-1, 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// Section reads a span of a content. It seeks at the first Read, so several sections can share a content if each is read
// to its end before the next one.
type Section struct {
	content io.ReadSeeker
	start   int64
	left    int64
	sought  bool
}

// NewSection returns a reader of a span of content.
func NewSection(content io.ReadSeeker, span Span) *Section {
	return &Section{content: content, start: span.Start, left: span.Length}
}

func (s *Section) Read(p []byte) (int, error) {
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

package gallop

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"mime"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
)

const (
	maxParts        = 1000     // in a multipart body
	maxPartHeader   = 8 << 10  // bytes in the header of a part
	multipartWindow = 16 << 10 // bytes of the body in memory; more than maxPartHeader
	maxBoundary     = 70       // bytes, RFC 2046 §5.1.1
)

// MultipartReader reads the parts of a multipart body (RFC 2046 §5.1) while the body arrives. The reader buffers only
// 16 KiB of the body. The reader stops at the closing boundary. Data after the closing boundary stays unread, except
// for data that is already in the buffer.
//
// A body may have at most 1000 parts, each with at most 8 KiB of headers. Lines must end with CRLF, and the body must
// begin with the boundary. Only one goroutine at a time may use a MultipartReader.
type MultipartReader struct {
	r     io.Reader
	buf   []byte // buf[pos:] was read and not used yet; from bufpool
	pos   int
	delim []byte // CRLF "--" boundary
	parts int
	part  *Part
	eof   bool
	err   error
}

// NewMultipartReader returns a MultipartReader for the body that r yields. If boundary is invalid, the error is
// ErrNoMultipartForm.
func NewMultipartReader(r io.Reader, boundary string) (*MultipartReader, error) {
	if !isBoundary(boundary) {
		return nil, ErrNoMultipartForm
	}
	m := &MultipartReader{r: r, delim: []byte("\r\n--" + boundary), buf: bufpool.Get(multipartWindow)}
	m.buf = append(m.buf, '\r', '\n') // so that the first boundary looks like all others
	return m, nil
}

// isBoundary reports whether b is a valid boundary (RFC 2046 §5.1.1).
func isBoundary[S ascii.Text](b S) bool {
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

// Parts returns an iterator over the parts. If an error occurs, the iterator yields a nil part with the error, and then
// stops.
func (m *MultipartReader) Parts() iter.Seq2[*Part, error] {
	return func(yield func(*Part, error) bool) {
		for {
			p, err := m.NextPart()
			if err == io.EOF || !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// NextPart returns the next part. After the last part, NextPart returns io.EOF. If the body ends without its closing
// boundary, the error is io.ErrUnexpectedEOF. NextPart skips any unread data of the previous part. Do not use the
// previous part after calling NextPart.
func (m *MultipartReader) NextPart() (*Part, error) {
	if m.err != nil {
		return nil, m.err
	}
	p, err := m.nextPart()
	if err != nil {
		return nil, m.stop(err)
	}
	return p, nil
}

// stop makes all later calls return err.
func (m *MultipartReader) stop(err error) error {
	m.err = err
	if m.buf != nil {
		bufpool.Put(m.buf)
		m.buf, m.pos = nil, 0
	}
	return err
}

func (m *MultipartReader) nextPart() (*Part, error) {
	if m.part != nil {
		m.part.m = nil
	}
	if err := m.skip(); err != nil {
		return nil, err
	}
	if err := m.delimiter(); err != nil {
		return nil, err
	}
	if m.parts++; m.parts > maxParts {
		return nil, errMultipartParts
	}
	head, err := m.header()
	if err != nil {
		return nil, err
	}
	p := &Part{m: m, head: head}
	m.part = p
	if err := p.readDisposition(); err != nil {
		return nil, err
	}
	return p, nil
}

// skip skips the rest of a part, up to the next delimiter. Before the first part it allows nothing or an empty
// line. Forms have no preamble, although RFC 2046 allows one, and parsers disagree about what a line in a
// preamble is.
func (m *MultipartReader) skip() error {
	for before := 2; ; before = 0 {
		n, err := m.data()
		if err != nil || n == 0 {
			return err
		}
		if m.parts == 0 && n != before {
			return errMultipartDelimiter
		}
		m.pos += n
	}
}

// fill reads more of the body into the buffer, after buf[pos:].
func (m *MultipartReader) fill() error {
	if m.eof {
		return io.ErrUnexpectedEOF
	}
	if m.pos > 0 {
		m.buf = m.buf[:copy(m.buf, m.buf[m.pos:])]
		m.pos = 0
	}
	for range maxEmptyReads {
		n, err := m.r.Read(m.buf[len(m.buf):multipartWindow])
		m.buf = m.buf[:len(m.buf)+n]
		m.eof = err == io.EOF
		if n > 0 || m.eof {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// data returns how many bytes at buf[pos:] belong to the content of the part. It returns 0 only at a delimiter.
func (m *MultipartReader) data() (int, error) {
	for {
		b := m.buf[m.pos:]
		if n := plainData(b, m.delim); n > 0 {
			return n, nil
		}
		if rest, ok := bytes.CutPrefix(b, m.delim); ok {
			if ends, sure := endsPart(rest); ends {
				return 0, nil
			} else if sure {
				return len(m.delim), nil
			}
		}
		if err := m.fill(); err != nil {
			return 0, err
		}
	}
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

// delimiter skips the delimiter at buf[pos:], up to the CRLF that ends it. It returns io.EOF for the closing
// delimiter.
func (m *MultipartReader) delimiter() error {
	for {
		rest, closing := bytes.CutPrefix(m.buf[m.pos+len(m.delim):], []byte("--"))
		rest = bytes.TrimLeft(rest, " \t")
		switch {
		case closing && (bytes.HasPrefix(rest, crlf) || len(rest) == 0 && m.eof):
			return io.EOF
		case bytes.HasPrefix(rest, crlf):
			m.pos = len(m.buf) - len(rest)
			return nil
		case len(rest) > 1 || len(rest) == 1 && rest[0] != '\r' || len(m.buf)-m.pos == multipartWindow:
			return errMultipartDelimiter
		}
		if err := m.fill(); err != nil {
			return err
		}
	}
}

var crlf = []byte("\r\n")

// header reads the header of the part. Its lines follow the CRLF at buf[pos:].
func (m *MultipartReader) header() (head string, err error) {
	n := 0
	for {
		b := m.buf[m.pos:]
		n = bytes.Index(b, []byte("\r\n\r\n"))
		if n > maxPartHeader || n < 0 && len(b) >= maxPartHeader+4 {
			return "", errMultipartTooLarge
		}
		if n >= 0 {
			break
		}
		if err := m.fill(); err != nil {
			return "", err
		}
	}
	head = string(m.buf[m.pos+2 : m.pos+n+2])
	m.pos += n + 2
	// The CRLF of the empty line may be the start of the next delimiter, if the part has no content.
	if n, err := m.data(); n > 0 {
		m.pos += 2
	} else if err != nil {
		return "", err
	}
	return head, checkPartHeader(head)
}

func checkPartHeader(head string) error {
	for head != "" {
		var line string
		line, head, _ = strings.Cut(head, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !ascii.IsToken(name) || !ascii.IsFieldValue(ascii.TrimOWS(value)) {
			return errMultipartHeader
		}
	}
	return nil
}

// Part is one part of a multipart body, with headers and content. A Part is an io.Reader for the content. You can read
// from the Part until you request the next part. You may keep strings that the methods of a Part return.
type Part struct {
	m        *MultipartReader // nil after the next call of NextPart
	head     string           // header lines, each with its CRLF
	formName string
	fileName string
}

var errPartGone = errors.New("gallop: part was read after a call of NextPart")

// Read reads the content of the part. At the end of the part, Read returns io.EOF.
func (p *Part) Read(b []byte) (int, error) {
	if p.m == nil {
		return 0, errPartGone
	}
	if p.m.err != nil {
		return 0, p.m.err
	}
	n, err := p.m.data()
	if err != nil {
		return 0, p.m.stop(err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	n = copy(b, p.m.buf[p.m.pos:p.m.pos+n])
	p.m.pos += n
	return n, nil
}

// FormName returns the name of the part's form field (RFC 7578 §4.2). If the part has no such name, the result is "".
func (p *Part) FormName() string { return p.formName }

// FileName returns the name of the uploaded file without directories, or "" if the part is not a file. The client chose
// the name, so do not trust the name.
func (p *Part) FileName() string { return p.fileName }

// Header returns the value of the first header with this name. If there is no such header, the result is "". The name
// is case-insensitive.
func (p *Part) Header(name string) string {
	for key, value := range p.Fields() {
		if ascii.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// Fields returns an iterator over the names and values of the part's headers.
func (p *Part) Fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for head := p.head; head != ""; {
			var line string
			line, head, _ = strings.Cut(head, "\r\n")
			if name, value, _ := strings.Cut(line, ":"); !yield(name, ascii.TrimOWS(value)) {
				return
			}
		}
	}
}

// readDisposition reads the names from Content-Disposition. It refuses two such headers, and a parameter that
// occurs twice, because they are ambiguous. It also refuses control characters, which the encoding of RFC 2231
// could put into a name.
func (p *Part) readDisposition() error {
	seen := false
	for name, value := range p.Fields() {
		if !ascii.EqualFold(name, HeaderContentDisposition) {
			continue
		}
		if seen {
			return errMultipartHeader
		}
		seen = true
		disposition, params, err := mime.ParseMediaType(value)
		if err != nil || !ascii.IsFieldValue(params["name"]) || !ascii.IsFieldValue(params["filename"]) {
			return errMultipartHeader
		}
		if disposition == "form-data" {
			p.formName = params["name"]
		}
		file := params["filename"]
		p.fileName = file[strings.LastIndexAny(file, `/\`)+1:]
	}
	return nil
}

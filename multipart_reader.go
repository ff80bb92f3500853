package gallop

import (
	"errors"
	"io"
	"iter"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/multipart"
)

// MultipartReader reads the parts of a multipart body (RFC 2046 §5.1) while the body arrives. The reader buffers only
// 16 KiB of the body. The reader stops at the closing boundary. The reader's buffer can already contain data that
// follows the closing boundary.
//
// A body may have at most 1000 parts, each with at most 8 KiB of headers. Lines must end with CRLF, and the body must
// begin with the boundary. Only one goroutine at a time may use a MultipartReader.
type MultipartReader struct {
	r     io.Reader
	buf   []byte // buf[pos:] was read and not used yet; from bufpool
	pos   int
	split multipart.Splitter
	part  *Part
	eof   bool
	err   error
}

// NewMultipartReader returns a MultipartReader for the body that r yields. If boundary is invalid, the error is
// ErrNoMultipartForm.
func NewMultipartReader(r io.Reader, boundary string) (*MultipartReader, error) {
	if !multipart.IsBoundary(boundary) {
		return nil, ErrNoMultipartForm
	}
	m := &MultipartReader{r: r, split: multipart.NewSplitter(boundary), buf: bufpool.Get(multipart.Window)}
	m.buf = append(m.buf, '\r', '\n') // so that the first boundary looks like all others
	return m, nil
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
	head, err := m.header()
	if err != nil {
		return nil, err
	}
	p := &Part{m: m, head: head}
	m.part = p
	p.formName, p.fileName, err = multipart.Disposition(head)
	if err != nil {
		return nil, err
	}
	return p, nil
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
		n, err := m.r.Read(m.buf[len(m.buf):multipart.Window])
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

// skip skips the rest of a part, up to the next delimiter.
func (m *MultipartReader) skip() error {
	for {
		n, ok, err := m.split.Skip(m.buf[m.pos:])
		switch {
		case err != nil:
			return err
		case ok && n == 0:
			return nil
		case ok:
			m.pos += n
			continue
		}
		if err := m.fill(); err != nil {
			return err
		}
	}
}

// data returns how many bytes at buf[pos:] belong to the content of the part. It returns 0 only at a delimiter.
func (m *MultipartReader) data() (int, error) {
	for {
		if n, ok := m.split.Content(m.buf[m.pos:]); ok {
			return n, nil
		}
		if err := m.fill(); err != nil {
			return 0, err
		}
	}
}

// delimiter skips the delimiter at buf[pos:], up to the CRLF that ends it. It returns io.EOF for the closing
// delimiter.
func (m *MultipartReader) delimiter() error {
	for {
		n, closing, err := m.split.Delimiter(m.buf[m.pos:], m.eof)
		switch {
		case err != nil:
			return err
		case n > 0 && closing:
			return io.EOF
		case n > 0:
			m.pos += n
			return nil
		}
		if err := m.fill(); err != nil {
			return err
		}
	}
}

// header reads the header of the part. Its lines follow the CRLF at buf[pos:].
func (m *MultipartReader) header() (head string, err error) {
	for n := 0; n == 0; {
		if head, n, err = multipart.Head(m.buf[m.pos:]); err != nil {
			return "", err
		}
		if m.pos += n; n == 0 {
			if err := m.fill(); err != nil {
				return "", err
			}
		}
	}
	// The CRLF of the empty line may be the start of the next delimiter, if the part has no content.
	if n, err := m.data(); n > 0 {
		m.pos += 2
	} else if err != nil {
		return "", err
	}
	return head, multipart.CheckHead(head)
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

// Read reads the content of the part. At the end of the part, the error is io.EOF.
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

// FileName returns the name of the uploaded file without directories, or "" if the part is not a file. Do not trust the
// name, because the client has chosen it.
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
func (p *Part) Fields() iter.Seq2[string, string] { return multipart.Fields(p.head) }

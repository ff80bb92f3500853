package gallop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	parts "github.com/gallop-http/gallop/internal/multipart"
)

const (
	// maxFormFiles is how many bytes of a form's files stay in memory. The rest goes to temporary files.
	maxFormFiles = 2 << 20

	// maxFormSize is the size limit of MultipartForm in bytes, after decoding.
	maxFormSize = 256 << 20
)

// MultipartReader returns a reader for the parts of a multipart/form-data body. The reader does not buffer parts in
// memory or on disk. If the body is a stream, the reader consumes the stream. The reader does not decompress the body.
// If the Content-Type is not multipart/form-data, the error is ErrNoMultipartForm.
func (req *Request) MultipartReader() (*MultipartReader, error) {
	boundary := req.boundary()
	if boundary == "" {
		return nil, ErrNoMultipartForm
	}
	if r := req.BodyStream(); r != nil {
		return NewMultipartReader(r, boundary)
	}
	if req.err != nil {
		return nil, req.err
	}
	return NewMultipartReader(bytes.NewReader(req.Body()), boundary)
}

// boundary returns the boundary of a form, or "" if the body is not a form. Two boundaries or two media types
// would be ambiguous, so they count as none.
func (req *Request) boundary() string {
	fields := &req.Header.head.Fields
	boundary := req.Header.MultipartFormBoundary()
	if i := fields.FindID(field.ContentType); !parts.IsBoundary(boundary) || field.Next(fields, i, field.ContentType, "") >= 0 {
		return ""
	}
	n := 0
	VisitHeaderParams(req.Header.ContentType(), func(key, _ []byte) bool {
		if ascii.EqualFold(key, "boundary") {
			n++
		}
		return true
	})
	if n != 1 {
		return ""
	}
	return string(boundary)
}

// MultipartForm returns the form in a multipart/form-data body of at most 256 MiB. See
// [Request.MultipartFormWithLimit].
func (req *Request) MultipartForm() (*multipart.Form, error) {
	return req.MultipartFormWithLimit(maxFormSize)
}

// MultipartFormWithLimit returns the form in a multipart/form-data body. The first successful call parses the form.
// Later calls return the same form, as long as the request has the same body. If the body is compressed,
// MultipartFormWithLimit decompresses it. If the Content-Type is not multipart/form-data, the error is
// ErrNoMultipartForm.
//
// If maxBodySize is positive and the form is larger than maxBodySize, the error is ErrBodyTooLarge. The form takes at
// most 12 MiB of memory, including at most 2 MiB of files. The remaining files are written to temporary files, which
// RemoveMultipartFormFiles and Reset remove. After an error, no temporary files are left. If a temporary file cannot be
// written, for example because the disk is full, the error wraps an *fs.PathError. A handler should then respond with
// status 500, because the client's form may be valid.
//
// A form may have up to 1000 parts, each with up to 8 KiB of headers. If a server receives a form with more parts than
// Server.MaxFormArgs allows, the error is ErrTooManyArgs.
//
// If the body is a stream, parsing the form consumes the stream. After parsing, Body and BodyWriteTo rebuild the body
// from the form.
func (req *Request) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	if req.form != nil && !req.formed { // it was parsed from another body
		req.dropForm()
	}
	if req.form != nil {
		return req.form, nil
	}
	boundary := req.boundary()
	if boundary == "" {
		return nil, ErrNoMultipartForm
	}
	streamed := req.IsBodyStream()
	form, err := req.parseForm(boundary, maxBodySize)
	if err != nil {
		if streamed {
			req.dropStream(err)
			req.fail(err)
		}
		return nil, err
	}
	req.form, req.formed = form, true
	if !streamed {
		return form, nil
	}
	if err := req.dropStream(nil); err != nil {
		req.fail(err)
		req.RemoveMultipartFormFiles()
		return nil, err
	}
	req.stream, req.size = &writtenStream{repeats: true, write: func(w io.Writer) error {
		return WriteMultipartForm(w, form, boundary)
	}}, sizeRewritten
	return form, nil
}

func (req *Request) parseForm(boundary string, limit int) (*multipart.Form, error) {
	r := req.BodyStream()
	if r == nil {
		if req.err != nil {
			return nil, req.err
		}
		r = bytes.NewReader(req.Body())
	}
	codings, err := contentCodings(&req.Header.head.Fields)
	if err != nil {
		return nil, err
	}
	if codings.Len() > 0 {
		decoded := coding.AcquireReader(codings, r, coding.Limits{MaxSize: -1})
		defer coding.ReleaseReader(decoded)
		r = decoded
	}
	if limit > 0 {
		r = &limitedReader{r, limit}
	}
	form, err := readForm(r, boundary, req.maxArgs)
	return form, decodeError(err)
}

// readForm parses the form in r. All bytes pass through a MultipartReader and its limits before mime/multipart
// sees them. maxParts is an additional limit for the number of parts, unless it is 0.
func readForm(r io.Reader, boundary string, maxParts int) (*multipart.Form, error) {
	m, err := NewMultipartReader(r, boundary)
	if err != nil {
		return nil, err
	}
	feed := formFeed{parts: m, boundary: boundary, max: maxParts}
	form, err := multipart.NewReader(&feed, boundary).ReadForm(maxFormFiles)
	switch {
	case err == nil:
		return form, nil
	case feed.err != nil && feed.err != io.EOF:
		return nil, feed.err
	case errors.Is(err, multipart.ErrMessageTooLarge):
		return nil, ErrBodyTooLarge
	}
	return nil, err
}

// formFeed writes the parts of a form again, one after the other.
type formFeed struct {
	parts    *MultipartReader
	boundary string
	out      []byte // bytes before the content of part
	part     *Part
	max      int // maximum number of parts; 0 means the limit of every body
	err      error
}

func (f *formFeed) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if len(f.out) > 0 {
			n := copy(p, f.out)
			f.out = f.out[n:]
			return n, nil
		}
		if f.err != nil {
			return 0, f.err
		}
		if f.part != nil {
			n, err := f.part.Read(p)
			if n > 0 {
				return n, nil
			}
			if f.part = nil; err != io.EOF {
				f.err = err
				continue
			}
		}
		f.next()
	}
	return 0, nil
}

func (f *formFeed) next() {
	if f.part, f.err = f.parts.NextPart(); f.err == nil && f.max > 0 && f.parts.split.Parts() > f.max {
		f.part, f.err = nil, ErrTooManyArgs
	}
	switch f.err {
	case nil:
		f.out = fmt.Appendf(nil, "\r\n--%s\r\n%s\r\n", f.boundary, f.part.head)
	case io.EOF:
		f.out = fmt.Appendf(nil, "\r\n--%s--\r\n", f.boundary)
	}
}

// limitedReader returns ErrBodyTooLarge if there are more than left bytes.
type limitedReader struct {
	r    io.Reader
	left int
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if len(p)-1 > l.left {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if n > l.left {
		return 0, ErrBodyTooLarge
	}
	l.left -= n
	return n, err
}

// RemoveMultipartFormFiles removes the form and its temporary files.
func (req *Request) RemoveMultipartFormFiles() {
	if req.form != nil {
		req.dropForm()
	}
}

func (req *Request) dropForm() {
	if _, ok := req.stream.(*writtenStream); ok {
		req.ResetBody() // it is generated from the form
	}
	req.form.RemoveAll()
	req.form = nil
}

// WriteMultipartForm writes form to w as a multipart/form-data body, using boundary as the boundary between parts.
// WriteMultipartForm writes the values first, and then the files. Values and files are sorted by name.
// WriteMultipartForm does not load files into memory.
func WriteMultipartForm(w io.Writer, form *multipart.Form, boundary string) error {
	if !parts.IsBoundary(boundary) {
		return ErrNoMultipartForm
	}
	out := multipart.NewWriter(w)
	if err := out.SetBoundary(boundary); err != nil {
		return err
	}
	for _, name := range sortedKeys(form.Value) {
		if !parts.IsName(name) {
			return parts.ErrHead
		}
		for _, value := range form.Value[name] {
			if err := out.WriteField(name, value); err != nil {
				return err
			}
		}
	}
	for _, name := range sortedKeys(form.File) {
		for _, file := range form.File[name] {
			if err := writeFormFile(out, file); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func writeFormFile(out *multipart.Writer, file *multipart.FileHeader) error {
	if !parts.IsHeader(file.Header) {
		return parts.ErrHead
	}
	part, err := out.CreatePart(file.Header)
	if err != nil {
		return err
	}
	content, err := file.Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(part, content)
	return errors.Join(err, content.Close())
}

// SaveMultipartFile writes an uploaded file to the given path, overwriting any existing file. Never build the path from
// the file name that the client sent. If writing fails, for example because the disk is full, SaveMultipartFile leaves
// no partial file.
func SaveMultipartFile(fh *multipart.FileHeader, path string) (err error) {
	content, err := fh.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

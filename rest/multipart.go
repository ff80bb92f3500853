package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"path"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// file is a part of a form.
type file struct {
	field, name, mediaType string
	src                    io.Reader
}

// AddFile adds a file to the form. A form with files is sent as multipart/form-data (RFC 7578). The client reads src
// while it sends the request, so the file need not fit into memory. The client does not close src. If every src is an
// io.ReaderAt and an io.Seeker, like an os.File, retries and redirects can send the request again. The extension of
// the file name determines the media type. To set another media type, use AddFileAs.
func (r *Request) AddFile(field, name string, src io.Reader) *Request {
	return r.AddFileAs(field, name, mime.TypeByExtension(path.Ext(name)), src)
}

// AddFileAs adds a file with the given media type. An empty mediaType means application/octet-stream. See
// [Request.AddFile].
func (r *Request) AddFileAs(field, name, mediaType string, src io.Reader) *Request {
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	switch {
	case src == nil:
		r.fail(&EncodeError{Err: errors.New("a file without a reader")})
	case !httpguts.ValidHeaderFieldValue(mediaType):
		r.fail(fmt.Errorf("%w: a media type with control characters", ErrHeader))
	}
	r.ready.release()
	r.files = append(r.files, file{field, name, mediaType, src})
	return r
}

// multipart makes p the form with its files.
func (p *payload) multipart(r *Request) error {
	var heads bytes.Buffer // of the parts, and what is between and behind them
	w := multipart.NewWriter(&heads)
	for i, name := range r.form.names {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + partName(name) + `"`}})
		if err == nil {
			_, err = io.WriteString(part, r.form.values[i])
		}
		if err != nil {
			return &EncodeError{Err: err}
		}
	}
	var ends []int // where heads is interrupted by the files
	bodies := make([]payload, len(r.files))
	for i, f := range r.files {
		if _, err := w.CreatePart(f.head()); err != nil {
			return &EncodeError{Err: err}
		}
		ends = append(ends, heads.Len())
		if err := bodies[i].read(f.src, -1); err != nil {
			return err
		}
		p.once = p.once || bodies[i].once
	}
	if err := w.Close(); err != nil {
		return &EncodeError{Err: err}
	}
	p.contentType = w.FormDataContentType()
	p.length = int64(heads.Len())
	for i := range bodies {
		if bodies[i].length < 0 {
			p.length = -1
			break
		}
		p.length += bodies[i].length
	}
	p.source = func() (io.Reader, error) { return joined(heads.Bytes(), ends, bodies) }
	return nil
}

// joined returns a reader of text with the files inserted at the given offsets.
func joined(text []byte, ends []int, bodies []payload) (io.Reader, error) {
	all := make([]io.Reader, 0, 2*len(bodies)+1)
	from := 0
	for i, end := range ends {
		src, err := bodies[i].source()
		if err != nil {
			return nil, err
		}
		all = append(all, bytes.NewReader(text[from:end]), src)
		from = end
	}
	return io.MultiReader(append(all, bytes.NewReader(text[from:]))...), nil
}

// head returns the headers of the part (RFC 7578 §4.2).
func (f *file) head() textproto.MIMEHeader {
	return textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="` + partName(f.field) + `"; filename="` + partName(f.name) + `"`},
		"Content-Type":        {f.mediaType},
	}
}

// partNames escapes what would end a name, as browsers do.
var partNames = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22")

func partName(name string) string { return partNames.Replace(name) }

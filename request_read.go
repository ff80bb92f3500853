package gallop

import (
	"bufio"

	"github.com/gallop-http/gallop/internal/http1"
)

// Read reads a whole request from r, without a limit on the body. The limits of heads
// are those of RequestHeader.Read. Of what req was before, its user values stay.
//
// If MayContinue reports true afterwards, the body is not read yet: answer 100, and
// call ContinueReadBody. io.EOF says that r ended before the first byte.
func (req *Request) Read(r *bufio.Reader) error { return req.ReadLimitBody(r, 0) }

// ReadLimitBody is Read with a limit of maxBodySize bytes for the body if that is
// positive. A larger body is ErrBodyTooLarge; memory is used for what arrives and not for
// what is announced. After an error the rest of the body is left in r.
func (req *Request) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	req.resetContent()
	if err := req.Header.Read(r); err != nil {
		return err
	}
	if req.MayContinue() {
		return nil
	}
	return req.ContinueReadBody(r, maxBodySize)
}

// ContinueReadBody reads the body of the request whose header has been read, as
// ReadLimitBody does, with its trailers.
//
// A form (multipart/form-data without a content coding) of known length is parsed as
// it is read, its larger files to disk, unless preParseMultipartForm is false;
// MultipartForm then returns it, and Reset removes the files.
func (req *Request) ContinueReadBody(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	head := &req.Header.head
	if head.Body == http1.Fixed && maxBodySize > 0 && head.Length > int64(maxBodySize) {
		return ErrBodyTooLarge
	}
	if req.preParses(preParseMultipartForm) {
		return req.readForm(r)
	}
	from := bodyOn(r, head.Body, head.Length, &req.Header.trailers)
	return req.readBody(&from, maxBodySize)
}

// ContinueReadBodyStream makes the body, of the request whose header has been read, a
// stream that BodyStream returns, and which is not limited. r must not be used
// before the stream has ended, or has been closed without an error. maxBodySize is of
// no effect. Forms are parsed as by ContinueReadBody.
func (req *Request) ContinueReadBodyStream(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	if req.preParses(preParseMultipartForm) {
		return req.readForm(r)
	}
	if head := &req.Header.head; head.Body == http1.NoBody {
		req.ResetBody()
	} else {
		from := bodyOn(r, head.Body, head.Length, &req.Header.trailers)
		req.setStream(&from, -1)
	}
	return nil
}

// ReadBody reads a body from r: of contentLength bytes, or chunked, with its trailers,
// if that is -1, or else up to the end of r. maxBodySize is as for ReadLimitBody.
func (req *Request) ReadBody(r *bufio.Reader, contentLength, maxBodySize int) (err error) {
	kind := http1.Fixed
	switch {
	case contentLength == -1:
		kind = http1.Chunked
	case contentLength < 0:
		kind = http1.UntilClose
	}
	from := bodyOn(r, kind, int64(contentLength), &req.Header.trailers)
	return req.readBody(&from, maxBodySize)
}

// readBody makes what b yields the body.
func (b *body) readBody(from *bufferedBody, limit int) (err error) {
	b.ResetBody()
	b.buf, err = from.appendAll(b.buf, limit)
	b.fail(err)
	return err
}

// preParses reports whether the body is a form to be parsed while it is read.
func (req *Request) preParses(asked []bool) bool {
	return (len(asked) == 0 || asked[0]) && req.Header.head.Body == http1.Fixed && req.Header.head.Length > 0 &&
		len(req.Header.ContentEncoding()) == 0 && req.boundary() != ""
}

// readForm parses the form on r. Closing the stream goes to the end of the body,
// whatever the form says.
func (req *Request) readForm(r *bufio.Reader) error {
	head := &req.Header.head
	from := bodyOn(r, head.Body, head.Length, nil)
	req.setStream(&from, -1)
	_, err := req.MultipartFormWithLimit(0)
	return err
}

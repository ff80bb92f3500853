package gallop

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// Read reads a whole request from r, without a limit on the body. The request line and headers must fit into r's
// buffer; see [RequestHeader.Read]. Read keeps req's user values. If r ends before the first byte, the error is
// io.EOF.
//
// If MayContinue returns true after the call to Read, the body is still unread. To read the body, send a 100 response,
// then call ContinueReadBody.
func (req *Request) Read(r *bufio.Reader) error { return req.ReadLimitBody(r, 0) }

// ReadLimitBody does the same as Read, but limits the body to maxBodySize bytes. If maxBodySize is not positive, there
// is no limit. If the body exceeds the limit, the error is ErrBodyTooLarge. Memory is allocated as data arrives,
// regardless of the announced length. After an error, the unread part of the body remains in r.
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

// ContinueReadBody reads the body and the trailers of a request whose header has been read. See
// [Request.ReadLimitBody] for maxBodySize.
//
// If a multipart/form-data body has a known length and is not compressed, ContinueReadBody parses the form as it
// arrives. At most 2 MiB of files in the form are kept in memory. The remaining files are written to disk. After
// ContinueReadBody, MultipartForm returns the form, and Reset removes the files. If preParseMultipartForm is false,
// ContinueReadBody does not parse forms.
func (req *Request) ContinueReadBody(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	head := &req.Header.head
	if head.Body == message.Fixed && maxBodySize > 0 && head.Length > int64(maxBodySize) {
		return ErrBodyTooLarge
	}
	if req.preParses(preParseMultipartForm) {
		return req.readForm(r)
	}
	from := bodyOn(r, head.Body, head.Length, &req.Header.trailers)
	return req.readBody(&from, maxBodySize)
}

// ContinueReadBodyStream does the same as ContinueReadBody, but leaves the body unread. Afterwards, BodyStream returns
// the body as a stream. The stream has no size limit, so maxBodySize has no effect. Do not use r until the stream has
// ended or was closed without an error. Forms are parsed in the same way as in ContinueReadBody.
func (req *Request) ContinueReadBodyStream(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	if req.preParses(preParseMultipartForm) {
		return req.readForm(r)
	}
	if head := &req.Header.head; head.Body == message.NoBody {
		req.ResetBody()
	} else {
		from := bodyOn(r, head.Body, head.Length, &req.Header.trailers)
		req.setStream(&from, -1)
	}
	return nil
}

// ReadBody reads a body from r. If contentLength is -1, ReadBody reads a chunked body with its trailers. If
// contentLength is less than -1, ReadBody reads up to the end of r. If contentLength is 0 or more, ReadBody reads
// exactly contentLength bytes. See [Request.ReadLimitBody] for maxBodySize.
func (req *Request) ReadBody(r *bufio.Reader, contentLength, maxBodySize int) (err error) {
	kind := message.Fixed
	switch {
	case contentLength == -1:
		kind = message.Chunked
	case contentLength < 0:
		kind = message.UntilClose
	}
	from := bodyOn(r, kind, int64(contentLength), &req.Header.trailers)
	return req.readBody(&from, maxBodySize)
}

// preParses reports whether the body is a form that is parsed while it is read.
func (req *Request) preParses(asked []bool) bool {
	return (len(asked) == 0 || asked[0]) && req.Header.head.Body == message.Fixed && req.Header.head.Length > 0 &&
		len(req.Header.ContentEncoding()) == 0 && req.boundary() != ""
}

// readForm parses the form in r. Closing the stream skips to the end of the body, regardless of where the form
// ends.
func (req *Request) readForm(r *bufio.Reader) error {
	head := &req.Header.head
	from := bodyOn(r, head.Body, head.Length, nil)
	req.setStream(&from, -1)
	_, err := req.MultipartFormWithLimit(0)
	return err
}

// maxInterim is how many interim (1xx) responses may come before the final one.
const maxInterim = 16

// Read reads a whole response from r, without a limit on the body. Read skips up to 16 interim responses (1xx except
// 101). If r ends before the first byte, the error is io.EOF.
//
// If StreamBody is true, Read does not read the body. BodyStream then returns the unread body as a stream. Do not use r
// until the stream has ended or was closed without an error.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody does the same as Read, but limits the body to maxBodySize bytes. If maxBodySize is not positive, there
// is no limit. If the body exceeds the limit, the error is ErrBodyTooLarge. Memory is allocated as data arrives,
// regardless of the announced length. The limit does not apply to a stream.
func (resp *Response) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	resp.resetSkipHeader()
	for range maxInterim + 1 {
		if err := resp.Header.readAnswer(r, resp.method()); err != nil {
			return err
		}
		if code := resp.StatusCode(); code >= 200 || code == StatusSwitchingProtocols {
			return resp.ReadBody(r, maxBodySize)
		}
	}
	return errInterim
}

// ReadBody reads the body and the trailers of a response whose header has been read. See [Response.ReadLimitBody] for
// maxBodySize.
func (resp *Response) ReadBody(r *bufio.Reader, maxBodySize int) (err error) {
	head := &resp.Header.head
	if head.Received {
		head.Flags &^= message.LongConnection
		head.NoteFlags() // without the result of Header.Read, which assumed GET
		if err := http1.FrameResponse(head, resp.method()); err != nil {
			return parseError(err)
		}
	}
	if head.Body == message.NoBody {
		resp.ResetBody()
		return nil
	}
	from := bodyOn(r, head.Body, head.Length, &resp.Header.trailers)
	if resp.StreamBody {
		stream := from // from itself stays off the heap
		resp.setStream(&stream, -1)
		return nil
	}
	err = resp.readBody(&from, maxBodySize)
	resp.noteLength()
	return err
}

// method returns the method of the request that the response belongs to. It is only as exact as finding the end
// of the body requires.
func (resp *Response) method() message.Method {
	if resp.SkipBody {
		return message.HeadMethod
	}
	return message.Get
}

// noteLength stores the length in the header after a body that ends with the connection was read.
func (resp *Response) noteLength() {
	if head := &resp.Header.head; head.Body == message.UntilClose {
		head.Length = int64(len(resp.body.buf))
	}
}

var (
	requests  = sync.Pool{New: func() any { return new(Request) }}
	responses = sync.Pool{New: func() any { return new(Response) }}
)

// requestBodyKeep and responseBodyKeep limit the body buffer that a message keeps when it is reset, in bytes.
var requestBodyKeep, responseBodyKeep atomic.Int64

func init() { SetBodySizePoolLimit(maxKeptBuffer, maxKeptBuffer) }

// SetBodySizePoolLimit sets the maximum capacity, in bytes, of the body buffer that a request or response keeps after
// Reset. The default is 64 KiB. A negative value means that a buffer of any capacity is kept. Reset returns a buffer
// above the limit to a shared pool. A higher limit therefore has little effect on speed.
//
// You may call SetBodySizePoolLimit at any time, but it affects all packages of the program. Call SetBodySizePoolLimit
// only from package main.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	requestBodyKeep.Store(int64(reqBodyLimit))
	responseBodyKeep.Store(int64(respBodyLimit))
}

// AcquireRequest returns an empty request from a pool.
func AcquireRequest() *Request { return requests.Get().(*Request) }

// ReleaseRequest resets req and returns it to the pool. Afterwards, do not use req or any []byte that its methods
// returned. Builds with the race detector overwrite the memory of req.
func ReleaseRequest(req *Request) {
	if bufpool.Poisons {
		req.values.reset() // closing a value may look at the request
		req.poison()
	}
	req.Reset()
	req.uriShown = false
	req.retire(&req.Header.header)
	requests.Put(req)
}

// AcquireResponse returns an empty response from a pool.
func AcquireResponse() *Response { return responses.Get().(*Response) }

// ReleaseResponse resets resp and returns it to the pool. Afterwards, do not use resp or any []byte that its methods
// returned. Builds with the race detector overwrite the memory of resp.
func ReleaseResponse(resp *Response) {
	resp.Reset()
	resp.retire(&resp.Header.header)
	responses.Put(resp)
}

// writable is implemented by Request and Response, for writing.
type writable interface{ Write(w *bufio.Writer) error }

// countingWriter counts the bytes that are written to w.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

var messageBuffers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

func writeMessage(m writable, w io.Writer) (int64, error) {
	counted := countingWriter{w: w}
	bw := messageBuffers.Get().(*bufio.Writer)
	bw.Reset(&counted)
	err := m.Write(bw)
	if err == nil {
		err = bw.Flush()
	}
	bw.Reset(nil)
	messageBuffers.Put(bw)
	return counted.n, err
}

func messageText(m writable) string {
	var text strings.Builder
	if _, err := writeMessage(m, &text); err != nil {
		return err.Error()
	}
	return text.String()
}

// smallBody is the size in bytes up to which a body is copied behind its head. A larger one is written from where it is.
const smallBody = 16 << 10

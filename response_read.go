package gallop

import (
	"bufio"

	"github.com/gallop-http/gallop/internal/http1"
)

// maxInterim is how many interim (1xx) responses may come before the final one.
const maxInterim = 16

// Read reads a whole response from r, without a limit on the body. Interim responses
// (1xx, but 101) are skipped, 16 of them at most. io.EOF says that r ended before the
// first byte.
//
// If StreamBody is true the body is left to be read from BodyStream; r must not be
// used before that has ended, or has been closed without an error.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody is Read with a limit of maxBodySize bytes for the body if that is
// positive. A larger body is ErrBodyTooLarge; memory is used for what arrives and not for
// what is announced. The limit is of no effect on a stream.
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

// ReadBody reads the body of the response whose header has been read, with its
// trailers, as ReadLimitBody does.
func (resp *Response) ReadBody(r *bufio.Reader, maxBodySize int) (err error) {
	head := &resp.Header.head
	if head.Parsed() {
		head.Flags &^= http1.LongConnection
		head.NoteFlags() // without what Header.Read made of it, as the answer to GET
		if err := http1.FrameResponse(head, resp.method()); err != nil {
			return parseError(err)
		}
	}
	if head.Body == http1.NoBody {
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

// method returns the method of the request that the response answers, as far as it decides
// where the body ends.
func (resp *Response) method() http1.Method {
	if resp.SkipBody {
		return http1.HeadMethod
	}
	return http1.Get
}

// noteLength makes the header tell how long a body is that ended with the connection, and
// has been read.
func (resp *Response) noteLength() {
	if head := &resp.Header.head; head.Body == http1.UntilClose {
		head.Length = int64(len(resp.body.buf))
	}
}

package gallop

import (
	"bufio"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// maxInterim is how many interim (1xx) responses may come before the final one.
const maxInterim = 16

// Read reads a whole response from r, without a limit on the body. Read skips up to 16 interim responses (1xx except
// 101). If r ends before the first byte, the error is io.EOF.
//
// If StreamBody is true, Read does not read the body. BodyStream then returns the unread body as a stream. Do not use r
// until the stream has ended or was closed without an error.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody does the same as Read, but limits the body to maxBodySize bytes. If maxBodySize is not positive,
// there is no limit. If the body is larger, the error is ErrBodyTooLarge. Memory is allocated as data arrives, not
// according to the announced length. The limit does not apply to a stream.
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

package gallop

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
)

// Limits of Read and ReadTrailer, the same as a server has by default.
var (
	readLimits    = http1.Limits{Target: 16 << 10, Head: 64 << 10, Fields: 256}
	trailerLimits = http1.ChunkLimits{Line: 4 << 10, Overhead: 16 << 10, Trailer: 8 << 10, Fields: 256}
)

// Read reads a head from r, and nothing behind it. What h was before is lost.
//
// The error is io.EOF if r ends before the first byte, empty lines aside, ErrNothingRead if
// it fails there, *ErrSmallBuffer if the head does not fit the buffer of r, and *ParseError
// for a head that is refused; h is empty then.
func (h *RequestHeader) Read(r *bufio.Reader) error {
	return h.read(r, errReadingRequest, func(b []byte) (int, error) {
		return http1.ParseRequest(&h.head, b, &readLimits)
	})
}

// Read reads a head from r, and nothing behind it, as RequestHeader.Read does. An
// interim response (1xx) is one like any other. That the response could be one to
// HEAD or CONNECT, and have no body, is not known here. If no byte comes, the error is
// ErrTimeout after the deadline of the connection, and io.EOF for any other reason, as in fasthttp.
func (h *ResponseHeader) Read(r *bufio.Reader) error { return h.readAnswer(r, http1.Get) }

// readAnswer is Read of the answer to a request with this method.
func (h *ResponseHeader) readAnswer(r *bufio.Reader, request http1.Method) error {
	return h.read(r, ErrReadingResponseHeaders, func(b []byte) (int, error) {
		n, err := http1.ParseResponse(&h.head, b, &readLimits)
		if n > 0 {
			err = http1.FrameResponse(&h.head, request)
		}
		return n, err
	})
}

func (h *header) read(r *bufio.Reader, broken error, parse func(b []byte) (int, error)) error {
	h.reset()
	n, err := readWhole(r, broken, parse)
	if err != nil {
		h.reset()
		return err
	}
	field.Store(&h.head.Fields, "") // a change makes the list copy what it borrowed
	_, err = r.Discard(n)
	return err
}

// readWhole lets parse look at the bytes that r has, more each time, until it finds
// the end and returns its length, or an error. That is broken, and why, if r breaks
// off before.
func readWhole(r *bufio.Reader, broken error, parse func(b []byte) (int, error)) (int, error) {
	for have := 0; ; {
		_, readErr := r.Peek(have + 1)
		b, _ := r.Peek(r.Buffered())
		if len(b) > have {
			n, err := parse(b)
			if err != nil {
				return n, parseError(err)
			}
			if n > 0 {
				return n, nil
			}
			have = len(b)
		} else {
			return 0, readError(readErr, broken, !http1.EmptyLines(b))
		}
	}
}

// readError says why there are no more bytes. begun is whether there were some.
func readError(err, broken error, begun bool) error {
	switch {
	case err == bufio.ErrBufferFull:
		return &ErrSmallBuffer{ErrSmallReadBuffer}
	case !begun && err == io.EOF:
		return io.EOF
	case !begun && broken == errReadingRequest:
		return ErrNothingRead{err}
	case !begun && isTimeout(err):
		return ErrTimeout
	case !begun:
		return io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", broken, err)
}

// ReadTrailer reads a trailer section from r: what stands behind the last chunk of a
// body, up to and with the empty line. See PeekTrailer. Fields that may not stand
// there are dropped (RFC 9110 §6.5.1).
//
// If no byte comes, the error is ErrTimeout or io.EOF, see [ResponseHeader.Read]. After an
// error there are no trailers.
func (h *header) ReadTrailer(r *bufio.Reader) error {
	h.trailers.Reset()
	var chunks http1.ChunkReader
	// The reader of chunks finds trailers behind the last chunk, which was read.
	if _, _, err := chunks.Next([]byte("0\r\n"), &trailerLimits, nil); err != nil {
		return parseError(err)
	}
	n, err := readWhole(r, ErrReadingResponseTrailer, func(b []byte) (int, error) {
		_, n, err := chunks.Next(b, &trailerLimits, &h.trailers)
		return n, err
	})
	if err != nil {
		h.trailers.Reset()
		return err
	}
	_, err = r.Discard(n)
	return err
}

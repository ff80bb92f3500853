package gallop

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// Limits of Read and ReadTrailer, the same as a server has by default.
var (
	readLimits    = http1.Limits{Target: 16 << 10, Head: 64 << 10, Fields: 256}
	trailerLimits = http1.ChunkLimits{Line: 4 << 10, Overhead: 16 << 10, Trailer: 8 << 10, Fields: 256}
)

// Read reads a request line and headers from r into h, replacing everything in h. Read reads nothing beyond the empty
// line after the headers.
//
// Empty lines before the request line are skipped. If r ends before the first byte of the request line, the error is
// io.EOF. If reading the first byte fails, the error is an ErrNothingRead. If the headers do not fit into r's buffer,
// the error is an *ErrSmallBuffer. If the headers are invalid, the error is a *ParseError. After an error, h is empty.
func (h *RequestHeader) Read(r *bufio.Reader) error {
	var parser http1.Parser
	return h.read(r, errReadingRequest, func(b []byte) (int, error) {
		return parser.ParseRequest(&h.head, b, &readLimits)
	})
}

// Read reads a status line and headers from r into h, replacing everything in h. Read reads nothing beyond the empty
// line after the headers. Read also returns interim responses (1xx). Read does not detect responses to HEAD and
// CONNECT, which have no body, because Read does not know the request.
//
// If the connection's deadline passes before any byte arrives, the error is ErrTimeout. If no byte arrives for any
// other reason, the error is io.EOF, as in fasthttp. See [RequestHeader.Read] for the other errors.
func (h *ResponseHeader) Read(r *bufio.Reader) error { return h.readAnswer(r, message.Get) }

// readAnswer reads the head of a response to a request with this method.
func (h *ResponseHeader) readAnswer(r *bufio.Reader, request message.Method) error {
	var parser http1.Parser
	return h.read(r, ErrReadingResponseHeaders, func(b []byte) (int, error) {
		n, err := parser.ParseResponse(&h.head, b, &readLimits)
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

// readWhole calls parse with the bytes that r has, with more of them each time, until parse finds the end and returns
// its length, or fails. If r fails first, the error is broken together with the cause.
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

// readError returns the error for a reader that has no more bytes. begun says whether there were any.
func readError(err, broken error, begun bool) error {
	switch {
	case err == bufio.ErrBufferFull:
		return &ErrSmallBuffer{ErrSmallReadBuffer}
	case !begun && err == io.EOF:
		return io.EOF
	case !begun && broken == errReadingRequest:
		return ErrNothingRead{err}
	case !begun && clock.IsTimeout(err):
		return ErrTimeout
	case !begun:
		return io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", broken, err)
}

// ReadTrailer reads from r the trailers that follow the last chunk of a body. ReadTrailer stops after the empty line
// that ends the trailers. After ReadTrailer, PeekTrailer returns the trailers. Headers that must not be sent as
// trailers are dropped (RFC 9110 §6.5.1).
//
// If no byte arrives, the error is ErrTimeout or io.EOF; see [ResponseHeader.Read]. After an error, h has no trailers.
func (h *header) ReadTrailer(r *bufio.Reader) error {
	h.trailers.Reset()
	var chunks http1.ChunkReader
	// A ChunkReader finds trailers after the last chunk, which was already read.
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

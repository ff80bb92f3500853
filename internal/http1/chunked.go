package http1

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// ChunkLimits limits the overhead of a chunked body.
type ChunkLimits struct {
	Line     int // maximum bytes of one chunk line
	Overhead int // maximum bytes of chunk extensions in a whole message
	Trailer  int // maximum bytes of the trailer section
	Fields   int // maximum number of lines in the trailer section
}

// maxSizeDigits limits leading zeros, which are allowed by the grammar but useless.
const maxSizeDigits = 16

// ChunkReader decodes a chunked body (RFC 9112 §7.1) while its bytes arrive. The zero value is ready. It keeps no
// bytes.
//
//	size [;ext…] CRLF data CRLF … 0 [;ext…] CRLF trailers CRLF
//	^line             ^data ^end                 ^trailer       ^done
type ChunkReader struct {
	state    chunkState
	left     uint64 // bytes of data still to come in this chunk
	overhead int
	scanned  int // bytes of an unfinished trailer section that contain no end
}

type chunkState uint8

const (
	chunkLine chunkState = iota
	chunkData
	chunkEnd
	chunkTrailer
	chunkDone
)

// Done reports whether the body and its trailers were read to the end.
func (c *ChunkReader) Done() bool { return c.state == chunkDone }

// Left returns the number of bytes that are still to come in the current chunk.
func (c *ChunkReader) Left() uint64 { return c.left }

// Next decodes the start of b. It consumes n bytes and returns the data among them, as a view of b, which may be
// empty. If n is 0 without an error, Next needs more bytes: append to b and call again. The fields of the trailer
// section are added to trailers. They are dropped if trailers is nil, or if they are forbidden in trailers (RFC 9110
// §6.5.1).
//
// b must be large enough for a chunk line, and for the whole trailer section.
func (c *ChunkReader) Next(b []byte, lim *ChunkLimits, trailers *field.List) (data []byte, n int, err error) {
	for {
		switch c.state {
		case chunkLine:
			k, err := c.line(b[n:], lim)
			if k == 0 {
				return nil, n, err
			}
			n += k
		case chunkData:
			k := min(uint64(len(b)-n), c.left)
			if c.left -= k; c.left == 0 {
				c.state = chunkEnd
			}
			if k == 0 && c.state == chunkData {
				return nil, n, nil
			}
			return b[n : n+int(k)], n + int(k), nil
		case chunkEnd:
			if rest := b[n:]; len(rest) < 2 {
				if len(rest) == 1 && rest[0] != '\r' {
					return nil, n, ErrChunkEnd
				}
				return nil, n, nil
			} else if rest[0] != '\r' || rest[1] != '\n' {
				return nil, n, ErrChunkEnd
			}
			n += 2
			c.state = chunkLine
		case chunkTrailer:
			k, err := c.trailer(b[n:], lim, trailers)
			if k == 0 {
				return nil, n, err
			}
			return nil, n + k, nil
		case chunkDone:
			return nil, n, nil
		}
	}
}

// line parses a chunk line and returns its length. The length is 0 if the line is unfinished or invalid.
func (c *ChunkReader) line(b []byte, lim *ChunkLimits) (int, error) {
	whole := len(b)
	if whole > lim.Line {
		b = b[:lim.Line]
	}
	digits := 0
	for digits < len(b) && ascii.IsHex(b[digits]) {
		digits++
	}
	if digits > maxSizeDigits {
		return 0, ErrChunkSize
	}
	if digits == len(b) {
		return 0, nil
	}
	size, ok := ascii.ParseHex(b[:digits])
	if !ok {
		return 0, ErrChunkSize
	}
	end, err := skipExtensions(b, digits)
	if end == 0 {
		if err == nil && whole >= lim.Line {
			err = ErrChunkOverhead
		}
		return 0, err
	}
	if c.overhead += end - 2 - digits; c.overhead > lim.Overhead {
		return 0, ErrChunkOverhead
	}
	c.left, c.state = size, chunkData
	if size == 0 {
		c.state, c.scanned = chunkTrailer, 0
	}
	return end, nil
}

// skipExtensions checks the chunk extensions and the line end at b[i:] (RFC 9112 §7.1.1) and returns the index after
// the line. The index is 0 if the line is unfinished or invalid.
func skipExtensions(b []byte, i int) (int, error) {
	for {
		if i == len(b) {
			return 0, nil
		}
		if b[i] == '\r' {
			if i+1 == len(b) {
				return 0, nil
			}
			if b[i+1] != '\n' {
				return 0, ErrChunkExtension
			}
			return i + 2, nil
		}
		next, err := skipExtension(b, i)
		if next == 0 {
			return 0, err
		}
		i = next
	}
}

// skipExtension checks one BWS ";" BWS name [ BWS "=" BWS value ] at b[i:] and returns the index after it. The index
// is 0 if the extension is unfinished or invalid.
func skipExtension(b []byte, i int) (int, error) {
	sep := skipBlanks(b, i)
	if sep == len(b) {
		return 0, nil
	}
	if b[sep] != ';' {
		if sep == i && i > 0 && !ascii.IsHex(b[i-1]) {
			return 0, ErrChunkExtension
		}
		return 0, ErrChunkSize
	}
	name := skipBlanks(b, sep+1)
	i = skipToken(b, name)
	if i == len(b) {
		return 0, nil
	}
	if i == name {
		return 0, ErrChunkExtension
	}
	eq := skipBlanks(b, i)
	if eq == len(b) {
		return 0, nil
	}
	if b[eq] != '=' {
		return i, nil
	}
	value := skipBlanks(b, eq+1)
	if value == len(b) {
		return 0, nil
	}
	if b[value] == '"' {
		return skipQuoted(b, value)
	}
	i = skipToken(b, value)
	if i == len(b) {
		return 0, nil
	}
	if i == value {
		return 0, ErrChunkExtension
	}
	return i, nil
}

// skipBlanks returns the index of the first byte from b[i] on that is not a blank.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

func skipToken(b []byte, i int) int {
	for i < len(b) && ascii.IsTokenByte(b[i]) {
		i++
	}
	return i
}

// skipQuoted returns the index after the quoted string (RFC 9110 §5.6.4) at b[i:]. The index is 0 if the string is
// unfinished or contains a control character.
func skipQuoted(b []byte, i int) (int, error) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < ' ' && c != '\t' || c == 0x7f:
			return 0, ErrChunkExtension
		case c == '\\':
			if i++; i < len(b) && (b[i] < ' ' && b[i] != '\t' || b[i] == 0x7f) {
				return 0, ErrChunkExtension
			}
		}
	}
	return 0, nil
}

// trailer parses the trailer section and returns its length. The length is 0 if the section is unfinished or invalid.
func (c *ChunkReader) trailer(b []byte, lim *ChunkLimits, trailers *field.List) (int, error) {
	if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' { // no trailers: the common case
		c.state = chunkDone
		return 2, nil
	}
	whole := len(b)
	if whole > lim.Trailer {
		b = b[:lim.Trailer]
	}
	if c.scanned > 0 && !endsLine(b, c.scanned) && whole < lim.Trailer {
		c.scanned = len(b)
		return 0, nil
	}
	var fields field.List
	fields.Borrow(b)
	n, err := parseTrailer(&fields, b, lim.Fields)
	if n == 0 {
		if err == nil && whole >= lim.Trailer {
			err = ErrTrailerTooLarge
		}
		c.scanned = len(b)
		return 0, err
	}
	c.state = chunkDone
	if trailers != nil {
		keepTrailers(trailers, &fields)
	}
	return n, nil
}

// endsLine reports whether b[from:] contains the end of a line.
func endsLine(b []byte, from int) bool {
	for _, c := range b[from:] {
		if c == '\n' {
			return true
		}
	}
	return false
}

func parseTrailer(l *field.List, b []byte, fields int) (int, error) {
	for i := 0; ; {
		if len(b)-i >= 2 && b[i] == '\r' && b[i+1] == '\n' {
			return i + 2, nil
		}
		if i == len(b) || i+1 == len(b) && b[i] == '\r' {
			return 0, nil
		}
		end, err := parseField(l, b, i)
		if end == 0 {
			return 0, err
		}
		if l.Len() > fields {
			return 0, ErrTrailerTooLarge
		}
		i = end
	}
}

// keepTrailers copies the fields of src that are allowed in a trailer section to dst.
func keepTrailers(dst, src *field.List) {
	for i := range src.Len() {
		id := src.ID(i)
		if name, value := src.At(i); !message.ForbiddenTrailer(id, name) {
			field.Add(dst, id, name, value)
		}
	}
}

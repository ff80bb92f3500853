package http1

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// AppendStatusLine appends the status line of an HTTP/1.1 response. The reason may be empty (RFC 9112 §4).
func AppendStatusLine(dst []byte, status int, reason string) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = append(dst, byte('0'+status/100%10), byte('0'+status/10%10), byte('0'+status%10), ' ')
	dst = append(dst, reason...)
	return append(dst, '\r', '\n')
}

// AppendField appends a field line without checking it.
func AppendField[N, V ascii.Text](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	dst = append(dst, value...)
	return append(dst, '\r', '\n')
}

// AppendContentLength appends a Content-Length line.
func AppendContentLength(dst []byte, n int64) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = ascii.AppendUint(dst, uint64(n))
	return append(dst, '\r', '\n')
}

// AppendChunk appends data as a chunk. Empty data appends nothing, because an empty chunk would end the body.
func AppendChunk(dst, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = AppendChunkLine(dst, len(data))
	dst = append(dst, data...)
	return append(dst, '\r', '\n')
}

// AppendChunkLine appends the chunk line for n bytes of data. A CRLF must follow the data.
func AppendChunkLine(dst []byte, n int) []byte {
	return append(ascii.AppendHex(dst, uint64(n)), '\r', '\n')
}

// AppendLastChunk appends the last chunk and the trailer section. It omits fields that are forbidden in trailers.
// trailers may be nil.
func AppendLastChunk(dst []byte, trailers *field.List) []byte {
	dst = append(dst, '0', '\r', '\n')
	if trailers != nil {
		for i := range trailers.Len() {
			if name, value := trailers.At(i); !message.ForbiddenTrailer(trailers.ID(i), name) {
				dst = AppendField(dst, name, value)
			}
		}
	}
	return append(dst, '\r', '\n')
}

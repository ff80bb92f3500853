package gallop

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// message is implemented by Request and Response, for writing.
type message interface{ Write(w *bufio.Writer) error }

// sizeRewritten is a value of body.size. The size is unknown, and the length in the header does not apply
// either.
const sizeRewritten = -2

// streamLength returns the length to announce for a stream: a number of bytes, or lengthChunked.
func (b *body) streamLength(h *header) int64 {
	if n := h.sentLength(); n >= 0 && b.size != sizeRewritten {
		return n
	}
	if b.size >= 0 {
		return int64(b.size)
	}
	return lengthChunked
}

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

func writeMessage(m message, w io.Writer) (int64, error) {
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

func messageText(m message) string {
	var text strings.Builder
	if _, err := writeMessage(m, &text); err != nil {
		return err.Error()
	}
	return text.String()
}

// smallBody is how much is copied behind a head rather than written from where it is.
const smallBody = 16 << 10

package gallop

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// message is implemented by Request and Response, for writing.
type message interface{ Write(w *bufio.Writer) error }

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

// smallBody is the size in bytes up to which a body is copied behind its head. A larger one is written from where it is.
const smallBody = 16 << 10

package gallop

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/internal/bufpool"
)

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

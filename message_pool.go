package gallop

import (
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/internal/bufpool"
)

var (
	requests  = sync.Pool{New: func() any { return new(Request) }}
	responses = sync.Pool{New: func() any { return new(Response) }}
)

// How many bytes of a body's buffer a message keeps when it is reset.
var requestBodyKeep, responseBodyKeep atomic.Int64

func init() { SetBodySizePoolLimit(maxKeptBuffer, maxKeptBuffer) }

// SetBodySizePoolLimit sets the capacity, in bytes, up to which requests and responses keep the
// buffers of their bodies when they are reset: 64 KiB by default, and any capacity if it is
// negative. Larger buffers go back to pools that shrink when they are not needed, so the gain is
// small. SetBodySizePoolLimit may be called at any time, but it affects all packages of the program:
// leave it to package main.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	requestBodyKeep.Store(int64(reqBodyLimit))
	responseBodyKeep.Store(int64(respBodyLimit))
}

// AcquireRequest returns an empty request from a pool.
func AcquireRequest() *Request { return requests.Get().(*Request) }

// ReleaseRequest resets req and returns it to the pool. Neither req nor any view of it
// may be used afterwards; race builds overwrite what views refer to.
func ReleaseRequest(req *Request) {
	if bufpool.Poisons {
		req.values.reset() // what is closed may look at the request
		req.poison()
	}
	req.Reset()
	req.uriShown = false
	req.retire(&req.Header.header)
	requests.Put(req)
}

// AcquireResponse returns an empty response from a pool.
func AcquireResponse() *Response { return responses.Get().(*Response) }

// ReleaseResponse resets resp and returns it to the pool. Neither resp nor any view
// of it may be used afterwards; race builds overwrite what views refer to.
func ReleaseResponse(resp *Response) {
	resp.Reset()
	resp.retire(&resp.Header.header)
	responses.Put(resp)
}

// retire gives the buffer of an empty body back, which poisons it in race builds,
// and does the same to what the header kept.
func (b *body) retire(h *header) {
	bufpool.Put(b.buf)
	b.buf = nil
	if bufpool.Poisons {
		h.poison()
	}
}

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

// requestBodyKeep and responseBodyKeep limit the body buffer that a message keeps when it is reset, in bytes.
var requestBodyKeep, responseBodyKeep atomic.Int64

func init() { SetBodySizePoolLimit(maxKeptBuffer, maxKeptBuffer) }

// SetBodySizePoolLimit sets the maximum capacity, in bytes, of the body buffer that a request or response keeps after
// Reset. The default is 64 KiB; a negative value means any capacity. Reset returns larger buffers to shared pools, so
// raising the limit gains little.
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

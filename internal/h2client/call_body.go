package h2client

import (
	"io"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
)

// TakeBody returns the body of a response that was collected, and leaves it to the caller. The slice is from package bufpool.
func (call *Call) TakeBody() []byte {
	call.c.mu.Lock()
	defer call.c.unlock()
	body := call.body
	call.body = nil
	return body
}

// Trailers returns the trailers of a response that has ended. They are valid until the call is closed.
func (call *Call) Trailers() *field.List { return &call.trailers }

// Read reads bytes of the response body, and waits until there are some. At the end of the body the error is io.EOF.
func (call *Call) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	c := call.c
	c.mu.Lock()
	for call.read == len(call.body) {
		switch {
		case call.err != nil:
			err = call.err
		case call.ended:
			err = io.EOF
		default:
			err = call.await(time.Time{})
		}
		if err != nil {
			c.unlock()
			return 0, err
		}
	}
	n = copy(p, call.body[call.read:])
	call.used(n)
	c.flush(false) // unlocks
	return n, nil
}

// used drops bytes of the body that were read. The lock of c is held.
func (call *Call) used(n int) {
	if call.read += n; call.read == len(call.body) {
		bufpool.Release(&call.body)
		call.read = 0
	}
	if !call.ended && call.err == nil {
		call.c.engine.Consumed(call.id, n)
	}
}

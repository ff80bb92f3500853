package h2client

import (
	"time"

	"github.com/gallop-http/gallop/internal/field"
)

// appendBody appends a body in memory to the output, and the end of the stream. If the windows do not permit all of it, the call
// keeps the rest. The lock of c is held.
func (call *Call) appendBody(p []byte, trailers *field.List) {
	if len(p) == 0 && trailers != nil {
		call.c.engine.WriteTrailers(call.id, trailers)
		call.wasSent()
		return
	}
	call.rest, call.restEnds, call.restTail = p, trailers == nil, trailers
	call.sendRest()
}

// sendRest appends a frame of a request body that waits. The lock of c is held.
func (call *Call) sendRest() {
	e := &call.c.engine
	n, ok := e.WriteData(call.id, call.rest, call.restEnds, now())
	if call.rest = call.rest[n:]; !ok {
		call.rest, call.cutWrite = nil, true
	}
	if len(call.rest) > 0 {
		return
	}
	call.rest = nil
	switch {
	case call.restTail != nil:
		e.WriteTrailers(call.id, call.restTail)
		call.restTail = nil
		call.wasSent()
	case call.restEnds:
		call.wasSent()
	default: // Write waits
		call.change.Broadcast()
	}
}

// wasSent notes that all of the request was sent. The lock of c is held.
func (call *Call) wasSent() {
	call.sent = true
	if call.readLimit > 0 {
		call.readBy = time.Now().Add(call.readLimit)
		call.change.Broadcast()
	}
}

// SendBody sends the body that Open has held back.
func (call *Call) SendBody() {
	c := call.c
	c.mu.Lock()
	if !call.cutWrite && call.err == nil {
		body, trailers := call.held, call.restTail
		call.held, call.restTail = nil, nil
		call.appendBody(body, trailers)
	}
	c.flush(false) // unlocks
}

// Write sends p as part of the request body. It returns when all of p is on its way. It may run beside Wait and Read.
func (call *Call) Write(p []byte) (n int, err error) {
	c := call.c
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	if err := call.writeError(); err != nil {
		c.unlock()
		return 0, err
	}
	call.rest, call.restEnds = p, false
	call.sendRest()
	c.flush(false) // unlocks
	c.mu.Lock()
	defer c.unlock()
	for len(call.rest) > 0 {
		if err = call.await(time.Time{}); err == nil {
			err = call.writeError()
		}
		if err != nil {
			n = len(p) - len(call.rest)
			call.rest = nil
			return n, err
		}
	}
	return len(p), call.writeError()
}

// End ends the request body, with trailers if there are any.
func (call *Call) End(trailers *field.List) error {
	c := call.c
	c.mu.Lock()
	if err := call.writeError(); err != nil {
		c.unlock()
		return err
	}
	if trailers != nil && trailers.Len() == 0 {
		trailers = nil
	}
	call.appendBody(nil, trailers)
	c.flush(false) // unlocks
	return nil
}

// StopWriting makes Write and End return ErrStopped.
func (call *Call) StopWriting() {
	call.c.mu.Lock()
	call.rest, call.cutWrite = nil, true
	call.change.Broadcast()
	call.c.unlock()
}

// writeError returns why nothing can be written, or nil. The lock of c is held.
func (call *Call) writeError() error {
	switch {
	case call.err != nil:
		return call.err
	case call.cutWrite:
		return ErrStopped
	}
	return nil
}

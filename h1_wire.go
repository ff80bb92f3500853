package gallop

import "github.com/gallop-http/gallop/internal/target"

// serverConn is the HTTP/1 wire of a server: it reads a request, has it answered, writes the response, and begins
// anew. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	h1_wire.go       the wire, and how a step ends
//	h1_serve.go      the loop, and what a request goes through
//	h1_head.go       waiting for a request and reading its head
//	h1_body.go       the body of the request: the one owner of its framing
//	h1_body_rest.go  what the handler leaves of the body
//	h1_response.go   how a response becomes bytes, also an interim one
//	h1_plain.go      how most responses do
//	h1_stream.go     bodies that are streams
//	h1_close.go      responses to refused requests, and how a connection ends
//	h1_hijack.go     handing a connection over
//
// server_input.go and server_output.go read and write for the wire.
//
// All fields belong to the goroutine that serves, except the state and the links in entry.
type serverConn struct {
	connection
	*exchange // the request that is being served, or the last one; may be nil between requests

	requests uint64
	queued   bool // the first byte of this request was there before the last response was sent

	// These fields are copied from the request head before a handler can change it.
	http10    bool // HTTP/1.0: neither 1xx nor chunks
	keepAlive bool // the client allows another request

	host target.KnownHost // for checkRequest

	close    bool // no request after this one
	unframed bool // only the end of the connection ends the response, see beginUnframed
	plain    bool // the last response was plain
	hijacked bool // the handler has the connection, see HijackConn

	err    error   // why the connection ended; nil if that is routine
	handed *hijack // what becomes of a connection that was hijacked; nil if its handler has it already

	shared bool // an exchange that points here was left to its handlers
}

// next says what happens to a connection after a step.
type next uint8

const (
	nextStep     next = iota // take the next step
	nextPark                 // give the connection back to its loop until more bytes arrive
	nextLater                // give the connection back to its loop, which sends the output first
	nextMove                 // call the handler on another goroutine
	nextHijacked             // the connection belongs to a handler
	nextEnded                // close the connection; serverConn.err says why
)

// endedBy returns nextEnded if err is not nil.
func (c *serverConn) endedBy(err error) next {
	if err == nil {
		return nextStep
	}
	c.err = err
	return nextEnded
}

package gallop

import (
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/target"
)

// serverConn is the HTTP/1 wire of a server: it reads a request, has it answered, writes the response, and begins
// anew. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	h1_wire.go       the wire
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
// All fields belong to the goroutine that serves, except the state and the links in entry.
type serverConn struct {
	conn.Conn
	*exchange // the request that is being served, or the last one; may be nil between requests

	srv *Server
	set *settings

	// These fields are copied from the request head before a handler can change it.
	http10    bool // HTTP/1.0: neither 1xx nor chunks
	keepAlive bool // the client allows another request

	host target.KnownHost // for checkRequest

	close    bool // no request after this one
	plain    bool // the last response was plain
	hijacked bool // the handler has the connection, see HijackConn

	handed *hijack // what becomes of a connection that was hijacked; nil if its handler has it already

	shared bool // an exchange that points here was left to its handlers
}

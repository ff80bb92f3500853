package gallop

import (
	"io"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/target"
)

// serverConn is the HTTP/1 wire of a server: it reads a request, has it answered, writes the response, and begins
// anew. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	h1_wire.go       the wire, waiting for a request and reading its head
//	h1_serve.go      the loop, and what a request goes through
//	h1_body.go       the body of the request: the one owner of its framing
//	h1_body_rest.go  what the handler leaves of the body
//	h1_response.go   how a response becomes bytes, also an interim one, and one with a body that is a stream
//	h1_plain.go      how most responses do
//	h1_close.go      responses to refused requests, and how a connection ends
//	h1_hijack.go     handing a connection over
//
// All fields belong to the goroutine that serves, except the phase and the links in entry.
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

// readHead reads the head of a request, of which the first bytes are there since began.
func (c *serverConn) readHead(began time.Time) conn.Next {
	in := &c.Input
	if c.exchange == nil {
		c.exchange = c.newExchange()
	}
	c.began = began
	var parser http1.Parser
	n, err := parser.ParseRequest(&c.ctx.Request.Header.head, in.Unread(), &c.set.head)
	if n == 0 {
		if err != nil {
			if c.isPreface() {
				err = errPreface
			}
			return c.EndedBy(err)
		}
		var what conn.Next
		if n, what = c.readRestOfHead(&parser); what != conn.Step {
			return what
		}
	}
	in.HeadAt = in.R
	in.R += n
	return conn.Step
}

// readRestOfHead reads on until the head is there to its end, and returns how long it is.
func (c *serverConn) readRestOfHead(parser *http1.Parser) (length int, n conn.Next) {
	in, head := &c.Input, &c.ctx.Request.Header.head
	for armed := false; ; armed = true {
		more := false
		if c.Loop.Conn != nil {
			if more, n = c.moreOfHead(); n != conn.Step {
				return 0, n
			}
		}
		if !more {
			if !armed {
				c.startClock()
				in.ArmExactly(clock.Earlier(clock.After(c.FirstBegan(c.began), c.set.First), clock.After(c.began, c.set.Read)))
			}
			c.RunsApart(true)
			err := in.Fill()
			c.RunsApart(false)
			if err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return 0, c.EndedBy(err)
			}
		}
		length, err := parser.ParseRequest(head, in.Unread(), &c.set.head)
		if err != nil && c.isPreface() {
			err = errPreface
		}
		if length > 0 || err != nil {
			return length, c.EndedBy(err)
		}
	}
}

// startClock makes the time in which the server could not look at the request not count.
func (c *serverConn) startClock() {
	if c.StartClock() {
		c.began = c.Now
	}
}

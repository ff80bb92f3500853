package gallop

import (
	"errors"
	"log/slog"

	"github.com/gallop-http/gallop/internal/conn"
)

// refuse makes ctx.Response the response to a request that is refused because of err. It reports false if the response was
// started by an ErrorHandler that then panicked.
func (x *exchange) refuse(status int, err error) bool {
	ctx, s := &x.ctx, x.server
	ctx.Response.Reset()
	ctx.Error(StatusMessage(status), status)
	if status == StatusMethodNotAllowed {
		ctx.Response.Header.Set(HeaderAllow, s.allowed())
	}
	if s.ErrorHandler == nil {
		return true
	}
	return x.guard("the error handler", func() { s.ErrorHandler(ctx, err) }) || ctx.stream.ex == nil
}

// refuseExpectation makes ctx.Response the response to a request whose expectation was refused.
func (x *exchange) refuseExpectation(status int) {
	resp := &x.ctx.Response
	resp.SetStatusCode(status)
	if len(resp.body.bytes()) == 0 && !resp.IsBodyStream() {
		x.ctx.SetContentType("text/plain; charset=utf-8")
		resp.SetBodyString(StatusMessage(status))
	}
}

// refusalStatus returns the status of the response to a request that is refused because of err.
func refusalStatus(err error) int {
	var p *ParseError
	switch {
	case errors.As(err, &p):
		return p.StatusCode
	case err == ErrBodyTooLarge:
		return StatusRequestEntityTooLarge
	case err == ErrGetOnly:
		return StatusMethodNotAllowed
	}
	return StatusBadRequest
}

// logRefusal logs that a request was refused.
func (x *exchange) logRefusal(status int, reason error) {
	from := x.netConn().RemoteAddr()
	x.server.conns.Log.Write(&conn.Event{Level: slog.LevelWarn, Text: "request refused", Remote: from, Conn: x.connNumber(), Status: status, Err: reason},
		"request from %v refused with %d: %v", from, status, reason)
}

func (s *Server) allowed() string {
	if s.GetOnly {
		return "GET, HEAD"
	}
	return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
}

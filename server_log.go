package gallop

import (
	"log/slog"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
)

func (s *Server) logger() Logger {
	switch {
	case s.ErrorLog != nil:
		return LogTo(s.ErrorLog)
	case s.Logger != nil:
		return s.Logger
	}
	return defaultLogger
}

// logRefusal logs that a request was refused.
func (s *Server) logRefusal(c *serverConn, status int, reason error) {
	from := c.NC.RemoteAddr()
	s.conns.Log.Write(&conn.Event{Level: slog.LevelWarn, Text: "request refused", Remote: from, Conn: c.ID, Status: status, Err: reason},
		"request from %v refused with %d: %v", from, status, reason)
}

// rejection returns what a client gets whose connection is beyond a limit.
func rejection(reason error) (status int, lastWords []byte) {
	status = StatusServiceUnavailable
	if reason == ErrPerIPConnLimit {
		status = StatusTooManyRequests
	}
	return status, lastResponse(status)
}

// lastResponse returns a response with this status behind which the connection is closed.
func lastResponse(status int) []byte {
	var h ResponseHeader
	h.SetStatusCode(status)
	h.SetContentType("text/plain; charset=utf-8")
	body := StatusMessage(status)
	out := outgoing{length: int64(len(body)), close: true, date: time.Now()}
	return append(h.appendHead(nil, &out), body...)
}

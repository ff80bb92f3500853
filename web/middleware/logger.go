package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Logger writes a line for each request when it is over: when the answer was written, whatever it was that
// made it: a handler, the error handler, the server after a panic. An answer that is streamed, or
// a connection that was taken over, is logged when that is done, or handed over.
//
// The text of an error is in the log once: in this line, unless Recover or the server has logged it before. Requests that the server
// refuses have a line if Logger is middleware of the App.
//
// The level is Info, for status 500 and above Error. Attributes are method, path, status, duration, and
// where there are such: client (Ctx.IP), route, bytes of the body, id, error. The query is not logged, since it has secrets at
// times. The path is the client's: a slog.Handler that is used with Logger has to escape what it writes, as those of
// log/slog do.
//
// The zero value writes to slog.Default.
type Logger struct {
	// Log is where to write; slog.Default, as it is then, by default.
	Log *slog.Logger

	// Skip says of a request, once it was answered, that it shall not be logged.
	Skip func(request *gallop.RequestCtx) bool

	// Attrs returns further attributes. It is called when the handlers have returned, and not if they
	// panic.
	Attrs func(c *web.Ctx) []slog.Attr
}

// Handler returns the middleware.
func (l Logger) Handler() web.Handler {
	return func(c *web.Ctx) error {
		line := &logLine{how: &l, request: c.RequestCtx(), start: time.Now(), ctx: c.Context(), panicked: true}
		if r := c.Route(); r != nil {
			line.route = r.Pattern()
		}
		line.method, line.path, line.client, line.id = c.Method(), c.Path(), c.IP(), c.RequestID()
		c.SetLocal(logLineKey{}, line) // which is closed when the request is over
		err := c.Next()
		line.panicked, line.err, line.id = false, err, c.RequestID()
		if err != nil && !c.MarkErrorLogged() {
			line.err = nil
		}
		line.streamed = err == nil && (line.request.Response.IsBodyStream() || isTaken(line.request))
		line.ctx = c.Context()
		if l.Attrs != nil {
			line.attrs = l.Attrs(c)
		}
		return err
	}
}

type logLineKey struct{}

// logLine is the line of a request, of which the server closes the values when it is over.
type logLine struct {
	how          *Logger
	request      *gallop.RequestCtx
	ctx          context.Context
	start        time.Time
	method, path string
	client       string
	route, id    string
	err          error
	attrs        []slog.Attr
	panicked     bool
	streamed     bool // so that the size of the body is not known
}

// Close writes the line. The request still is what it was, but the Ctx is somebody else's.
func (l *logLine) Close() error {
	log := l.how.Log
	if log == nil {
		log = slog.Default()
	}
	if l.how.Skip != nil && l.how.Skip(l.request) {
		return nil
	}
	status, level := l.request.Response.StatusCode(), slog.LevelInfo
	if l.panicked && status < 500 { // an aborted answer, of which nothing is known
		status = gallop.StatusInternalServerError
	}
	if status >= 500 {
		level = slog.LevelError
	}
	ctx := context.WithoutCancel(l.ctx)
	if log.Enabled(ctx, level) {
		log.LogAttrs(ctx, level, "request", l.all(status)...)
	}
	return nil
}

// size returns how many bytes of a body were sent, if that is known: not of a stream, which may be the error handler's, nor
// to HEAD.
func (l *logLine) size() (n int, known bool) {
	r := &l.request.Response
	if l.streamed || l.method == gallop.MethodHead || r.IsBodyStream() {
		return 0, false
	}
	n = len(r.Body())
	return n, n > 0 || r.Header.ContentLength() == 0
}

func (l *logLine) all(status int) []slog.Attr {
	attrs := make([]slog.Attr, 0, 10+len(l.attrs))
	attrs = append(attrs, slog.String("method", l.method), slog.String("path", l.path), slog.Int("status", status),
		slog.Duration("duration", time.Since(l.start)))
	for _, optional := range [...]slog.Attr{slog.String("client", l.client), slog.String("route", l.route), slog.String("id", l.id)} {
		if optional.Value.String() != "" {
			attrs = append(attrs, optional)
		}
	}
	if size, known := l.size(); known {
		attrs = append(attrs, slog.Int("bytes", size))
	}
	if l.err != nil {
		attrs = append(attrs, slog.String("error", l.err.Error()))
	}
	if l.panicked {
		attrs = append(attrs, slog.String("error", "panic"))
	}
	return append(attrs, l.attrs...)
}

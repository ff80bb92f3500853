package middleware

import (
	"log/slog"
	"sync"

	"github.com/gallop-http/gallop/web"
)

// Logger logs each request after its response has been written. Logger also logs requests whose handlers return an error or
// panic. Logger logs a streamed response when the stream ends, and a hijacked connection when the server hands the connection
// over.
//
// If Recover or the server has already logged an error, Logger's line omits the text of the error. If you add Logger to
// the App, it also logs requests that the server refuses. If a request passes several Loggers, each of them logs it, and the one next to
// the handler logs the text of the error.
//
// The level is Error for status 500 and above, and Info for all other statuses. If the request was canceled because the client has
// disconnected or the server stops, the level of an error is Info, too. The attributes are method, path, status and
// duration. Logger also adds the attributes route, client (Ctx.IP), id, bytes (the size of the body) and error if they are
// known. The query is not logged, because it may contain secrets. Logger logs the path as the client sent it. Use a
// slog.Handler that escapes its output, such as slog.TextHandler or slog.JSONHandler.
//
// Logger passes method and route to WithAttrs of the slog.Handler, once for each route and method. The slog.Handler can then format
// them in advance, and Handle gets a record without them. If the result of WithAttrs has another type than the slog.Handler, or is the
// slog.Handler itself, then Logger does not use it. Instead, Logger adds method and route to each record.
//
// The zero value logs to slog.Default.
type Logger struct {
	// Log receives the log records. If Log is nil, Logger calls slog.Default for each record.
	Log *slog.Logger

	// Skip reports whether to leave a request out of the log. Skip is called after the handlers have returned without an error,
	// so it can read the route, the locals and the status. Logger always logs a request whose handler returned an error or
	// panicked, because Skip could not see the error response. By default, Logger logs every request.
	Skip func(c *web.Ctx) bool

	// Attrs returns attributes to add to the record. Logger calls Attrs after the handlers have returned. If a handler panicked,
	// Logger does not call Attrs. If Attrs is nil, Logger adds no attributes.
	Attrs func(c *web.Ctx) []slog.Attr
}

// Handler returns the middleware.
func (l Logger) Handler() web.Handler {
	key, spare := web.NewKey[*logLine](), &sync.Pool{} // of this Logger, because a request may pass several ones
	handlers := new(logHandlers)
	spare.New = func() any { return &logLine{how: &l, handlers: handlers, spare: spare} }
	return func(c *web.Ctx) error {
		line := spare.Get().(*logLine)
		line.begin(c)
		key.Set(c, line) // which is closed when the request is over
		defer func() {
			if line.panicked {
				line.ctx, line.id = c.Context(), c.RequestID()
			}
		}()
		err := c.Next()
		line.panicked, line.err, line.ctx, line.id = false, err, c.Context(), c.RequestID()
		if line.skip = err == nil && l.Skip != nil && l.Skip(c); line.skip {
			return nil
		}
		if err != nil {
			line.failed = c.FailureLevel()
			if !c.MarkErrorLogged() {
				line.err = nil
			}
		}
		line.streamed = err == nil && (line.request.Response.IsBodyStream() || isTaken(line.request))
		if l.Attrs != nil {
			line.attrs = l.Attrs(c)
		}
		return err
	}
}

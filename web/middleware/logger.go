package middleware

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
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
// duration. Logger also adds the attributes client (Ctx.IP), route, id, bytes (the size of the body) and error if they are
// known. The query is not logged, because it may contain secrets. Logger logs the path as the client sent it. Use a
// slog.Handler that escapes its output, such as slog.TextHandler or slog.JSONHandler.
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
	spare.New = func() any { return &logLine{how: &l, spare: spare} }
	return func(c *web.Ctx) error {
		line := spare.Get().(*logLine)
		line.begin(c)
		key.Set(c, line) // which is closed when the request is over
		err := c.Next()
		line.panicked, line.err, line.id = false, err, c.RequestID()
		if line.skip = err == nil && l.Skip != nil && l.Skip(c); line.skip {
			return nil
		}
		if err != nil {
			line.canceled = c.RequestCtx().Err() == context.Canceled
			if !c.MarkErrorLogged() {
				line.err = nil
			}
		}
		line.streamed = err == nil && (line.request.Response.IsBodyStream() || isTaken(line.request))
		line.ctx = c.Context()
		if l.Attrs != nil {
			line.attrs = l.Attrs(c)
		}
		return err
	}
}

// logLine is the log record of a request. It is stored as a local, which the server closes when the request is over.
type logLine struct {
	how          *Logger
	spare        *sync.Pool // for the line after Close
	request      *gallop.RequestCtx
	ctx          context.Context
	start        time.Duration // since logEpoch
	method, path string
	client       string
	route, id    string
	err          error
	attrs        []slog.Attr
	panicked     bool
	canceled     bool // the client has disconnected, or the server stops
	skip         bool // by Logger.Skip
	streamed     bool // so that the size of the body is not known
}

// logEpoch is the time that the beginning of requests is measured from. time.Since reads one clock, and time.Now reads two.
var logEpoch = time.Now()

// timeOfDayAt is when timeOfDay has read the time of day, or nil.
var timeOfDayAt atomic.Pointer[time.Time]

// timeOfDay returns the current time, which is exact unless the machine's clock was set within the last second. It reads only the monotonic
// clock, except once a second.
func timeOfDay() time.Time {
	if at := timeOfDayAt.Load(); at != nil {
		if passed := time.Since(*at); passed >= 0 && passed < time.Second {
			return at.Add(passed)
		}
	}
	now := time.Now()
	timeOfDayAt.Store(&now)
	return now
}

// begin sets all fields that are known before the handlers run. The other fields are zero.
func (l *logLine) begin(c *web.Ctx) {
	l.request, l.start, l.ctx, l.panicked = c.RequestCtx(), time.Since(logEpoch), c.Context(), true
	l.route = ""
	if r := c.Route(); r != nil {
		l.route = r.Pattern()
	}
	l.method, l.path, l.client, l.id = c.Method(), c.Path(), c.IP(), c.RequestID()
}

// Close writes the record. The RequestCtx is still valid then, but the web.Ctx may already serve another request.
func (l *logLine) Close() error {
	defer l.release()
	if l.skip {
		return nil
	}
	log := l.how.Log
	if log == nil {
		log = slog.Default()
	}
	status, level := l.request.Response.StatusCode(), slog.LevelInfo
	if l.panicked && status < 500 { // an aborted response, whose status is unknown
		status = gallop.StatusInternalServerError
	}
	if status >= 500 && !l.canceled {
		level = slog.LevelError
	}
	if ctx := uncanceled(l.ctx); log.Enabled(ctx, level) {
		now := timeOfDay()
		r := slog.NewRecord(now, level, "request", 0) // without a program counter, which would always be this line
		l.describe(&r, status, now.Sub(logEpoch)-l.start)
		log.Handler().Handle(ctx, r)
	}
	return nil
}

// release leaves the line to another request. The fields that begin sets may keep their values until then.
func (l *logLine) release() {
	l.err, l.attrs, l.ctx = nil, nil, nil
	l.canceled, l.skip, l.streamed = false, false, false
	l.spare.Put(l)
}

// size returns the size of the body that was sent. It is not known for streams, including those of the error handler, and for
// responses to HEAD.
func (l *logLine) size() (n int, known bool) {
	r := &l.request.Response
	if l.streamed || l.method == gallop.MethodHead || r.IsBodyStream() {
		return 0, false
	}
	n = len(r.Body())
	return n, n > 0 || r.Header.ContentLength() == 0
}

// describe adds the attributes to a record.
func (l *logLine) describe(r *slog.Record, status int, took time.Duration) {
	var room [9]slog.Attr // AddAttrs copies the attributes
	attrs := append(room[:0], slog.String("method", l.method), slog.String("path", l.path), slog.Int("status", status),
		slog.Duration("duration", took))
	if l.client != "" {
		attrs = append(attrs, slog.String("client", l.client))
	}
	if l.route != "" {
		attrs = append(attrs, slog.String("route", l.route))
	}
	if l.id != "" {
		attrs = append(attrs, slog.String("id", l.id))
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
	r.AddAttrs(append(attrs, l.attrs...)...)
}

// uncanceled returns a context with the values of ctx that is never canceled, for log handlers that look at the context.
func uncanceled(ctx context.Context) context.Context {
	if request, ok := ctx.(*gallop.RequestCtx); ok {
		return valuesOf{request}
	}
	return context.WithoutCancel(ctx)
}

// valuesOf is what context.WithoutCancel returns for a request, in the size of a pointer, so that it takes no memory.
type valuesOf struct{ request *gallop.RequestCtx }

func (valuesOf) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (valuesOf) Done() <-chan struct{}                   { return nil }
func (valuesOf) Err() error                              { return nil }
func (v valuesOf) Value(key any) any                     { return v.request.Value(key) }

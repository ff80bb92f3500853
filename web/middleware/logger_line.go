package middleware

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

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

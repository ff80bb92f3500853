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
	handlers     *logHandlers
	spare        *sync.Pool // for the line after Close
	request      *gallop.RequestCtx
	ctx          context.Context
	start        time.Duration // since logEpoch
	method, path string
	client, id   string
	route        *web.Route // nil if none matches
	err          error
	attrs        []slog.Attr
	failed       slog.Level // of a status of 500 and above
	panicked     bool
	skip         bool     // by Logger.Skip
	streamed     bool     // so that the size of the body is not known
	list         logAttrs // for describe
}

// begin sets the fields that are known before the handlers run. Until they have returned, the line is that of a panic.
func (l *logLine) begin(c *web.Ctx) {
	l.request, l.start, l.panicked, l.failed = c.RequestCtx(), time.Since(logEpoch), true, slog.LevelError
	l.route, l.method, l.path, l.client = c.Route(), c.Method(), c.Path(), c.IP()
}

// Close writes the record. The RequestCtx is still valid then, but the web.Ctx may already serve another request.
func (l *logLine) Close() error {
	if !l.skip {
		l.write()
	}
	l.release() // unless the slog.Handler panics
	return nil
}

// write makes the record and passes it to the slog.Handler.
func (l *logLine) write() {
	log := l.how.Log
	if log == nil {
		log = slog.Default()
	}
	status, level := l.request.Response.StatusCode(), slog.LevelInfo
	if l.panicked && status < 500 { // an aborted response, whose status is unknown
		status = gallop.StatusInternalServerError
	}
	if status >= 500 {
		level = l.failed
	}
	handler, named := l.handlers.find(log, l.route, l.method)
	ctx := uncanceled(l.ctx)
	if !handler.Enabled(ctx, level) {
		return
	}
	now := time.Since(logEpoch)
	r := slog.NewRecord(timeOfDay(now), level, "request", 0) // without a program counter, which would always be this line
	l.describe(&r, named, status, now-l.start)
	handler.Handle(ctx, r)
}

// release leaves the line to another request. The fields that begin sets may keep their values until then.
func (l *logLine) release() {
	if l.err != nil || l.attrs != nil {
		clear(l.list.room[:])
	}
	l.err, l.attrs, l.ctx = nil, nil, nil
	l.skip, l.streamed = false, false
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

// describe adds the attributes to a record. If named is set, the handler has method and route already.
func (l *logLine) describe(r *slog.Record, named bool, status int, took time.Duration) {
	list := &l.list
	list.n = 0
	if !named {
		list.addNames(l.route, l.method)
	}
	list.add("path", slog.StringValue(l.path))
	list.add("status", slog.IntValue(status))
	list.add("duration", slog.DurationValue(took))
	if l.client != "" {
		list.add("client", slog.StringValue(l.client))
	}
	if l.id != "" {
		list.add("id", slog.StringValue(l.id))
	}
	if size, known := l.size(); known {
		list.add("bytes", slog.IntValue(size))
	}
	if l.err != nil {
		list.add("error", slog.StringValue(l.err.Error()))
	}
	if l.panicked {
		list.add("error", slog.StringValue("panic"))
	}
	r.AddAttrs(append(list.room[:list.n], l.attrs...)...) // copies the attributes
}

// logAttrs is a list of attributes with room for those that Logger itself adds. Attributes are written in place. To move an attribute
// right after it was written is slow, because the processor has to wait for the separate writes of its words.
type logAttrs struct {
	n    int
	room [9]slog.Attr
}

func (l *logAttrs) add(key string, value slog.Value) {
	a := &l.room[l.n]
	a.Key, a.Value = key, value
	l.n++
}

// addNames adds the attributes that do not change from one request to the next.
func (l *logAttrs) addNames(route *web.Route, method string) {
	l.add("method", slog.StringValue(method))
	if route != nil && route.Pattern() != "" {
		l.add("route", slog.StringValue(route.Pattern()))
	}
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

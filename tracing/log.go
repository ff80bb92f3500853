package tracing

import (
	"context"
	"log/slog"

	"github.com/gallop-http/gallop/web"
	"go.opentelemetry.io/otel/trace"
)

// LogAttrs returns the attributes trace_id and span_id of the request's span, or nothing if the request has no span. Set LogAttrs as
// middleware.Logger.Attrs. The attributes are there even if the span is not recorded.
func LogAttrs(c *web.Ctx) []slog.Attr { return logAttrs(c) }

func logAttrs(ctx context.Context) []slog.Attr {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
}

// NewLogHandler returns a slog.Handler that adds the attributes trace_id and span_id to each record whose context has a span, and passes
// the record to next. Pass the Ctx to the methods of the logger, as in log.InfoContext(c, "paid").
func NewLogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if attrs := logAttrs(ctx); attrs != nil {
		r = r.Clone()
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

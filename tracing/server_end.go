package tracing

import (
	"context"
	"errors"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// left notes that the handlers have returned or panicked. The context of the request is not done yet, unless the request was canceled.
func (s *span) left() {
	s.begun = s.request.Streaming()
	if s.request.Err() == context.Canceled {
		s.AddEvent("canceled")
	}
}

// returned notes how the handlers have ended, while the Ctx is valid.
func (s *span) returned(c *web.Ctx, err error) {
	s.panicked = false
	var panicked *gallop.PanicError
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		s.cause = "panic"
	case s.request.Streaming(): // the server cuts the response off
		s.cause = errorType(err)
	case errors.Is(err, context.DeadlineExceeded):
		s.cause = "timeout"
	}
	if s.tracer.Attrs != nil {
		s.SetAttributes(s.tracer.Attrs(c)...)
	}
}

// Close ends the span. The RequestCtx is still valid then, but the web.Ctx may already serve another request.
func (s *span) Close() error {
	response := &s.request.Response
	status := response.StatusCode()
	if s.panicked {
		s.cause = "panic"
		if status < 500 && !s.begun {
			status = gallop.StatusInternalServerError
		}
	}
	attrs := appendHeaders(append(make([]attribute.KeyValue, 0, 4), keyStatus.Int(status)), s.tracer.responded, response.Header.PeekAll)
	if status >= 500 || s.begun && s.cause != "" {
		if s.cause == "" {
			s.cause = statusText(status)
		}
		attrs = append(attrs, keyError.String(s.cause))
		s.SetStatus(codes.Error, "")
	}
	s.SetAttributes(attrs...)
	s.End()
	return nil
}

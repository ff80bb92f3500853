package tracing

import (
	"bytes"
	"context"

	"github.com/gallop-http/gallop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const headerParent = "traceparent"

// received is a propagation.TextMapCarrier of the headers that a client sent.
type received struct{ header *gallop.RequestHeader }

// Get implements propagation.TextMapCarrier. It joins several lines of a header (RFC 9110 §5.3). A request with several lines of traceparent
// has no valid parent, because the parents contradict each other.
func (r received) Get(key string) string {
	lines := r.header.PeekAll(key)
	switch {
	case len(lines) == 0, len(lines) > 1 && key == headerParent:
		return ""
	case len(lines) == 1:
		return string(lines[0])
	}
	return string(bytes.Join(lines, []byte(",")))
}

// Set implements propagation.TextMapCarrier. It does nothing.
func (r received) Set(key, value string) {}

// Keys implements propagation.TextMapCarrier.
func (r received) Keys() (keys []string) {
	for name := range r.header.All() {
		keys = append(keys, string(name))
	}
	return keys
}

// sent is a propagation.TextMapCarrier of the headers of a request that is about to be sent.
type sent struct{ header *gallop.RequestHeader }

// Get implements propagation.TextMapCarrier.
func (s sent) Get(key string) string { return string(s.header.Peek(key)) }

// Set implements propagation.TextMapCarrier.
func (s sent) Set(key, value string) { s.header.Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (s sent) Keys() []string { return received(s).Keys() }

// extract returns a context with the client's span as the parent.
func (t *tracer) extract(ctx context.Context, header *gallop.RequestHeader) context.Context {
	if t.usual && len(header.Peek(headerParent)) == 0 {
		return ctx // without allocating
	}
	return t.propagator.Extract(ctx, received{header})
}

// remoteOf returns the span that a context got from extract.
func remoteOf(ctx context.Context) (remote trace.SpanContext, ok bool) {
	remote = trace.SpanContextFromContext(ctx)
	return remote, remote.IsValid() && remote.IsRemote()
}

// propagatorOf returns a propagator, or the usual one.
func propagatorOf(p propagation.TextMapPropagator) (propagator propagation.TextMapPropagator, usual bool) {
	if p == nil {
		return propagation.TraceContext{}, true
	}
	return p, false
}

package tracing

import (
	"context"
	"sync"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracing is middleware that makes a span for each request. Register Tracing after RequestID and before Logger and Recover, so that the
// span covers the other middleware. Requests that the server refuses get spans, too.
//
// The status of a span is Error in these cases:
//
//   - The status of the response is 500 or above. A status of 400 to 499 is not an error of the server.
//   - The handler panics.
//   - The handler returns an error after the response has begun.
//
// If the request is canceled while the handler runs, usually because the client has disconnected, the span gets the event "canceled".
//
// The zero value uses the global TracerProvider and accepts the traces of all clients.
type Tracing struct {
	// Provider makes the spans. If Provider is nil, Handler uses otel.GetTracerProvider. The sampler of the Provider sees the attributes
	// http.request.method, http.route, url.scheme and url.path.
	Provider trace.TracerProvider

	// Propagator reads the trace of the client from the headers. The default is propagation.TraceContext, which reads traceparent and
	// tracestate. A malformed traceparent starts a new trace. Baggage from clients is ignored by default.
	Propagator propagation.TextMapPropagator

	// TrustedOnly continues only the traces of trusted proxies: see web.Config.TrustedProxies. All other requests start a new trace with
	// a link to the span of the client. Set TrustedOnly on a server that the public can reach. Otherwise, clients decide which requests
	// are sampled, and can add spans to any trace.
	TrustedOnly bool

	// Skip reports whether to leave out a request, for example a health check. It is called before the handlers. Skip may be called
	// concurrently.
	Skip func(c *web.Ctx) bool

	// Attrs returns more attributes for a span that is recorded. They replace attributes with the same names. Attrs is called when the
	// handlers have returned. If a handler panics, Attrs is not called.
	Attrs func(c *web.Ctx) []attribute.KeyValue

	// Query are the names of query parameters whose values may be recorded. With Query, spans have the attribute url.query, in which the
	// values of all other parameters are REDACTED. By default, spans have no query.
	Query []string

	// RequestHeaders and ResponseHeaders are the names of headers to record. Up to 16 values of 256 bytes are recorded for each header.
	// By default, no headers are recorded. Handler panics if a header has secrets, such as Authorization or Cookie.
	RequestHeaders, ResponseHeaders []string

	// ClientDetails records the address and the User-Agent of the client, which are personal data. The default is false.
	ClientDetails bool

	// AsRequestID makes the trace ID the ID of a request that has no ID. Ctx.Log, middleware.Logger and problem details then have the
	// trace ID.
	AsRequestID bool
}

// tracer is a Tracing in use.
type tracer struct {
	*Tracing
	tracer           trace.Tracer
	propagator       propagation.TextMapPropagator
	usual            bool // the propagator reads traceparent only
	asked, responded []header
	routes           routes
	starts           sync.Pool
}

// start has the options for a span, which are used again.
type start struct {
	attrs   [5]attribute.KeyValue
	options [4]trace.SpanStartOption
}

// Handler returns the middleware. Handler panics if a header that is to be recorded has secrets.
func (t Tracing) Handler() web.Handler {
	s := &tracer{
		Tracing: &t, tracer: tracerOf(t.Provider),
		asked: captured(t.RequestHeaders, "http.request.header."), responded: captured(t.ResponseHeaders, "http.response.header."),
	}
	s.propagator, s.usual = propagatorOf(t.Propagator)
	s.starts.New = func() any { return new(start) }
	return s.serve
}

// spanKey is the key of the span of a request that is recorded.
var spanKey = web.NewKey[*span]()

func (t *tracer) serve(c *web.Ctx) error {
	if _, nested := spanKey.Get(c); nested || t.Skip != nil && t.Skip(c) {
		return c.Next()
	}
	ctx, made := t.start(c)
	c.SetContext(ctx)
	if t.AsRequestID && c.RequestID() == "" {
		c.SetRequestID(made.SpanContext().TraceID().String())
	}
	if !made.IsRecording() {
		return c.Next()
	}
	s := t.record(c, made)
	defer s.left()
	err := c.Next()
	s.returned(c, err)
	return err
}

// start starts a span. The name and the attributes cost little, because most spans of a busy server are not recorded.
func (t *tracer) start(c *web.Ctx) (context.Context, trace.Span) {
	s := t.starts.Get().(*start)
	defer t.starts.Put(s)
	method := methodIndex(c.Method())
	name, attrs := methods[method], append(s.attrs[:0], methodAttrs[method], keyScheme.String(c.Scheme()), keyPath.String(bounded(c.Path(), maxText)))
	if route := c.Route(); route != nil {
		names := t.routes.of(route)
		name, attrs = names.names[method], append(attrs, names.attr)
	}
	options := append(s.options[:0], serverKind, trace.WithAttributes(attrs...)) // the tracer copies attrs
	ctx := t.extract(c.Context(), &c.RequestCtx().Request.Header)
	if remote, ok := remoteOf(ctx); ok && t.TrustedOnly && !c.IsProxyTrusted() {
		ctx = c.Context()
		options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
	}
	return t.tracer.Start(ctx, name, options...)
}

// span is the span of a request that is recorded. It is stored as a local, which the server closes when the response has been sent.
type span struct {
	trace.Span
	tracer   *tracer
	request  *gallop.RequestCtx
	panicked bool   // the handler has not returned
	begun    bool   // the response had begun when the handler ended
	cause    string // error.type, if it is not the status
}

// record adds the attributes that only a recorded span needs.
func (t *tracer) record(c *web.Ctx, made trace.Span) *span {
	request := c.RequestCtx()
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = appendHost(attrs, c.Host(), c.Scheme())
	attrs = append(attrs, keyVersion.String(versionOf(request.Request.Header.Protocol())))
	if method := c.Method(); methodIndex(method) == otherIndex {
		attrs = append(attrs, keyMethodOriginal.String(bounded(method, 64)))
	}
	if query := request.URI().QueryString(); len(t.Query) > 0 && len(query) > 0 {
		attrs = append(attrs, keyQuery.String(redactQuery(string(query), t.Query)))
	}
	if t.ClientDetails {
		attrs = append(attrs, keyClient.String(c.IP()), keyAgent.String(bounded(c.ReqHeader(gallop.HeaderUserAgent), 512)))
	}
	made.SetAttributes(appendHeaders(attrs, t.asked, request.Request.Header.PeekAll)...)
	s := &span{Span: made, tracer: t, request: request, panicked: true}
	spanKey.Set(c, s)
	return s
}

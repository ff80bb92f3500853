package tracing

import (
	"context"
	"errors"
	"net"

	"github.com/gallop-http/gallop"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Client has the settings for the spans of a client. [Client.Transport] makes a transport from the settings.
//
// The status of a span is Error if there is no response, or if the status of the response is 400 or above. The attribute error.type is
// the status, or a word such as "timeout", "canceled", "dns" or "connect". If the body of the response is a stream, the span ends when the
// header has arrived.
//
// The zero value uses the global TracerProvider and sends traceparent and tracestate to all servers.
type Client struct {
	// Provider makes the spans. If Provider is nil, Transport uses otel.GetTracerProvider.
	Provider trace.TracerProvider

	// Propagator writes the trace to the headers. The default is propagation.TraceContext.
	Propagator propagation.TextMapPropagator

	// Next sends the requests. The default is gallop.DefaultTransport.
	Next gallop.RoundTripper

	// SendTo reports whether to send the trace to a host, such as "api.example.com:8080". By default, all hosts get the trace. SendTo may
	// be called concurrently.
	SendTo func(host string) bool

	// Query are the names of query parameters whose values may be recorded. With Query, the attribute url.full has the query, in which the
	// values of all other parameters are REDACTED. By default, url.full has no query.
	Query []string

	// RequestHeaders and ResponseHeaders are the names of headers to record. See Tracing.RequestHeaders.
	RequestHeaders, ResponseHeaders []string
}

// Transport returns a transport for the field Transport of a gallop.Client or gallop.HostClient. It panics if a header that is to be
// recorded has secrets. The transport may be used concurrently.
func (c Client) Transport() gallop.RoundTripper {
	if c.Next == nil {
		c.Next = gallop.DefaultTransport
	}
	t := &transport{
		Client: &c, tracer: tracerOf(c.Provider),
		asked: captured(c.RequestHeaders, "http.request.header."), responded: captured(c.ResponseHeaders, "http.response.header."),
	}
	t.propagator, _ = propagatorOf(c.Propagator)
	t.fields = t.propagator.Fields()
	return t
}

// transport is a Client in use.
type transport struct {
	*Client
	tracer           trace.Tracer
	propagator       propagation.TextMapPropagator
	fields           []string // the headers that the propagator sets
	asked, responded []header
}

// RoundTrip implements gallop.RoundTripper.
func (t *transport) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (retry bool, err error) {
	attempt, template := next(req.Context())
	ctx, span := t.start(req, template)
	if span.IsRecording() {
		t.describe(span, hc, req, attempt)
	}
	defer func() {
		if value := recover(); value != nil { // of Next, which is another program's code
			span.SetStatus(codes.Error, "")
			span.SetAttributes(keyError.String("panic"))
			span.End()
			panic(value)
		}
	}()
	restore := t.inject(ctx, req)
	retry, err = t.Next.RoundTrip(hc, req, resp)
	restore()
	t.end(span, resp, err)
	return retry, err
}

func (t *transport) start(req *gallop.Request, template string) (context.Context, trace.Span) {
	method := methodIndex(string(req.Header.Method()))
	name := methods[method]
	if template != "" {
		name += " " + template
	}
	return t.tracer.Start(req.Context(), name, clientKind, trace.WithAttributes(methodAttrs[method]))
}

// inject sets the headers of the trace. The function that it returns restores the headers of the caller.
func (t *transport) inject(ctx context.Context, req *gallop.Request) (restore func()) {
	if t.SendTo != nil && !t.SendTo(string(req.URI().Host())) {
		return func() {}
	}
	had := make([]string, len(t.fields))
	for i, name := range t.fields {
		had[i] = string(req.Header.Peek(name))
		req.Header.Del(name) // a tracestate belongs to its traceparent
	}
	t.propagator.Inject(ctx, sent{&req.Header})
	return func() {
		for i, name := range t.fields {
			if req.Header.Del(name); had[i] != "" {
				req.Header.Set(name, had[i])
			}
		}
	}
}

// describe adds the attributes of a request.
func (t *transport) describe(span trace.Span, hc *gallop.HostClient, req *gallop.Request, attempt attempt) {
	attrs := make([]attribute.KeyValue, 0, 8)
	uri := req.URI()
	scheme := "http"
	if hc.IsTLS {
		scheme = "https"
	}
	host := string(uri.Host())
	attrs = appendHost(attrs, host, scheme)
	if len(attrs) == 1 { // the port is required
		attrs = append(attrs, keyServerPort.Int(map[string]int{"http": 80, "https": 443}[scheme]))
	}
	full := scheme + "://" + host + string(uri.PathOriginal())
	if query := uri.QueryString(); len(t.Query) > 0 && len(query) > 0 {
		full += "?" + redactQuery(string(query), t.Query)
	}
	attrs = append(attrs, keyFull.String(bounded(full, maxText)))
	if method := string(req.Header.Method()); methodIndex(method) == otherIndex {
		attrs = append(attrs, keyMethodOriginal.String(bounded(method, 64)))
	}
	if attempt.number > 0 {
		attrs = append(attrs, keyResend.Int(attempt.number))
	}
	if attempt.template != "" {
		attrs = append(attrs, keyTemplate.String(attempt.template))
	}
	span.SetAttributes(appendHeaders(attrs, t.asked, req.Header.PeekAll)...)
}

// end ends the span of an attempt.
func (t *transport) end(span trace.Span, resp *gallop.Response, err error) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(keyError.String(errorType(err)))
		return
	}
	status := resp.StatusCode()
	attrs := append(make([]attribute.KeyValue, 0, 4), keyStatus.Int(status), keyVersion.String(versionOf(resp.Header.Protocol())))
	if status >= 400 {
		attrs = append(attrs, keyError.String(statusText(status)))
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(appendHeaders(attrs, t.responded, resp.Header.PeekAll)...)
}

// errorType returns a word for the kind of an error. The text of the error could have a secret, and there would be many texts.
func errorType(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &op) && op.Op == "dial":
		return "connect"
	}
	return otherMethod
}

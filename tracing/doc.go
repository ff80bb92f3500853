// Package tracing traces requests with OpenTelemetry, in servers and in clients. The attributes of spans follow OpenTelemetry's stable
// conventions for HTTP.
//
// # Servers
//
//	app.Use(tracing.Tracing{}, middleware.Logger{Attrs: tracing.LogAttrs}, middleware.Recover{})
//
// Each request gets a span with the method and the pattern of the route as its name, such as "GET /users/{id}". The span begins before
// later middleware and ends when the last byte of the response has been written, also for a streamed response. A traceparent header (W3C
// Trace Context) continues the trace of the client. To add attributes, call trace.SpanFromContext(c).
//
// # Clients
//
//	client := &gallop.Client{Transport: tracing.Client{}.Transport()}
//	err := client.DoContext(c, req, resp) // c is the web.Ctx or any other context with a span
//
// Each attempt of a call gets a span and sends a traceparent header. Retries and redirects are attempts of their own. [Calls] and
// [RestHook] number the attempts. In a program that uses nethttp.Transport, set the field Transport of the HostClient in ConfigureHost.
//
// # What spans contain
//
// Spans do not have the query of a URL, headers, bodies, texts of errors, IP addresses and the User-Agent, because these often have
// secrets or personal data. Settings add some of them. The path is in the attributes "url.path" and "url.full". If paths have personal
// data, replace "url.path" with [Tracing.Attrs].
//
// # Logs
//
// A log record and a span belong together if the record has the trace ID. [LogAttrs] adds the ID to the records of middleware.Logger, and
// [NewLogHandler] to all records that are logged with a context. With [Tracing.AsRequestID], Ctx.Log and problem details have the ID, too.
//
// Source files:
//
//	server.go      the middleware
//	server_end.go  the end of a span of the server
//	parent.go      the headers that carry the trace
//	client.go      the transport for clients
//	calls.go       the numbers of attempts, and rest
//	names.go       the names of spans, methods and attributes
//	headers.go     the capture of headers
//	log.go         the trace ID in logs
package tracing

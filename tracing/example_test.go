package tracing_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/tracing"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// newProvider returns a provider that keeps spans in memory. A program uses an exporter such as otlptracehttp, and calls
// otel.SetTracerProvider instead of setting Provider.
func newProvider() (*sdk.TracerProvider, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	return sdk.NewTracerProvider(sdk.WithSyncer(spans)), spans
}

// Each request gets a span with the name of its route.
func Example() {
	provider, spans := newProvider()
	app := web.New(web.Config{})
	app.Use(tracing.Tracing{Provider: provider}, middleware.Recover{})
	app.Get("/users/{id}", func(c *web.Ctx) error { return c.SendString("ada") })

	request := httptest.NewRequest("GET", "/users/7?token=secret", nil)
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := app.Test(request); err != nil {
		fmt.Println(err)
		return
	}
	for len(spans.GetSpans()) == 0 { // the span ends after the response
		time.Sleep(time.Millisecond)
	}
	span := spans.GetSpans()[0]
	fmt.Println(span.Name, span.SpanContext.TraceID())
	for _, a := range span.Attributes {
		if a.Key == "url.path" || a.Key == "http.response.status_code" {
			fmt.Println(a.Key, a.Value.String())
		}
	}
	// Output:
	// GET /users/{id} 0af7651916cd43dd8448eb211c80319c
	// url.path /users/7
	// http.response.status_code 200
}

// Calls of a client get spans, and the server of the call can continue the trace.
func ExampleClient_Transport() {
	server := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.WriteString(fmt.Sprint(len(ctx.Request.Header.Peek("Traceparent")), " bytes of traceparent"))
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(ln)
	defer server.Close()

	provider, spans := newProvider()
	client := tracing.Calls(&gallop.Client{Transport: tracing.Client{Provider: provider}.Transport()})
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI("http://" + ln.Addr().String() + "/users/7")
	ctx := tracing.WithTemplate(context.Background(), "/users/{id}")
	if err := client.DoContext(ctx, req, resp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(resp.Body()))
	fmt.Println(spans.GetSpans()[0].Name)
	// Output:
	// 55 bytes of traceparent
	// GET /users/{id}
}

// The settings of the gallop.Client are those that rest.New would choose.
func ExampleRestHook() {
	client := &gallop.Client{
		Transport:                tracing.Client{}.Transport(),
		NoDefaultUserAgentHeader: true, DialDualStack: true, MaxConnWaitTimeout: -1, MaxResponseHeaderBytes: 256 << 10, DetailedErrors: true,
	}
	api, err := rest.New("https://api.example.com/v1/", rest.WithClient(client), rest.WithRequestHook(tracing.RestHook))
	if err != nil {
		fmt.Println(err)
		return
	}
	type user struct{ Name string }
	get := func(c *web.Ctx) (user, error) {
		return rest.Get[user](c, api, "users/{id}", rest.SetPathValue("id", c.Params("id"))) // a span "GET users/{id}"
	}
	fmt.Println(get != nil)
	// Output: true
}

// Records that are logged with the Ctx have the IDs of the trace and the span.
func ExampleNewLogHandler() {
	provider, _ := newProvider()
	log := slog.New(tracing.NewLogHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "span_id" { // these change
			return slog.Attr{}
		}
		return a
	}})))
	app := web.New(web.Config{})
	app.Use(middleware.Logger{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Attrs: tracing.LogAttrs}, tracing.Tracing{Provider: provider})
	app.Get("/", func(c *web.Ctx) error {
		log.InfoContext(c, "paid")
		return nil
	})
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := app.Test(request); err != nil {
		fmt.Println(err)
	}
	// Output: level=INFO msg=paid trace_id=0af7651916cd43dd8448eb211c80319c
}

package tracing

import (
	"context"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// requestOf returns a function that serves one request.
func requestOf(middleware web.Middleware, header string) func() {
	app := web.New(web.Config{})
	if middleware != nil {
		app.Use(middleware)
	}
	app.Get("/users/{id}", func(c *web.Ctx) error { return c.SendString("ok") })
	serve := app.Handler()
	ctx := new(gallop.RequestCtx)
	ctx.Request.SetRequestURI("http://example.com/users/7")
	if header != "" {
		ctx.Request.Header.Set("Traceparent", header)
	}
	return func() {
		ctx.Response.Reset()
		serve(ctx)
		ctx.ResetUserValues() // closes the span, as the server does
	}
}

// discard drops spans.
type discard struct{ sdk.SpanExporter }

func (discard) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                        { return nil }

func providerOf(sampler sdk.Sampler) trace.TracerProvider {
	return sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sampler)), sdk.WithSyncer(discard{}))
}

var unsampledParent = parent[:53] + "00"

func BenchmarkServer(b *testing.B) {
	for _, bench := range []struct {
		name       string
		middleware web.Middleware
		header     string
	}{
		{"without", nil, ""},
		{"unsampled", Tracing{Provider: providerOf(sdk.NeverSample())}, ""},
		{"unsampled parent", Tracing{Provider: providerOf(sdk.AlwaysSample())}, unsampledParent},
		{"sampled", Tracing{Provider: providerOf(sdk.AlwaysSample())}, ""},
		{"sampled parent", Tracing{Provider: providerOf(sdk.NeverSample())}, parent},
	} {
		b.Run(bench.name, func(b *testing.B) {
			serve := requestOf(bench.middleware, bench.header)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

// BenchmarkStart is the share of the SDK: it starts and ends a span with the same attributes, without the middleware.
func BenchmarkStart(b *testing.B) {
	for name, sampler := range map[string]sdk.Sampler{"unsampled": sdk.NeverSample(), "sampled": sdk.AlwaysSample()} {
		b.Run(name, func(b *testing.B) {
			tracer := tracerOf(providerOf(sampler))
			options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer),
				trace.WithAttributes(methodAttrs[0], keyScheme.String("http"), keyPath.String("/users/7"), keyRoute.String("/users/{id}"))}
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.Start(b.Context(), "GET /users/{id}", options...)
				span.End()
			}
		})
	}
}

// nowhere responds to each request without a network.
type nowhere struct{}

func (nowhere) RoundTrip(_ *gallop.HostClient, _ *gallop.Request, resp *gallop.Response) (bool, error) {
	resp.SetStatusCode(200)
	return false, nil
}

func BenchmarkClient(b *testing.B) {
	for _, bench := range []struct {
		name      string
		transport gallop.RoundTripper
	}{
		{"without", nowhere{}},
		{"unsampled", Client{Provider: providerOf(sdk.NeverSample()), Next: nowhere{}}.Transport()},
		{"sampled", Client{Provider: providerOf(sdk.AlwaysSample()), Next: nowhere{}}.Transport()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			client := &gallop.HostClient{Addr: "example.com:80", Transport: bench.transport}
			req, resp := new(gallop.Request), new(gallop.Response)
			req.SetRequestURI("http://example.com/users/7")
			b.ReportAllocs()
			for b.Loop() {
				if err := client.DoContext(b.Context(), req, resp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A request that is not sampled costs few allocations, of which the SDK makes most.
func TestUnsampledAllocations(t *testing.T) {
	without := testing.AllocsPerRun(100, requestOf(nil, ""))
	for name, header := range map[string]string{"new trace": "", "unsampled parent": unsampledParent} {
		with := testing.AllocsPerRun(100, requestOf(Tracing{Provider: providerOf(sdk.NeverSample())}, header))
		t.Logf("%s: %v allocations", name, with-without)
		if most := map[string]float64{"new trace": 7, "unsampled parent": 10}[name]; with-without > most {
			t.Errorf("%s: %v allocations, want at most %v", name, with-without, most)
		}
	}
}

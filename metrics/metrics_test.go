package metrics

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// ask sends a request and returns the status and the body.
func ask(t *testing.T, app *web.App, method, target string) (int, string) {
	t.Helper()
	response, err := app.Test(httptest.NewRequest(method, target, nil))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// counts returns the number of observations of each series of a metric.
func counts(t *testing.T, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	result := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			result[labels(m)] = value(m)
		}
	}
	return result
}

func labels(m *dto.Metric) string {
	var values []string // in the order of their names: method, status, route
	for _, l := range m.Label {
		values = append(values, l.GetValue())
	}
	return strings.Join(values, " ")
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return m.Counter.GetValue()
}

// eventually waits until a check succeeds, because metrics are counted after the response.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for range 500 {
		if err = check(); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(err)
}

func newApp(m Metrics) *web.App {
	app := web.New(web.Config{Server: &gallop.Server{Logger: silent{}}})
	app.Use(m, middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}})
	app.Get("/users/{id}", func(c *web.Ctx) error { return c.SendString("user") })
	app.All("/any", func(c *web.Ctx) error { return c.SendString("any") })
	app.Get("/error", func(*web.Ctx) error { return errors.New("failed") })
	app.Get("/panic", func(*web.Ctx) error { panic("failed") })
	app.Get("/stream", func(c *web.Ctx) error { return c.SendStream(strings.NewReader("streamed")) })
	app.Get("/metrics", Handler(m.Registerer.(prometheus.Gatherer)))
	return app
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	app := newApp(Metrics{Registerer: registry})
	for range 3 {
		ask(t, app, "GET", "/users/7")
	}
	ask(t, app, "GET", "/users/8?q=secret")
	ask(t, app, "GET", "/error")
	ask(t, app, "GET", "/panic")
	ask(t, app, "GET", "/stream")
	ask(t, app, "GET", "/missing/secret")
	ask(t, app, "BREW", "/any")
	want := map[string]float64{
		"GET 200 /users/{id}": 4, "GET 500 /error": 1, "GET 500 /panic": 1, "GET 200 /stream": 1, "GET 404 ": 1, "_OTHER 200 /any": 1,
	}
	eventually(t, func() error {
		got := counts(t, registry, "http_server_request_duration_seconds")
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("durations: %v, want %v", got, want)
		}
		return nil
	})
	sizes := counts(t, registry, "http_server_response_body_size_bytes")
	if sizes["GET 200 /users/{id}"] != 4 || sizes["GET 200 /stream"] != 0 {
		t.Errorf("sizes: %v", sizes)
	}
	if got := counts(t, registry, "http_server_active_requests"); got["GET"] != 0 {
		t.Errorf("active: %v", got)
	}
	status, page := ask(t, app, "GET", "/metrics")
	if status != 200 || !strings.Contains(page, `http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/users/{id}"} 4`) {
		t.Errorf("%d %s", status, page)
	}
	if strings.Contains(page, "secret") {
		t.Error("the page shows what a client has sent")
	}
}

// Clients cannot create time series.
func TestMetricsStayFew(t *testing.T) {
	registry := prometheus.NewRegistry()
	app := newApp(Metrics{Registerer: registry})
	for i := range 2000 {
		ask(t, app, "GET", fmt.Sprintf("/random/%d", i))
		ask(t, app, fmt.Sprintf("METHOD%d", i), "/any")
		ask(t, app, "GET", fmt.Sprintf("/users/%d", i))
	}
	if n := len(counts(t, registry, "http_server_request_duration_seconds")); n > 4 {
		t.Errorf("%d time series, want at most 4", n)
	}
}

func TestMetricsActive(t *testing.T) {
	registry := prometheus.NewRegistry()
	app := web.New(web.Config{})
	app.Use(Metrics{Registerer: registry, Buckets: []float64{1}, Skip: func(c *web.Ctx) bool { return c.Path() == "/health" }})
	begun, end := make(chan bool), make(chan bool)
	app.Get("/slow", func(c *web.Ctx) error { begun <- true; <-end; return c.SendString("ok") })
	app.Get("/health", func(c *web.Ctx) error { return c.SendString("ok") })
	done := make(chan bool)
	go func() { ask(t, app, "GET", "/slow"); done <- true }()
	<-begun
	ask(t, app, "GET", "/health")
	if got := counts(t, registry, "http_server_active_requests"); got["GET"] != 1 {
		t.Errorf("active: %v, want 1", got)
	}
	close(end)
	<-done
	eventually(t, func() error {
		if got := counts(t, registry, "http_server_request_duration_seconds"); len(got) != 1 || got["GET 200 /slow"] != 1 {
			return fmt.Errorf("durations: %v", got)
		}
		return nil
	})
	app.Group("/again", Metrics{Registerer: registry}) // shares the metrics
	defer func() {
		if recover() == nil {
			t.Error("no panic for another metric of the same name")
		}
	}()
	other := prometheus.NewRegistry()
	other.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "http_server_request_duration_seconds", Help: "other"}))
	Metrics{Registerer: other}.Handler()
}

func TestServerCollector(t *testing.T) {
	server := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("ok") }}
	ln := memnet.NewListener()
	go server.Serve(ln)
	defer server.Close()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewServerCollector(server))
	client := http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	for range 5 {
		response, err := client.Get("http://example.com/")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	eventually(t, func() error {
		for name, want := range map[string]float64{"gallop_requests_total": 5, "gallop_connections": 1, "gallop_connections_idle": 1, "gallop_requests_running": 0, "gallop_handlers_moved_total": 0, "gallop_connections_accepted_total": 1} {
			if got := counts(t, registry, name)[""]; got != want {
				return fmt.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		return nil
	})
}

// The gauge of running requests counts a handler while it runs.
func TestServerCollectorRunning(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	server := &gallop.Server{Handler: func(*gallop.RequestCtx) { begun <- true; <-end }}
	ln := memnet.NewListener()
	go server.Serve(ln)
	defer server.Close()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewServerCollector(server))
	client := http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	go client.Get("http://example.com/")
	<-begun
	if got := counts(t, registry, "gallop_requests_running")[""]; got != 1 {
		t.Errorf("%v requests are running, want 1", got)
	}
	close(end)
}

func BenchmarkMetrics(b *testing.B) {
	app := newApp(Metrics{Registerer: prometheus.NewRegistry()})
	serve := app.Handler()
	ctx := new(gallop.RequestCtx)
	ctx.Request.SetRequestURI("http://example.com/users/7")
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		serve(ctx)
		ctx.ResetUserValues()
	}
}

func Example() {
	server := &gallop.Server{}
	app := web.New(web.Config{Server: server})
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewServerCollector(server))
	app.Use(Metrics{Registerer: registry})
	app.Get("/hello", func(c *web.Ctx) error { return c.SendString("hello") })
	app.Get("/metrics", middleware.AllowIP{}.Handler(), Handler(registry))
	app.Listen(":8080")
}

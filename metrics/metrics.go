// Package metrics exports metrics of requests and connections to Prometheus. The names follow the conventions of OpenTelemetry for HTTP
// servers.
//
//	app.Use(metrics.Metrics{})
//	prometheus.MustRegister(metrics.NewServerCollector(server))
//	admin.Get("/metrics", metrics.Handler(nil))
//
// Metrics of requests:
//
//	http_server_request_duration_seconds     histogram; from the first handler to the end of the response
//	http_server_active_requests              gauge
//	http_server_response_body_size_bytes     histogram; not of streams
//
// The labels are http_request_method, http_route and http_response_status_code. The route is the pattern of the route, such as
// "/users/{id}", and never the path that a client has sent. Methods that HTTP does not define count as "_OTHER". Clients therefore
// cannot create new time series.
//
// Source files:
//
//	metrics.go   the middleware and the page
//	server.go    the collector for connections
package metrics

import (
	"io"
	"strconv"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is middleware that measures each request. Register Metrics first, so that it measures the other middleware too. Requests that
// the server refuses count as well.
//
// The zero value registers its metrics with prometheus.DefaultRegisterer.
type Metrics struct {
	// Registerer is where Handler registers the metrics. Two Metrics with the same Registerer share their metrics. The default is
	// prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// Buckets are the upper bounds of the buckets for durations, in seconds. The default is OpenTelemetry's, from 5 ms to 10 s. Each
	// bucket costs a time series for every combination of method, route and status.
	Buckets []float64

	// Skip reports whether to leave out a request, for example a health check. It is called before the handlers. Skip may be called
	// concurrently.
	Skip func(c *web.Ctx) bool
}

// Bounds that OpenTelemetry suggests for durations, and sizes of bodies in steps of a factor of 10.
var (
	durationBuckets = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	sizeBuckets     = []float64{100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}
)

// Handler registers the metrics and returns the middleware. Handler panics if other metrics with the same names are registered.
func (m Metrics) Handler() web.Handler {
	if m.Registerer == nil {
		m.Registerer = prometheus.DefaultRegisterer
	}
	if len(m.Buckets) == 0 {
		m.Buckets = durationBuckets
	}
	labels := []string{"http_request_method", "http_route", "http_response_status_code"}
	s := &series{
		duration: register(m.Registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_server_request_duration_seconds", Help: "Duration of HTTP server requests.", Buckets: m.Buckets,
		}, labels)),
		size: register(m.Registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_server_response_body_size_bytes", Help: "Size of HTTP server response bodies.", Buckets: sizeBuckets,
		}, labels)),
		active: register(m.Registerer, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "http_server_active_requests", Help: "Number of active HTTP server requests.",
		}, labels[:1])),
	}
	return func(c *web.Ctx) error {
		if m.Skip != nil && m.Skip(c) {
			return c.Next()
		}
		r := s.begin(c)
		err := c.Next()
		r.failed = false
		r.streamed = err == nil && (c.RequestCtx().Response.IsBodyStream() || c.RequestCtx().Streaming())
		return err
	}
}

// register registers a metric, or returns the registered one.
func register[T prometheus.Collector](r prometheus.Registerer, metric T) T {
	err := r.Register(metric)
	if again, ok := err.(prometheus.AlreadyRegisteredError); ok {
		if existing, ok := again.ExistingCollector.(T); ok {
			return existing
		}
	}
	if err != nil {
		panic("metrics: " + err.Error())
	}
	return metric
}

// series is the metrics of requests.
type series struct {
	duration, size *prometheus.HistogramVec
	active         *prometheus.GaugeVec
}

// request is a request in progress. It is stored as a local, which the server closes when the response has been sent.
type request struct {
	*series
	ctx           *gallop.RequestCtx
	begun         time.Time
	method, route string
	failed        bool // the handler has not returned
	streamed      bool // so that the size of the body is not known
}

var _ io.Closer = (*request)(nil)

// begin counts a request that begins.
func (s *series) begin(c *web.Ctx) *request {
	r := &request{series: s, ctx: c.RequestCtx(), begun: time.Now(), method: method(c.Method()), failed: true}
	if route := c.Route(); route != nil {
		r.route = route.Pattern()
	}
	s.active.WithLabelValues(r.method).Inc()
	c.SetLocal(r, r)
	return r
}

// Close counts a request that has ended.
func (r *request) Close() error {
	r.active.WithLabelValues(r.method).Dec()
	status := r.ctx.Response.StatusCode()
	if r.failed && status < 500 {
		status = gallop.StatusInternalServerError
	}
	code := strconv.Itoa(status)
	r.duration.WithLabelValues(r.method, r.route, code).Observe(time.Since(r.begun).Seconds())
	if !r.streamed && !r.ctx.Response.IsBodyStream() {
		r.size.WithLabelValues(r.method, r.route, code).Observe(float64(len(r.ctx.Response.Body())))
	}
	return nil
}

// method returns the label for a method.
func method(name string) string {
	switch name {
	case gallop.MethodGet, gallop.MethodHead, gallop.MethodPost, gallop.MethodPut, gallop.MethodPatch, gallop.MethodDelete,
		gallop.MethodConnect, gallop.MethodOptions, gallop.MethodTrace, "QUERY":
		return name
	}
	return "_OTHER"
}

// Handler returns a handler for the page that Prometheus reads. The argument gatherer is the source of the metrics, and nil means
// prometheus.DefaultGatherer. The page is not meant for the public: see middleware.AllowIP.
func Handler(gatherer prometheus.Gatherer) web.Handler {
	if gatherer == nil {
		gatherer = prometheus.DefaultGatherer
	}
	return web.FromHTTP(promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
}

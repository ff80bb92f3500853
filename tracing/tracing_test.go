package tracing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// quiet returns a server for all versions of HTTP that logs nothing.
func quiet() *gallop.Server {
	protocols := new(gallop.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &gallop.Server{Logger: silent{}, Protocols: protocols, MaxRequestBodySize: 1000}
}

// recorder keeps the spans that have ended.
type recorder struct {
	*tracetest.InMemoryExporter
	provider *sdk.TracerProvider
}

func newRecorder(options ...sdk.TracerProviderOption) *recorder {
	r := &recorder{InMemoryExporter: tracetest.NewInMemoryExporter()}
	r.provider = sdk.NewTracerProvider(append(options, sdk.WithSyncer(r))...)
	return r
}

// only returns the only span that has ended, and forgets it. Spans end after the client has the response.
func (r *recorder) only(t testing.TB) tracetest.SpanStub {
	t.Helper()
	spans := r.wait(t, 1)
	if len(spans) != 1 {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	return spans[0]
}

// wait waits for n spans, and forgets them.
func (r *recorder) wait(t testing.TB, n int) tracetest.SpanStubs {
	t.Helper()
	for begun := time.Now(); len(r.GetSpans()) < n && time.Since(begun) < 5*time.Second; {
		time.Sleep(time.Millisecond)
	}
	spans := r.GetSpans()
	if r.Reset(); len(spans) < n {
		t.Fatalf("%d spans, want %d", len(spans), n)
	}
	return spans
}

// attr returns the value of an attribute as text, or "" if it is missing.
func attr(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func check(t testing.TB, s tracetest.SpanStub, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := attr(s, key); got != value {
			t.Errorf("%s: %s is %q, want %q", s.Name, key, got, value)
		}
	}
}

// routed is an app with handlers of all kinds.
func routed(t *Tracing, config web.Config, before ...web.Middleware) *web.App {
	config.Server = quiet()
	app := web.New(config)
	app.Use(append(before, t)...)
	app.Get("/users/{id}", func(c *web.Ctx) error { return c.SendString(trace.SpanFromContext(c).SpanContext().TraceID().String()) })
	app.Get("/fails", func(c *web.Ctx) error { return errors.New("no database") })
	app.Get("/missing", func(c *web.Ctx) error { return web.ErrNotFound })
	app.Get("/panics", func(c *web.Ctx) error { panic("secret") })
	app.Get("/slow", func(c *web.Ctx) error { return context.DeadlineExceeded })
	app.Get("/aborts", func(c *web.Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			w.WriteString("some")
			w.Flush()
			return errors.New("secret")
		})
	})
	app.Get("/panics-late", func(c *web.Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			w.WriteString("some")
			w.Flush()
			panic(gallop.ErrAbortHandler)
		})
	})
	app.Post("/upload", func(c *web.Ctx) error { return c.SendString("ok") })
	app.Add("BREW", "/pot", func(c *web.Ctx) error { return c.SendString("tea") })
	return app
}

// served is an app on real sockets, with a client for each version of HTTP.
type served struct {
	addr    string
	clients map[string]*http.Client
}

func serve(t testing.TB, app *web.App) *served {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(plain)
	t.Cleanup(func() { app.Close() })
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	return &served{addr: plain.Addr().String(), clients: map[string]*http.Client{
		"1.1": {Transport: &http.Transport{}}, "2": {Transport: &http.Transport{Protocols: &h2}},
	}}
}

func (s *served) do(t testing.TB, version, method, target string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.addr+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := s.clients[version].Do(r)
	if err != nil {
		return nil, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response, string(body)
}

// The same requests get the same spans over HTTP/1 and HTTP/2.
func TestServerSpans(t *testing.T) {
	r := newRecorder()
	s := serve(t, routed(&Tracing{Provider: r.provider}, web.Config{}))
	_, port, _ := net.SplitHostPort(s.addr)
	for _, version := range []string{"1.1", "2"} {
		for _, tc := range []struct {
			method, target, name, route, status, errorType string
			code                                           codes.Code
		}{
			{"GET", "/users/7?token=secret", "GET /users/{id}", "/users/{id}", "200", "", codes.Unset},
			{"HEAD", "/users/7", "HEAD /users/{id}", "/users/{id}", "200", "", codes.Unset},
			{"GET", "/nowhere/7", "GET", "", "404", "", codes.Unset},
			{"DELETE", "/users/7", "DELETE", "", "405", "", codes.Unset},
			{"GET", "/missing", "GET /missing", "/missing", "404", "", codes.Unset},
			{"GET", "/fails", "GET /fails", "/fails", "500", "500", codes.Error},
			{"GET", "/slow", "GET /slow", "/slow", "500", "timeout", codes.Error},
			{"BREW", "/pot", "HTTP /pot", "/pot", "200", "", codes.Unset},
		} {
			s.do(t, version, tc.method, tc.target)
			span := r.only(t)
			if span.Name != tc.name || span.SpanKind != trace.SpanKindServer || span.Status.Code != tc.code || span.Status.Description != "" || span.Parent.IsValid() {
				t.Errorf("%s %s: %q %v %v", tc.method, tc.target, span.Name, span.SpanKind, span.Status)
			}
			method, original := tc.method, ""
			if method == "BREW" {
				method, original = "_OTHER", "BREW"
			}
			path, _, _ := strings.Cut(tc.target, "?")
			check(t, span, map[string]string{
				"http.request.method": method, "http.request.method_original": original, "http.route": tc.route, "http.response.status_code": tc.status,
				"error.type": tc.errorType, "url.scheme": "http", "url.path": path, "url.query": "", "server.address": "127.0.0.1", "server.port": port,
				"network.protocol.version": version, "client.address": "", "user_agent.original": "",
			})
			if text := fmt.Sprint(span); strings.Contains(text, "secret") || strings.Contains(text, "database") {
				t.Errorf("the span has a secret: %s", text)
			}
		}
	}
}

// Panics and aborted streams are errors, with and without Recover.
func TestServerFailures(t *testing.T) {
	for name, before := range map[string]bool{"without Recover": false, "with Recover": true} {
		r := newRecorder()
		tracing := &Tracing{Provider: r.provider}
		app := routed(tracing, web.Config{})
		if before {
			app = web.New(web.Config{Server: quiet()})
			app.Use(tracing, middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}})
			app.Get("/panics", func(c *web.Ctx) error { panic("secret") })
		}
		s := serve(t, app)
		for _, version := range []string{"1.1", "2"} {
			s.do(t, version, "GET", "/panics")
			span := r.only(t)
			check(t, span, map[string]string{"http.response.status_code": "500", "error.type": "panic"})
			if span.Status.Code != codes.Error || len(span.Events) > 0 {
				t.Errorf("%s, %s: %v %v", name, version, span.Status, span.Events)
			}
			if before {
				continue
			}
			for target, want := range map[string]string{"/aborts": "_OTHER", "/panics-late": "panic"} {
				s.do(t, version, "GET", target)
				span := r.only(t)
				check(t, span, map[string]string{"http.response.status_code": "200", "error.type": want})
				if span.Status.Code != codes.Error || strings.Contains(fmt.Sprint(span), "secret") {
					t.Errorf("%s, %s %s: %v", name, version, target, span.Status)
				}
			}
		}
	}
}

// slowBody is a response body that takes a while after the handler has returned.
type slowBody struct{ left int }

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	time.Sleep(20 * time.Millisecond)
	return copy(p, "x"), nil
}

// A span ends with the last byte of a stream. A client that goes away is an event, not an error.
func TestStreams(t *testing.T) {
	r := newRecorder()
	app := web.New(web.Config{Server: quiet()})
	app.Use(Tracing{Provider: r.provider})
	app.Get("/stream", func(c *web.Ctx) error { return c.SendStream(&slowBody{left: 5}) })
	left := make(chan struct{}, 1)
	app.Get("/events", func(c *web.Ctx) error {
		return c.SSE(func(s *web.EventStream) error {
			s.Send(web.Event{Data: "first"})
			<-c.Done()
			left <- struct{}{}
			return nil
		})
	})
	s := serve(t, app)
	for _, version := range []string{"1.1", "2"} {
		if _, body := s.do(t, version, "GET", "/stream"); body != "xxxxx" {
			t.Fatalf("%q", body)
		}
		if span := r.only(t); span.EndTime.Sub(span.StartTime) < 100*time.Millisecond {
			t.Errorf("%s: the span of a stream took %v", version, span.EndTime.Sub(span.StartTime))
		}
		ctx, cancel := context.WithCancel(context.Background())
		request, _ := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+"/events", nil)
		response, err := s.clients[version].Do(request)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(response.Body, make([]byte, 5))
		cancel()
		response.Body.Close()
		select {
		case <-left:
		case <-time.After(5 * time.Second):
			t.Fatal("the handler does not notice that the client has left")
		}
		span := r.only(t)
		if span.Status.Code != codes.Unset || len(span.Events) != 1 || span.Events[0].Name != "canceled" {
			t.Errorf("%s: %v, events %v", version, span.Status, span.Events)
		}
	}
}

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
	parent      = "00-" + parentTrace + "-" + parentSpan + "-01"
)

// A valid traceparent continues a trace.
func TestParent(t *testing.T) {
	r := newRecorder()
	s := serve(t, routed(&Tracing{Provider: r.provider}, web.Config{}))
	for _, version := range []string{"1.1", "2"} {
		for _, header := range []string{parent, "01-" + parentTrace + "-" + parentSpan + "-01-more"} {
			_, body := s.do(t, version, "GET", "/users/7", "Traceparent", header, "Tracestate", "a=1", "Tracestate", "b=2")
			span := r.only(t)
			if span.Parent.SpanID().String() != parentSpan || !span.Parent.IsRemote() || span.SpanContext.TraceID().String() != parentTrace ||
				span.SpanContext.TraceState().String() != "a=1,b=2" || body != parentTrace {
				t.Errorf("%s %s: parent %v, body %s", version, header, span.Parent, body)
			}
		}
	}
}

// Each of these headers starts a new trace, without a link and without the tracestate.
func TestMaliciousParents(t *testing.T) {
	r := newRecorder()
	s := serve(t, routed(&Tracing{Provider: r.provider}, web.Config{}))
	zeros := strings.Repeat("0", 32)
	for name, lines := range map[string][]string{
		"empty":           {""},
		"garbage":         {"garbage"},
		"version ff":      {"ff" + parent[2:]},
		"upper case":      {strings.ToUpper(parent)},
		"zero trace":      {"00-" + zeros + "-" + parentSpan + "-01"},
		"zero span":       {"00-" + parentTrace + "-" + zeros[:16] + "-01"},
		"short":           {parent[:54]},
		"long version 00": {parent + "-more"},
		"no dashes":       {strings.ReplaceAll(parent, "-", "_")},
		"not hex":         {strings.Replace(parent, "0af7", "0ag7", 1)},
		"two lines":       {parent, parent},
		"two extensible":  {"01" + parent[2:] + "-more", "01" + parent[2:]},
		"a list":          {parent + "," + parent},
		"huge":            {strings.Repeat("0", 2000)},
		"invalid UTF-8":   {parent[:53] + "\xff\xfe"},
	} {
		header := []string{"Tracestate", "a=1"}
		for _, line := range lines {
			header = append(header, "Traceparent", line)
		}
		s.do(t, "1.1", "GET", "/users/7", header...)
		if span := r.only(t); span.Parent.IsValid() || len(span.Links) > 0 || span.SpanContext.TraceID().String() == parentTrace || span.SpanContext.TraceState().Len() > 0 {
			t.Errorf("%s: parent %v, links %v", name, span.Parent, span.Links)
		}
	}
	for name, state := range map[string]string{
		"many members": strings.Repeat("a=1,", 40), "no key": "=1", "control characters": "a=\x01", "long": "a=" + strings.Repeat("x", 600), "twice": "a=1,a=2",
	} {
		s.do(t, "1.1", "GET", "/users/7", "Traceparent", parent, "Tracestate", state)
		spans := r.GetSpans()
		r.Reset()
		if len(spans) == 1 && (spans[0].SpanContext.TraceState().Len() > 0 || spans[0].SpanContext.TraceID().String() != parentTrace) {
			t.Errorf("tracestate, %s: %v", name, spans[0].SpanContext)
		}
	}
}

// With TrustedOnly, a client without trust cannot choose the trace or the sampling.
func TestTrustedOnly(t *testing.T) {
	r := newRecorder(sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())))
	for name, proxies := range map[string][]netip.Prefix{"stranger": nil, "proxy": web.PrivateNetworks()} {
		s := serve(t, routed(&Tracing{Provider: r.provider, TrustedOnly: true}, web.Config{TrustedProxies: proxies}))
		s.do(t, "1.1", "GET", "/users/7", "Traceparent", parent)
		span, trusted := r.only(t), name == "proxy"
		if (span.SpanContext.TraceID().String() == parentTrace) != trusted || (len(span.Links) == 1) == trusted {
			t.Errorf("%s: %v, links %v", name, span.SpanContext, span.Links)
		}
		if !trusted && span.Links[0].SpanContext.SpanID().String() != parentSpan {
			t.Errorf("link: %v", span.Links)
		}
	}
	// an unsampled parent stops the recording only if it is trusted
	s := serve(t, routed(&Tracing{Provider: r.provider, TrustedOnly: true}, web.Config{}))
	s.do(t, "1.1", "GET", "/users/7", "Traceparent", parent[:53]+"00")
	r.only(t)
	s = serve(t, routed(&Tracing{Provider: r.provider}, web.Config{}))
	s.do(t, "1.1", "GET", "/users/7", "Traceparent", parent[:53]+"00")
	time.Sleep(20 * time.Millisecond)
	if n := len(r.GetSpans()); n != 0 {
		t.Errorf("%d spans of an unsampled trace", n)
	}
}

func TestSettings(t *testing.T) {
	r := newRecorder()
	s := serve(t, routed(&Tracing{
		Provider: r.provider, Query: []string{"page"}, RequestHeaders: []string{"X-Kind"}, ResponseHeaders: []string{"Content-Type"}, ClientDetails: true,
		Attrs: func(c *web.Ctx) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("url.path", "/users/*")}
		},
		Skip: func(c *web.Ctx) bool { return c.Path() == "/missing" },
	}, web.Config{}))
	s.do(t, "1.1", "GET", "/missing")
	s.do(t, "1.1", "GET", "/users/7?page=2&sig=secret&lonely&=x&PAGE=3", "X-Kind", "a", "X-Kind", strings.Repeat("b", 1000), "User-Agent", "test")
	span := r.only(t)
	check(t, span, map[string]string{
		"url.query": "page=2&sig=REDACTED&REDACTED&=REDACTED&PAGE=REDACTED", "url.path": "/users/*", "client.address": "127.0.0.1", "user_agent.original": "test",
		"http.request.header.x-kind": `["a","` + strings.Repeat("b", 256) + `"]`, "http.response.header.content-type": `["text/plain; charset=utf-8"]`,
	})
	for _, name := range []string{"authorization", "Cookie", "SET-COOKIE", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the header %q can be captured", name)
				}
			}()
			Tracing{RequestHeaders: []string{name}}.Handler()
		}()
	}
}

// A Tracing of a group adds no second span, and refused requests have one.
func TestNestedAndRefused(t *testing.T) {
	r := newRecorder()
	tracing := Tracing{Provider: r.provider}
	app := web.New(web.Config{Server: quiet()})
	app.Use(tracing)
	app.Group("/in", tracing).Post("/side", func(c *web.Ctx) error {
		return c.Send(c.Body())
	})
	s := serve(t, app)
	s.do(t, "1.1", "POST", "/in/side")
	if span := r.only(t); span.Name != "POST /in/side" || span.Parent.IsValid() {
		t.Errorf("%s, parent %v", span.Name, span.Parent)
	}
	response, err := s.clients["1.1"].Post("http://"+s.addr+"/in/side", "text/plain", strings.NewReader(strings.Repeat("x", 2000)))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	check(t, r.only(t), map[string]string{"http.response.status_code": "413"})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /in/side HTTP/1.1\r\n\r\n") // no Host
	io.Copy(io.Discard, conn)
	check(t, r.only(t), map[string]string{"http.response.status_code": "400", "error.type": ""})
}

// Logs have the ID of the trace.
func TestLogs(t *testing.T) {
	r := newRecorder(sdk.WithSampler(sdk.NeverSample()))
	var mu sync.Mutex
	var out bytes.Buffer
	log := slog.New(NewLogHandler(slog.NewTextHandler(&locked{w: &out, mu: &mu}, nil)))
	app := web.New(web.Config{})
	app.Use(middleware.Logger{Log: slog.New(slog.NewTextHandler(&locked{w: &out, mu: &mu}, nil)), Attrs: LogAttrs}, Tracing{Provider: r.provider, AsRequestID: true})
	app.Get("/", func(c *web.Ctx) error {
		log.With("a", 1).InfoContext(c, "inside")
		log.Info("outside")
		return c.SendString(c.RequestID())
	})
	s := serve(t, app)
	if _, body := s.do(t, "1.1", "GET", "/", "Traceparent", parent); body != parentTrace {
		t.Errorf("ID of the request: %q", body)
	}
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(time.Millisecond) {
		mu.Lock()
		text := out.String()
		mu.Unlock()
		if strings.Count(text, "\n") < 3 {
			continue
		}
		if strings.Count(text, "trace_id="+parentTrace) != 2 || strings.Count(text, "span_id=") != 2 || !strings.Contains(text, "id="+parentTrace) {
			t.Errorf("log:\n%s", text)
		}
		return
	}
	t.Error("the log is incomplete")
}

type locked struct {
	w  io.Writer
	mu *sync.Mutex
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestRequestIDIsKept(t *testing.T) {
	app := web.New(web.Config{})
	app.Use(middleware.RequestID{}, Tracing{Provider: newRecorder().provider, AsRequestID: true})
	app.Get("/", func(c *web.Ctx) error { return c.SendString(c.RequestID()) })
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("X-Request-Id", "mine")
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); string(body) != "mine" {
		t.Errorf("%s", body)
	}
}

// noting is a sampler that keeps the attributes that it sees.
type noting struct {
	sdk.Sampler
	seen []attribute.KeyValue
}

func (n *noting) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	n.seen = append(n.seen, p.Attributes...)
	return n.Sampler.ShouldSample(p)
}

// A sampler sees the attributes that the documentation promises. They do not change afterwards, although their memory is used again.
func TestSampler(t *testing.T) {
	n := &noting{Sampler: sdk.NeverSample()}
	s := serve(t, routed(&Tracing{Provider: newRecorder(sdk.WithSampler(n)).provider}, web.Config{}))
	for _, id := range []string{"7", "8"} {
		s.do(t, "1.1", "GET", "/users/"+id)
	}
	var text []string
	for _, a := range n.seen {
		text = append(text, string(a.Key)+"="+a.Value.String())
	}
	const rest = "http.request.method=GET url.scheme=http url.path=/users/ID http.route=/users/{id}"
	want := strings.Replace(rest, "ID", "7", 1) + " " + strings.Replace(rest, "ID", "8", 1)
	if got := strings.Join(text, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

package tracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/web"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// echo is a server that responds with the traceparent of the request. It can redirect, fail and hang up.
func echo(t *testing.T) (plain, secure *httptest.Server) {
	var fails atomic.Int32
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, "/users/7", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		case "/unstable":
			if fails.Add(1)%3 != 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		case "/hangs-up":
			panic(http.ErrAbortHandler)
		case "/slow":
			time.Sleep(time.Second)
		}
		w.Header().Set("X-Kind", "echo")
		io.WriteString(w, r.Header.Get("Traceparent")+" "+r.Header.Get("Tracestate")+" "+r.Header.Get("Baggage"))
	})
	plain, secure = httptest.NewServer(h), httptest.NewUnstartedServer(h)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	plain.Config.ErrorLog, secure.Config.ErrorLog = nil, nil
	return plain, secure
}

func get(ctx context.Context, client gallop.Doer, url string) (string, error) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI(url)
	err := client.DoContext(ctx, req, resp)
	return string(resp.Body()), err
}

func parentOf(s trace.SpanContext) string {
	return "00-" + s.TraceID().String() + "-" + s.SpanID().String() + "-" + s.TraceFlags().String()
}

// A call of a client has a span and sends the trace, over HTTP/1 and HTTP/2.
func TestClientSpans(t *testing.T) {
	r := newRecorder()
	plain, secure := echo(t)
	client := &gallop.Client{Transport: Client{Provider: r.provider}.Transport(), TLSConfig: &tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}
	for version, server := range map[string]*httptest.Server{"1.1": plain, "2": secure} {
		host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		for path, want := range map[string]struct {
			status, errorType string
			code              codes.Code
		}{"/users/7": {"200", "", codes.Unset}, "/missing": {"404", "404", codes.Error}, "/unstable": {"503", "503", codes.Error}} {
			ctx, outer := r.provider.Tracer("test").Start(t.Context(), "outer")
			body, err := get(ctx, client, strings.Replace(server.URL, "://", "://user:secret@", 1)+path+"?token=secret#fragment")
			if err != nil {
				t.Fatal(err)
			}
			span := r.only(t)
			if span.Name != "GET" || span.SpanKind != trace.SpanKindClient || span.Status.Code != want.code || span.Parent.SpanID() != outer.SpanContext().SpanID() {
				t.Errorf("%s %s: %v %v", version, path, span.Name, span.Status)
			}
			if path == "/users/7" && body != parentOf(span.SpanContext)+"  " {
				t.Errorf("%s: sent %q, want %q", version, body, parentOf(span.SpanContext))
			}
			check(t, span, map[string]string{
				"http.request.method": "GET", "server.address": host, "server.port": port, "url.full": server.URL + path, "http.response.status_code": want.status,
				"error.type": want.errorType, "network.protocol.version": version, "http.request.resend_count": "", "http.response.header.x-kind": "",
			})
			if strings.Contains(fmt.Sprint(span), "secret") {
				t.Errorf("the span has a secret: %v", span)
			}
			outer.End()
			r.Reset()
		}
	}
}

// Failed attempts are errors, whose text is not recorded.
func TestClientErrors(t *testing.T) {
	r := newRecorder()
	plain, _ := echo(t)
	client := &gallop.Client{Transport: Client{Provider: r.provider}.Transport(), MaxIdemponentCallAttempts: 1}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx       context.Context
		url, want string
	}{
		"connect":  {t.Context(), "http://" + wiretest.FreeAddress(t) + "/?token=secret", "connect"},
		"timeout":  {t.Context(), plain.URL + "/slow?token=secret", "timeout"},
		"canceled": {canceled, plain.URL + "/?token=secret", "canceled"},
		"hangs up": {t.Context(), plain.URL + "/hangs-up?token=secret", "_OTHER"},
		"dns":      {t.Context(), "http://no.such.host.invalid/?token=secret", "dns"},
	} {
		ctx := tc.ctx
		if name == "timeout" { // another case may take long, and a call whose time is over makes no attempt
			var cancel func()
			ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
		}
		if _, err := get(ctx, client, tc.url); err == nil {
			t.Fatalf("%s: no error", name)
		}
		for _, span := range r.wait(t, 1) {
			if span.Status.Code != codes.Error || attr(span, "error.type") != tc.want || strings.Contains(fmt.Sprint(span), "secret") || attr(span, "http.response.status_code") != "" {
				t.Errorf("%s: %v %v", name, span.Status, span.Attributes)
			}
		}
	}
}

// Redirects and retries have spans of their own, with numbers.
func TestAttempts(t *testing.T) {
	r := newRecorder()
	plain, _ := echo(t)
	transport := Client{Provider: r.provider}.Transport()
	client := Calls(&gallop.Client{Transport: transport, MaxRedirects: 3})
	for range 2 {
		if _, err := get(t.Context(), client, plain.URL+"/to"); err != nil {
			t.Fatal(err)
		}
		spans := r.wait(t, 2)
		if len(spans) != 2 || attr(spans[0], "http.request.resend_count") != "" || attr(spans[1], "http.request.resend_count") != "1" ||
			attr(spans[0], "http.response.status_code") != "302" || attr(spans[1], "url.full") != plain.URL+"/users/7" {
			t.Errorf("redirect: %v", spans)
		}
	}
	api, err := rest.New(plain.URL, rest.WithClient(&gallop.Client{Transport: transport, DetailedErrors: true}), rest.WithRequestHook(RestHook),
		rest.WithRetry(rest.Retry{Max: 2, Backoff: func(rest.Attempt) time.Duration { return time.Millisecond }}))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	request := api.Request().SetTarget("GET", "{name}").SetPathValue("name", "unstable").SetQuery("token", "secret")
	if _, err := api.Do(request, &out); err != nil {
		t.Fatal(err)
	}
	spans := r.wait(t, 3)
	for i, span := range spans {
		want := map[string]string{"http.request.resend_count": []string{"", "1", "2"}[i], "url.template": "{name}", "http.response.status_code": []string{"503", "503", "200"}[i]}
		if check(t, span, want); span.Name != "GET {name}" {
			t.Errorf("name %q", span.Name)
		}
	}
	if !strings.HasPrefix(out.String(), parentOf(spans[2].SpanContext)) {
		t.Errorf("sent %q", out.String())
	}
	if _, err := rest.Get[string](t.Context(), api, "users/7"); err == nil {
		t.Fatal("no error")
	}
	if span := r.only(t); span.Name != "GET" || attr(span, "url.template") != "" {
		t.Errorf("path with a value: %s", span.Name)
	}
}

// The trace of a request continues in the calls of its handler, and in the next server.
func TestThroughServers(t *testing.T) {
	r := newRecorder()
	back := serve(t, routed(&Tracing{Provider: r.provider}, web.Config{}))
	client := &gallop.Client{Transport: Client{Provider: r.provider}.Transport()}
	app := web.New(web.Config{Server: quiet()})
	app.Use(Tracing{Provider: r.provider})
	app.Get("/", func(c *web.Ctx) error {
		body, err := get(c, client, "http://"+back.addr+"/users/7")
		if err != nil {
			return err
		}
		return c.SendString(body)
	})
	front := serve(t, app)
	_, body := front.do(t, "2", "GET", "/", "Traceparent", parent)
	if body != parentTrace {
		t.Errorf("trace %s", body)
	}
	byName := map[string]trace.SpanContext{}
	parents := map[string]trace.SpanID{}
	for _, span := range r.wait(t, 3) {
		byName[span.Name], parents[span.Name] = span.SpanContext, span.Parent.SpanID()
	}
	if parents["GET /"].String() != parentSpan || parents["GET"] != byName["GET /"].SpanID() || parents["GET /users/{id}"] != byName["GET"].SpanID() {
		t.Errorf("spans %v with parents %v", byName, parents)
	}
}

func TestClientSettings(t *testing.T) {
	r := newRecorder()
	plain, _ := echo(t)
	carried := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	settings := Client{Provider: r.provider, Propagator: carried, Query: []string{"page"}, ResponseHeaders: []string{"X-Kind"}, RequestHeaders: []string{"X-Mine"}}
	member, _ := baggage.NewMember("tenant", "a")
	bag, _ := baggage.New(member)
	ctx := baggage.ContextWithBaggage(t.Context(), bag)
	client := &gallop.Client{Transport: settings.Transport()}
	req, resp := &gallop.Request{}, &gallop.Response{}
	for range 2 {
		req.SetRequestURI(plain.URL + "/users/7?page=2&sig=secret")
		req.Header.Set("Traceparent", "mine")
		req.Header.Set("Tracestate", "mine=1")
		req.Header.Set("X-Mine", "yes")
		if err := client.DoContext(ctx, req, resp); err != nil {
			t.Fatal(err)
		}
		span := r.only(t)
		if body := string(resp.Body()); body != parentOf(span.SpanContext)+"  tenant=a" {
			t.Errorf("sent %q", body)
		}
		check(t, span, map[string]string{
			"url.full": plain.URL + "/users/7?page=2&sig=REDACTED", "http.response.header.x-kind": `["echo"]`, "http.request.header.x-mine": `["yes"]`,
		})
		if string(req.Header.Peek("Traceparent")) != "mine" || string(req.Header.Peek("Tracestate")) != "mine=1" || len(req.Header.Peek("Baggage")) > 0 {
			t.Errorf("the request has changed:\n%s", &req.Header)
		}
	}
	settings.SendTo = func(host string) bool { return host != plain.Listener.Addr().String() }
	client = &gallop.Client{Transport: settings.Transport()}
	if body, err := get(ctx, client, plain.URL+"/users/7"); err != nil || body != "  " {
		t.Errorf("sent %q, %v", body, err)
	}
	r.only(t)

	// through net/http's client
	transport := nethttp.NewTransport()
	transport.ConfigureHost = func(hc *gallop.HostClient) { hc.Transport = Client{Provider: r.provider}.Transport() }
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(plain.URL + "/users/7")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if span := r.only(t); string(body) != parentOf(span.SpanContext)+"  " {
		t.Errorf("nethttp: sent %q", body)
	}
}

// A stream that a client reads is not changed.
func TestClientStream(t *testing.T) {
	r := newRecorder(sdk.WithSampler(sdk.AlwaysSample()))
	plain, _ := echo(t)
	client := &gallop.Client{Transport: Client{Provider: r.provider}.Transport()}
	req, resp := &gallop.Request{}, &gallop.Response{StreamBody: true}
	req.SetRequestURI(plain.URL + "/users/7")
	if err := client.DoContext(t.Context(), req, resp); err != nil {
		t.Fatal(err)
	}
	span := r.only(t)
	body, err := io.ReadAll(resp.BodyStream())
	if err != nil || string(body) != parentOf(span.SpanContext)+"  " {
		t.Errorf("%q %v", body, err)
	}
	resp.CloseBodyStream()
}

type panicking struct{}

func (panicking) RoundTrip(*gallop.HostClient, *gallop.Request, *gallop.Response) (bool, error) {
	panic("broken")
}

func TestClientPanic(t *testing.T) {
	r := newRecorder()
	client := &gallop.Client{Transport: Client{Provider: r.provider, Next: panicking{}}.Transport()}
	func() {
		defer func() { recover() }()
		get(t.Context(), client, "http://localhost/")
	}()
	if span := r.only(t); span.Status.Code != codes.Error || attr(span, "error.type") != "panic" {
		t.Errorf("%v %v", span.Status, span.Attributes)
	}
}

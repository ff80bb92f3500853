package middleware_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// All of it works where net/http's server is around the application.
func TestUnderNetHTTP(t *testing.T) {
	log := make(lines, 8)
	app := newApp(
		middleware.RequestID{}.Handler(), middleware.Logger{Log: slog.New(slog.NewJSONHandler(log, nil))}.Handler(),
		middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}.Handler(), middleware.CORS{}.Handler(),
		middleware.Compress{}.Handler(), middleware.ETag{}.Handler(), middleware.Timeout{After: time.Millisecond}.Handler(),
		middleware.BodyLimit{Size: 10}.Handler(),
	)
	app.Get("/", says(long))
	app.Get("/panic", func(*web.Ctx) error { panic("x") })
	app.Get("/slow", func(c *web.Ctx) error { <-c.Done(); return c.Err() })
	app.Post("/", func(c *web.Ctx) error { return c.Send(c.Body()) })
	server := httptest.NewServer(app)
	defer server.Close()
	for _, tc := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/", "", 200}, {"GET", "/panic", "", 500}, {"GET", "/slow", "", 503}, {"POST", "/", "0123456789", 200}, {"POST", "/", "0123456789x", 413}, {"GET", "/none", "", 404},
	} {
		for _, chunked := range []bool{false, true} {
			request, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+tc.target, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if chunked && tc.body != "" {
				request.ContentLength = -1
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != tc.status || len(response.Header.Get("X-Request-Id")) < 20 || response.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s %s, chunked %t: %d, %v", tc.method, tc.target, chunked, response.StatusCode, response.Header)
			}
			if tc.target == "/" && tc.method == "GET" && (!response.Uncompressed || !strings.HasPrefix(response.Header.Get("ETag"), "W/")) {
				t.Errorf("not compressed: %v", response.Header)
			}
			if line := <-log; !strings.Contains(line, `"path":"`+tc.target+`"`) || !strings.Contains(line, `"client":"127.0.0.1"`) {
				t.Errorf("logged %s", line)
			}
		}
	}
}

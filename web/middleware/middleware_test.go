package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// answer is what a test gets back.
type answer struct {
	status int
	body   string
	header http.Header
}

// ask sends a request without a socket. Fields are "Name: value"; the body is that of "Body: ".
func ask(t *testing.T, app *web.App, method, target string, fields ...string) answer {
	t.Helper()
	var body io.Reader
	for _, field := range fields {
		if text, ok := strings.CutPrefix(field, "Body: "); ok {
			body = strings.NewReader(text)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://example.com"+target, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if name, value, _ := strings.Cut(field, ": "); name != "Body" {
			request.Header.Add(name, value)
		}
	}
	return send(t, app, request)
}

func send(t *testing.T, app *web.App, request *http.Request) answer {
	t.Helper()
	response, err := app.Test(request)
	if err != nil {
		t.Fatalf("%s %s: %v", request.Method, request.URL.Path, err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, string(text), response.Header}
}

// quiet is a Logger that keeps what servers complain about.
type quiet struct{ lines chan string }

func newQuiet() quiet { return quiet{make(chan string, 64)} }

func (q quiet) Printf(format string, arguments ...any) {
	select {
	case q.lines <- fmt.Sprintf(format, arguments...):
	default:
	}
}

// newApp returns an application with middleware for all requests, whose server complains to nobody.
func newApp(middleware ...web.Middleware) *web.App {
	app := web.New(web.Config{Server: &gallop.Server{Logger: newQuiet()}})
	app.Use(middleware...)
	return app
}

func says(text string) web.Handler { return func(c *web.Ctx) error { return c.SendString(text) } }

// want fails unless the field has the value; "" is that it is not there.
func (a answer) want(t *testing.T, name, value string) {
	t.Helper()
	if got := strings.Join(a.header.Values(name), " | "); got != value {
		t.Errorf("%s: %q, want %q", name, got, value)
	}
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, want) {
			t.Errorf("panic %q, want one with %q", text, want)
		}
	}()
	f()
}

// get returns a request of a client.
func get(ctx context.Context, url string) *http.Request {
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		panic(err)
	}
	return request
}

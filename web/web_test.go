package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask sends a request of this method and target, with fields "Name: value", and returns status and
// body.
func ask(t *testing.T, app *App, method, target string, fields ...string) (status int, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://example.com"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Add(name, value)
	}
	response, err := app.Test(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

// says returns a handler that sends text.
func says(text string) Handler { return func(c *Ctx) error { return c.SendString(text) } }

// httpFunc returns a function of net/http as a Handler.
func httpFunc(f http.HandlerFunc) Handler { return FromHTTP(f) }

// without returns a constraint that has no argument.
func without(match func(value string) bool) Constraint {
	return func(argument string) (func(string) bool, error) {
		if argument != "" {
			return nil, errors.New("has no argument")
		}
		return match, nil
	}
}

// showsParams sends the pattern of the route and its parameters.
func showsParams(c *Ctx) error {
	text := c.Route().Pattern()
	for _, name := range c.Route().params {
		text += " " + name + "=" + c.Params(name)
	}
	return c.SendString(text)
}

// mustPanic calls f and wants a panic that says so.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, want) {
			t.Errorf("panic %q, want one with %q", text, want)
		}
	}()
	f()
}

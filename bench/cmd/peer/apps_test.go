package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestApps compares the responses of both forms of each app with the expected ones.
func TestApps(t *testing.T) {
	for _, test := range []struct{ app, method, target, body, want string }{
		{"hello", "GET", "/", "", greeting},
		{"baseline", "GET", "/baseline11?a=13&b=42", "", "55"},
		{"baseline", "POST", "/baseline11?a=13&b=42", "20", "75"},
		{"baseline", "POST", "/?a=-1&b=x", "-20", "-21"},
		{"post", "POST", "/echo", "all of it", "all of it"},
		{"large", "GET", "/", "", string(page)},
		{"flushed", "GET", "/", "", string(page[:8<<10])},
		{"sleep1", "GET", "/", "", greeting},
		{"sleep10", "GET", "/", "", greeting},
		{"burn5", "GET", "/", "", greeting},
		{"alternate", "GET", "/", "", greeting},
		{"mixed-sleep", "GET", "/?slow=1", "", greeting},
		{"mixed-burn", "GET", "/", "", greeting},
	} {
		app := apps[test.app](options{})

		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(test.method)
		ctx.Request.SetRequestURI(test.target)
		ctx.Request.SetBodyString(test.body)
		app.Handle(&ctx)
		if got := string(ctx.Response.Body()); got != test.want {
			t.Errorf("%s %s %s: %q, want %q", test.app, test.method, test.target, got, test.want)
		}

		w := httptest.NewRecorder()
		app.Standard(w, httptest.NewRequest(test.method, test.target, strings.NewReader(test.body)))
		if got, _ := io.ReadAll(w.Body); w.Code != http.StatusOK || string(got) != test.want {
			t.Errorf("%s %s %s in net/http: %d %q, want %q", test.app, test.method, test.target, w.Code, got, test.want)
		}
	}
}

// TestMixed shows that only requests with slow=1 are slow.
func TestMixed(t *testing.T) {
	worked := 0
	app := mixed(func() { worked++ })
	for _, test := range []struct {
		target string
		want   int
	}{{"/", 0}, {"/?slow=1", 1}} {
		worked = 0
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI(test.target)
		app.Handle(&ctx)
		app.Standard(httptest.NewRecorder(), httptest.NewRequest("GET", test.target, nil))
		if worked != 2*test.want {
			t.Errorf("%s: worked %d times in two requests", test.target, worked)
		}
	}
}

// TestBurn shows that burning takes at least half of the given time by the clock.
func TestBurn(t *testing.T) {
	start := time.Now()
	burn(20 * time.Millisecond)
	if took := time.Since(start); took < 10*time.Millisecond {
		t.Errorf("20 ms of work took %v", took)
	}
}

package middleware_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestRequestID(t *testing.T) {
	for _, tc := range []struct {
		name, sent string
		kept       bool
	}{
		{"none", "", false},
		{"a uuid", "123e4567-e89b-12d3-a456-426614174000", true},
		{"all that is allowed", "azAZ09-_.=+/:@", true},
		{"128 characters", strings.Repeat("x", 128), true},
		{"129 characters", strings.Repeat("x", 129), false},
		{"a space", "a b", false},
		{"quotes", `a"b`, false},
		{"a tab", "a\tb", false},
		{"markup", "<script>", false},
		{"beyond ASCII", "ä", false},
		{"an escape", "a%0Ab", false},
		{"a list", "a,b", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newApp(middleware.RequestID{New: func() string { return "new" }}.Handler())
			app.Get("/", func(c *web.Ctx) error { return c.SendString(c.RequestID()) })
			var fields []string
			want := "new"
			if tc.sent != "" {
				fields = []string{"X-Request-Id: " + tc.sent}
			}
			if tc.kept {
				want = tc.sent
			}
			a := ask(t, app, "GET", "/", fields...)
			a.want(t, "X-Request-Id", want)
			if a.body != want {
				t.Errorf("ID is %q, want %q", a.body, want)
			}
		})
	}
}

// New IDs are like those of rand.Text, and no two are equal, whichever goroutine makes them.
func TestRequestIDsDiffer(t *testing.T) {
	handler := newApp(middleware.RequestID{}.Handler()).Handler()
	const goroutines, each = 8, 1000
	ids := make(chan string, goroutines*each)
	for range goroutines {
		go func() {
			request := &gallop.RequestCtx{}
			request.Request.SetRequestURI("/")
			for range each {
				request.Response.Reset()
				handler(request)
				ids <- string(request.Response.Header.Peek("X-Request-Id"))
				request.ResetUserValues()
			}
		}()
	}
	seen, letters := map[string]bool{}, map[rune]int{}
	for range goroutines * each {
		id := <-ids
		if seen[id] || len(id) != len(rand.Text()) {
			t.Fatalf("the ID %q is not new or has the wrong length", id)
		}
		seen[id] = true
		for _, letter := range id {
			letters[letter]++
		}
	}
	if len(letters) != 32 {
		t.Errorf("the IDs have %d different characters", len(letters))
	}
	for letter, n := range letters { // 6500 times on average, with a standard deviation of 80
		if n < 5700 || n > 7300 {
			t.Errorf("%q occurs %d times", letter, n)
		}
	}
}

func TestRequestIDSettings(t *testing.T) {
	app := newApp(middleware.RequestID{Header: "X-Trace", IgnoreClient: true}.Handler())
	app.Get("/", says(""))
	one, two := ask(t, app, "GET", "/", "X-Trace: mine"), ask(t, app, "GET", "/missing", "X-Trace: mine")
	a, b := one.header.Get("X-Trace"), two.header.Get("X-Trace")
	if len(a) < 22 || len(b) < 22 || a == b {
		t.Errorf("%q and %q", a, b)
	}
	if app := newApp(); true {
		app.Get("/", func(c *web.Ctx) error { return c.SendString("[" + c.RequestID() + "]") })
		if a := ask(t, app, "GET", "/"); a.body != "[]" {
			t.Errorf("without the middleware: %s", a.body)
		}
	}
}

// Only a trusted proxy may choose the ID, if the settings say so.
func TestRequestIDTrustedOnly(t *testing.T) {
	for peer, want := range map[string]string{"10.0.0.1": "mine", "203.0.113.5": "new"} {
		app := web.New(web.Config{TrustedProxies: web.PrivateNetworks()})
		app.Use(middleware.RequestID{TrustedOnly: true, New: func() string { return "new" }})
		app.Get("/", says("ok"))
		if got := askFrom(app, peer, "/", "X-Request-Id: mine").Header.Peek("X-Request-Id"); string(got) != want {
			t.Errorf("from %s: %q, want %q", peer, got, want)
		}
	}
}

func TestRequestIDFromTrace(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	app := newApp(middleware.RequestID{FromTrace: true, New: func() string { return "new" }})
	app.Get("/", says("ok"))
	for parent, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                      id,
		"01-" + id + "-" + span + "-01-more":                 id, // a later version
		"00-" + id + "-" + span + "-01-more":                 "new",
		"01-" + id + "-" + span + "-01more":                  "new",
		"ff-" + id + "-" + span + "-01":                      "new",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":     "new",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": "new",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":   "new",
		"00-" + id + "_" + span + "-01":                      "new",
		"00-" + strings.Repeat("-", 32) + "-" + span + "-01": "new",
		"00-" + id + "-" + span:                              "new",
		"":                                                   "new",
	} {
		ask(t, app, "GET", "/", "Traceparent: "+parent).want(t, "X-Request-Id", want)
	}
	ask(t, app, "GET", "/", "Traceparent: 00-"+id+"-"+span+"-01", "X-Request-Id: mine").want(t, "X-Request-Id", "mine")
}

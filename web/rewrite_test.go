package web

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// showsTarget sends what a handler and a proxy see of the target.
func showsTarget(c *Ctx) error {
	return c.SendString(fmt.Sprintf("%s %s %s %s", c.Path(), c.RequestCtx().RequestURI(), c.OriginalURL(), c.Host()))
}

// rewriting returns an App with rules, and a function that sends a target to it exactly as given and returns the body.
func rewriting(t testing.TB, rules ...string) (*App, func(target string) string) {
	app := New(Config{NoListenLog: true, Server: &gallop.Server{Logger: silent{}}})
	for i := 0; i < len(rules); i += 2 {
		app.Rewrite(rules[i], rules[i+1])
	}
	app.All("/{path...}", showsTarget)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(ln)
	t.Cleanup(func() { app.Close() })
	return app, func(target string) string {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n", target)
		text, _ := io.ReadAll(c)
		head, body, _ := strings.Cut(string(text), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 200") {
			return strings.Fields(head + " none none")[1]
		}
		return body
	}
}

// silent is a Logger that drops everything.
type silent struct{}

func (silent) Printf(string, ...any) {}

func TestRewrite(t *testing.T) {
	_, get := rewriting(t,
		"/old/{path...}", "/new/{path...}",
		"/old/special", "/special",
		"/new/loop", "/old/loop",
		"/a/{x}/{y}", "/b/{y}/{x}",
		"/u/{id<int>}/photo", "/photos/{id}.jpg",
		"/files/{name}.json", "/{name}",
		"/dot/{name}", "/.{name}",
		"/odd", `/a b/\{ü\}%`,
		"/up/{path...}", "/{path...}",
	)
	for _, tc := range []struct{ target, want string }{ // want is "" for an unchanged target
		{"/old", ""},
		{"/old/", "/new/"},
		{"/old/a/b?c=d&e=%20;f", "/new/a/b?c=d&e=%20;f"},
		{"/old/special", "/special"},
		{"/OLD/a", ""},
		{"/x/old/a", ""}, // fiber #4476: anchored at the start
		{"/olds/a", ""},
		{"/new/loop", "/old/loop"}, // once
		{"/old/loop", "/new/loop"},
		{"/a/1/2", "/b/2/1"},
		{"/a/1/2/3", ""},
		{"/u/7/photo", "/photos/7.jpg"},
		{"/u/x/photo", ""},
		{"/odd", "/a%20b/%7B%C3%BC%7D%25"},
		{"http://other.example/old/a?b", "http://other.example/new/a?b"},

		// Encoding stays as the client sent it.
		{"/old/a%2Fb%2fc/%20%c3%bc", "/new/a%2Fb%2fc/%20%c3%bc"},
		{"/old/%252F/%2541", "/new/%252F/%2541"},
		{"/%6fld/a%41", "/new/a%41"},
		{"/a/%2F/%252e%252e", "/b/%252e%252e/%2F"},
		{"/old/a%3Fb=c%23d", "/new/a%3Fb=c%23d"},
		{"/old/a;b=c", "/new/a;b=c"},

		// A value cannot lead to another host or out of its place. Without a second path, the request keeps its path.
		{"/old//evil.example/a", "/new/evil.example/a"},
		{"/up//evil.example/a", "/evil.example/a"},
		{"/up/%2fevil.example", "/%2fevil.example"},
		{"/up/%5cevil.example", "/%5cevil.example"},
		{"/up/user:password@evil.example/", "/user:password@evil.example/"},
		{"/up/http://evil.example/", "/http:/evil.example/"},
		{"/old/../admin", ""}, // not rewritten: the path is /admin
		{"/old/%2e%2e/admin", ""},
		{"/files/...json", ""}, // would be /..
		{"/files/%2e%2e.json", ""},
		{"/files/..json", ""}, // would be /.
		{"/dot/.", ""},
		{"/dot/%2e", ""},
		{"/dot/.x", "/..x"},
	} {
		if tc.want == "" {
			tc.want = tc.target
		}
		got := strings.Split(get(tc.target), " ")
		if len(got) < 4 || got[len(got)-3] != tc.want || got[len(got)-2] != tc.target {
			t.Errorf("%s: %q, want %s", tc.target, got, tc.want)
		}
	}
}

// Routes, parameters and the other parts of a Ctx belong to the new path.
func TestRewriteRoutes(t *testing.T) {
	app, get := rewriting(t, "/v1/users/{user}", "/users/{user}")
	app.Get("/users/{id}", func(c *Ctx) error {
		return c.SendString(c.Path() + " " + c.Params("id") + " " + c.Query("q") + " " + c.FullURL() + " " + c.Route().Pattern())
	})
	for target, want := range map[string]string{
		"/v1/users/a%20b?q=1":                "/users/a b a b 1 http://shop.example/v1/users/a%20b?q=1 /users/{id}",
		"/users/7?q=1":                       "/users/7 7 1 http://shop.example/users/7?q=1 /users/{id}",
		"http://shop.example/v1/users/7?q=1": "/users/7 7 1 http://shop.example/v1/users/7?q=1 /users/{id}",
	} {
		if got := get(target); got != want {
			t.Errorf("%s: %q", target, got)
		}
	}
	app.Rewrite("/later", "/users/8") // rules may come after routes
	if got := get("/later"); !strings.HasPrefix(got, "/users/8 8") {
		t.Errorf("%q", got)
	}
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "OPTIONS": 200} {
		if status, _, _ := ask(t, app, method, "/v1/users/7"); status != want {
			t.Errorf("%s: %d", method, status)
		}
	}
}

func TestRewriteRules(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"old", "/new", "begin with a slash"},
		{"/old", "new", "begin with a slash"},
		{"/old", "//evil.example", "//"},
		{"/old", "https://evil.example/", "path"},
		{"/{a}", "/{b}", `parameter "b"`},
		{"/{a<int>}", "/{a<int>}", "constraint"},
		{"/{a}/{a}", "/", "same name"},
		{"/same/{x}", "/", "match the same paths"},
		{"/^old$", "/", ""},
	} {
		app := New(Config{})
		app.Rewrite("/same/{y}", "/")
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), tc.want) {
					t.Errorf("%s to %s: %v", tc.from, tc.to, v)
				}
			}()
			app.Rewrite(tc.from, tc.to)
		}()
	}
}

// The rest of a path keeps its meaning, whatever it is.
func FuzzRewrite(f *testing.F) {
	for _, rest := range []string{"a", "a/b", "%2F", "%2e%2e", "%25", "%252F", "a//b", "../a", ";", "%zz", "%", "\xff", "?a", "a%3fb", "%00"} {
		f.Add(rest)
	}
	app := New(Config{NoListenLog: true})
	app.Rewrite("/old/{path...}", "/new/{path...}")
	f.Fuzz(func(t *testing.T, rest string) {
		if strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || strings.ContainsAny(rest, "#\"<>\\^`{|}") {
			return // the server refuses such a target
		}
		var before, after gallop.RequestCtx
		before.Request.SetRequestURI("/old/" + rest)
		after.Request.SetRequestURI("/old/" + rest)
		path := string(before.Path())
		c := &Ctx{app: app, request: &after}
		app.rewrites.apply(c)
		want := path
		if len(c.original) > 0 {
			want = "/new" + strings.TrimPrefix(path, "/old")
		} else if strings.HasPrefix(path, "/old/") {
			t.Errorf("%q: not rewritten", path)
		}
		if got := string(after.Path()); got != want || string(after.URI().QueryString()) != string(before.URI().QueryString()) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	app := New(Config{NoListenLog: true})
	app.Rewrite("/old/{path...}", "/new/{path...}")
	for _, target := range []string{"/other/a/b", "/old/a/b"} {
		b.Run(target[1:4], func(b *testing.B) {
			var ctx gallop.RequestCtx
			c := &Ctx{app: app, request: &ctx}
			b.ReportAllocs()
			for b.Loop() {
				ctx.Request.SetRequestURI(target)
				app.rewrites.apply(c)
			}
		})
	}
}

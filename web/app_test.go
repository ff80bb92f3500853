package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// quiet is a server that logs nothing.
func quiet() *gallop.Server { return &gallop.Server{Logger: discard{}} }

type discard struct{}

func (discard) Printf(string, ...any) {}

func TestMethods(t *testing.T) {
	app := New(Config{})
	app.Get("/both", says("got"))
	app.Post("/both", says("posted"))
	app.Get("/own", says("got"))
	app.Head("/own", func(c *Ctx) error { c.SetHeader("X-Own", "yes"); return nil })
	app.Options("/own", says("options"))
	app.Add("PURGE", "/cache/:key", showsParams)
	app.All("/any/:x", showsParams)
	app.Put("/any/:y", showsParams)
	app.Get("/any/fixed", says("fixed"))
	for _, tc := range []struct {
		method, target string
		status         int
		body, allow    string
	}{
		{"GET", "/both", 200, "got", ""},
		{"POST", "/both", 200, "posted", ""},
		{"HEAD", "/both", 200, "", ""},
		{"DELETE", "/both", 405, "Method Not Allowed", "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/both", 204, "", "GET, HEAD, OPTIONS, POST"},
		{"NONSENSE", "/both", 405, "Method Not Allowed", "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/own", 200, "options", ""},
		{"GET", "/none", 404, "Not Found", ""},
		{"OPTIONS", "/none", 404, "Not Found", ""},
		{"PURGE", "/cache/a", 200, "/cache/:key key=a", ""},
		{"GET", "/cache/a", 405, "Method Not Allowed", "OPTIONS, PURGE"},
		{"DELETE", "/any/1", 200, "/any/:x x=1", ""},
		{"PUT", "/any/1", 200, "/any/:y y=1", ""},
		{"GET", "/any/fixed", 200, "fixed", ""},
		{"POST", "/any/fixed", 200, "/any/:x x=fixed", ""},
	} {
		status, body, header := ask(t, app, tc.method, tc.target)
		if status != tc.status || body != tc.body || header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: %d %q, Allow %q; want %d %q, %q", tc.method, tc.target, status, body, header.Get("Allow"), tc.status, tc.body, tc.allow)
		}
	}
	if _, _, header := ask(t, app, "HEAD", "/own"); header.Get("X-Own") != "yes" {
		t.Error("HEAD did not get its own route")
	}
	if _, _, header := ask(t, app, "HEAD", "/both"); header.Get("Content-Length") != "3" {
		t.Errorf("HEAD has Content-Length %q, GET has 3", header.Get("Content-Length"))
	}
}

// HEAD is GET rather than what is for any method, whichever was registered first.
func TestHeadBeforeAny(t *testing.T) {
	app := New(Config{})
	app.All("/", says("any"))
	app.Get("/", says("only this one"))
	if _, _, header := ask(t, app, "HEAD", "/"); header.Get("Content-Length") != "13" {
		t.Errorf("Content-Length %q", header.Get("Content-Length"))
	}
}

// Middleware that Use adds later runs from the next request that matches no route.
func TestUseAfterServing(t *testing.T) {
	app := New(Config{})
	for _, want := range []string{"", "one", "two,one"} {
		if _, _, header := ask(t, app, "GET", "/none"); strings.Join(header.Values("X-Trace"), ",") != want {
			t.Errorf("%q, want %q", header.Values("X-Trace"), want)
		}
		if want == "" {
			app.Use(traces("one"))
		} else {
			app.Use(traces("two"))
		}
	}
}

// traces returns middleware that writes its name around what comes behind it.
func traces(name string) Handler {
	return func(c *Ctx) error {
		err := c.Next()
		c.RequestCtx().Response.Header.Add("X-Trace", name)
		return err
	}
}

func TestMiddleware(t *testing.T) {
	app := New(Config{Server: quiet()})
	api := app.Group("/api", traces("api"))
	app.Use(traces("app"))
	api.Use(traces("later"))
	api.Get("/one", says("one"))
	api.Get("/two", traces("own"), says("two"))
	api.Route("/v1", func(g *Router) {
		g.Use(traces("v1"))
		g.Get("/:x", showsParams)
	})
	api.Get("/three", says("three"))
	app.Get("/stops", func(c *Ctx) error { return c.SendString("stopped") }, says("not this"))
	app.Get("/runs-out", func(c *Ctx) error { return errors.Join(c.Next(), c.Next()) })
	for target, want := range map[string]string{
		"/api/one":   "one later,api,app",
		"/api/two":   "two own,later,api,app",
		"/api/three": "three later,api,app",
		"/api/v1/x":  "/api/v1/:x x=x v1,later,api,app",
		"/none":      "Not Found app",
		"/api/none":  "Not Found app",
		"/stops":     "stopped app",
		"/runs-out":  " app",
	} {
		_, body, header := ask(t, app, "GET", target)
		if got := body + " " + strings.Join(header.Values("X-Trace"), ","); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

// Prefix and path may both have the slash between them.
func TestSlashesOfPrefixes(t *testing.T) {
	app := New(Config{})
	app.Group("/").Get("/x", says("x"))
	api := app.Group("/api/")
	api.Get("/y", says("y"))
	api.Get("z", says("z"))
	api.Group("/v1/").Get("/", says("v1"))
	shop := New(Config{})
	shop.Get("/s", says("s"))
	api.Mount("/", shop)
	show := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }
	app.Group("/files").MountHTTP("/", http.HandlerFunc(show))
	app.Group("/").MountHTTP("/", http.HandlerFunc(show))
	for target, want := range map[string]string{
		"/x": "x", "/api/y": "y", "/api/z": "z", "/api/v1/": "v1", "/api/s": "s", "/files": "/", "/files/": "/", "/files/a": "/a", "/": "/", "/a/b": "/a/b",
	} {
		if status, body, _ := ask(t, app, "GET", target); status != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", target, status, body, want)
		}
	}
}

// A group that grows does not change what was made of it.
func TestGroupsDoNotShareMemory(t *testing.T) {
	app := New(Config{})
	g := app.Group("/g", traces("1"), traces("2"))
	g.Use(traces("3")) // leaves room for more
	a, b := g.Group("/a", traces("a")), g.Group("/b", traces("b"))
	a.Get("/", says("a"))
	b.Get("/", says("b"))
	for target, want := range map[string]string{"/g/a/": "a,3,2,1", "/g/b/": "b,3,2,1"} {
		if _, _, header := ask(t, app, "GET", target); strings.Join(header.Values("X-Trace"), ",") != want {
			t.Errorf("%s: %q", target, header.Values("X-Trace"))
		}
	}
}

func TestHosts(t *testing.T) {
	app := New(Config{})
	app.Get("/", says("any"))
	app.Get("/only-any", says("any"))
	app.Host("api.example.com").Get("/", says("api"))
	app.Host(":tenant.example.com").Get("/:x", showsParams)
	app.Host(":tenant.example.com").Get("/", showsParams)
	app.Host("API.example.com").Post("/", says("posted"))
	for _, tc := range []struct{ method, host, target, want string }{
		{"GET", "example.com", "/", "200 any"},
		{"GET", "api.example.com", "/", "200 api"},
		{"GET", "API.Example.COM:8080", "/", "200 api"},
		{"GET", "api.example.com.", "/", "200 api"},
		{"POST", "api.example.com", "/", "200 posted"},
		{"DELETE", "api.example.com", "/", "405 Method Not Allowed"},
		{"GET", "api.example.com", "/1", "200 /:x tenant=api x=1"},
		{"GET", "acme.example.com", "/2", "200 /:x tenant=acme x=2"},
		{"GET", "Acme.example.com", "/", "200 / tenant=acme"},
		{"GET", "acme.example.com", "/only-any", "200 /:x tenant=acme x=only-any"},
		{"GET", "a.b.example.com", "/", "200 any"},
		{"GET", "a.b.example.com", "/1", "404 Not Found"},
		{"GET", "[::1]:80", "/", "200 any"},
		{"GET", "example.org", "/only-any", "200 any"},
	} {
		status, body, _ := ask(t, app, tc.method, tc.target, "Host: "+tc.host)
		if got := strconv.Itoa(status) + " " + body; got != tc.want {
			t.Errorf("%s %s%s: %q, want %q", tc.method, tc.host, tc.target, got, tc.want)
		}
	}
	app.Host(":userID.Example.org").Get("/", func(c *Ctx) error { return c.SendString(c.Params("userID")) })
	if _, body, _ := ask(t, app, "GET", "/", "Host: Ann.EXAMPLE.org"); body != "ann" {
		t.Errorf("a parameter in mixed case: %q", body)
	}
	app.Host("{tenant}.example.net").Get("/{x}", showsParams)
	if _, body, _ := ask(t, app, "GET", "/1", "Host: Acme.example.net:80"); body != "/{x} tenant=acme x=1" {
		t.Errorf("a parameter in braces: %q", body)
	}
	mustPanic(t, "match the same requests", func() { app.Host(":other.example.net").Get("/:y", says("")) })
	mustPanic(t, "a parameter is a whole label", func() { app.Host("{x<int>}.b").Get("/", says("")) })
	mustPanic(t, "a parameter is a whole label", func() { app.Host("{x...}.b").Get("/", says("")) })
	mustPanic(t, "neither a label nor a parameter", func() { app.Host("a{x}.b").Get("/", says("")) })
	mustPanic(t, "two parameters of the name", func() { app.Host(":x.example.com").Get("/:x", says("")) })
	mustPanic(t, "two parameters of the name", func() { app.Host(":x.:x.com").Get("/", says("")) })
	mustPanic(t, "neither a label nor a parameter", func() { app.Host("a..b").Get("/", says("")) })
	mustPanic(t, "neither a label nor a parameter", func() { app.Host(":.b").Get("/", says("")) })
	mustPanic(t, "match the same requests", func() { app.Host(":other.example.com").Get("/:x", says("")) })
}

func TestMount(t *testing.T) {
	shop := New(Config{
		ErrorHandler: func(c *Ctx, err error) { c.Status(418).SendString("shop: " + err.Error()) },
		Constraints:  map[string]Constraint{"odd": without(func(v string) bool { return (v[len(v)-1]-'0')%2 == 1 })},
	})
	shop.Use(traces("shop"))
	shop.Get("/items/:id<odd>", showsParams).As("item")
	shop.Get("/fails", func(*Ctx) error { return errors.New("no") })
	app := New(Config{})
	app.Use(traces("app"))
	app.Group("/v1").Mount("/shop", shop)
	for target, want := range map[string]string{
		"/v1/shop/items/3": "200 /v1/shop/items/:id<odd> id=3 shop,app",
		"/v1/shop/items/4": "404 Not Found app",
		"/v1/shop/fails":   "418 shop: no shop,app",
		"/items/3":         "404 Not Found app",
	} {
		status, body, header := ask(t, app, "GET", target)
		if got := strconv.Itoa(status) + " " + body + " " + strings.Join(header.Values("X-Trace"), ","); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	if path, err := app.URL("item", "id", "5"); path != "/v1/shop/items/5" || err != nil {
		t.Errorf("URL: %q, %v", path, err)
	}
	if status, _, _ := ask(t, shop, "GET", "/items/3"); status != 200 {
		t.Error("the other application is not its own any more")
	}
}

// The constraints of a route are those of the application that it was made in, however often that is mounted.
func TestMountedConstraints(t *testing.T) {
	is := func(word string) map[string]Constraint {
		return map[string]Constraint{"word": without(func(v string) bool { return v == word })}
	}
	inner, middle := New(Config{Constraints: is("inner")}), New(Config{})
	inner.Get("/:x<word>", showsParams)
	middle.Mount("/middle", inner)
	for name, outer := range map[string]*App{"without one": New(Config{}), "with another": New(Config{Constraints: is("outer")})} {
		outer.Mount("/outer", middle)
		for value, want := range map[string]int{"inner": 200, "outer": 404} {
			if status, _, _ := ask(t, outer, "GET", "/outer/middle/"+value); status != want {
				t.Errorf("%s: %s: %d, want %d", name, value, status, want)
			}
		}
	}
}

// Two applications have different constraints of one name, at the same place: each route asks its own.
func TestMountedConstraintsAreNotMixed(t *testing.T) {
	is := func(word string) Config {
		return Config{Constraints: map[string]Constraint{"word": without(func(v string) bool { return v == word })}}
	}
	a, b, outer := New(is("a")), New(is("b")), New(Config{})
	a.Get("/{x<word>}/one", says("one"))
	b.Get("/{x<word>}/two", says("two"))
	outer.Mount("/", a)
	outer.Mount("/", b)
	for target, want := range map[string]int{"/a/one": 200, "/b/two": 200, "/a/two": 404, "/b/one": 404} {
		if status, _, _ := ask(t, outer, "GET", target); status != want {
			t.Errorf("%s: %d, want %d", target, status, want)
		}
	}
	outer = New(is("outer"))
	outer.Mount("/{y<int>}", a)
	mustPanic(t, `web: Mount at "/x/{y<word>}": the constraint "word" differs in the mounted App`, func() { outer.Group("/x").Mount("/{y<word>}", a) })
}

func TestURL(t *testing.T) {
	app := New(Config{})
	app.Get("/users/:id<int>", says("")).As("user")
	app.Post("/users/:id<int>", says("")).As("user")
	app.Get("/files/*path", says("")).As("file")
	app.Get("/:name.json", says("")).As("json")
	app.Get("/a b/:x", says("")).As("blank")
	app.Get("/{id<int>}/b/{name}.txt", says("")).As("braces")
	app.Get("/b/{path...}", says("")).As("bracesrest")
	for _, tc := range []struct {
		name  string
		pairs []string
		want  string // with "!" in front, part of the error
	}{
		{"user", []string{"id", "7"}, "/users/7"},
		{"user", []string{"id", "x"}, "!cannot have the value"},
		{"user", nil, "!has no value"},
		{"user", []string{"id"}, "!has no value"},
		{"file", []string{"path", "a b/c?d"}, "/files/a%20b/c%3Fd"},
		{"file", nil, "/files/"},
		{"file", []string{"path", "..a/b.../."}, "!would not yield"},
		{"file", []string{"path", "../users/7"}, "!would not yield"},
		{"file", []string{"path", "..a/b..."}, "/files/..a/b..."},
		{"json", []string{"name", "é/x"}, "/%C3%A9%2Fx.json"},
		{"json", []string{"name", "a.json"}, "!would not yield"},
		{"blank", []string{"x", "1"}, "/a%20b/1"},
		{"blank", []string{"x", ".."}, "!would not yield"},
		{"blank", []string{"x", "a?b#c"}, "/a%20b/a%3Fb%23c"},
		{"braces", []string{"id", "7", "name", "a b"}, "/7/b/a%20b.txt"},
		{"braces", []string{"id", "x", "name", "a"}, "!cannot have the value"},
		{"braces", []string{"id", "7"}, "!has no value"},
		{"bracesrest", []string{"path", "a/b"}, "/b/a/b"},
		{"none", nil, "!no route has this name"},
		{"", nil, "!no route has this name"},
	} {
		got, err := app.URL(tc.name, tc.pairs...)
		if want, isError := strings.CutPrefix(tc.want, "!"); isError {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %q, %v; want an error with %q", tc.name, tc.pairs, got, err, want)
			}
			continue
		}
		if got != tc.want || err != nil {
			t.Errorf("%s %q: %q, %v; want %q", tc.name, tc.pairs, got, err, tc.want)
		}
		if status, _, _ := ask(t, app, "GET", got); status != 200 {
			t.Errorf("%s answers %d", got, status)
		}
	}
	mustPanic(t, "cannot both be named", func() { app.Get("/other", says("")).As("user") })
	if len(app.Routes()) != 8 || app.Routes()[2].Name() != "file" || app.Routes()[1].Method() != "POST" {
		t.Errorf("routes: %v", app.Routes())
	}
}

// URL refuses values whose path would be read as a different path or as a host.
func TestURLIsReadAsItWasMade(t *testing.T) {
	app := New(Config{})
	app.Get("/*rest", showsParams).As("rest")
	app.Get("/hidden/.:name", showsParams).As("dot")
	app.Get("/pair/:a--:b", showsParams).As("pair")
	app.Get("/go", func(c *Ctx) error { return c.Redirect().Route("rest", "rest", c.Query("to")) })
	for _, tc := range []struct {
		name  string
		pairs []string
		want  string // "" is an error
	}{
		{"rest", []string{"rest", "/evil.com"}, ""},
		{"rest", []string{"rest", "//evil.com"}, ""},
		{"rest", []string{"rest", "a//b"}, ""},
		{"rest", []string{"rest", "a/b/"}, "/a/b/"},
		{"rest", []string{"rest", "\\evil.com"}, "/%5Cevil.com"},
		{"dot", []string{"name", "."}, ""},
		{"dot", []string{"name", ".."}, ""},
		{"dot", []string{"name", ".x"}, "/hidden/..x"},
		{"pair", []string{"a", "x-", "b", "y"}, ""},
		{"pair", []string{"a", "x", "b", "-y"}, "/pair/x---y"},
	} {
		got, err := app.URL(tc.name, tc.pairs...)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s %q: %q, %v; want %q", tc.name, tc.pairs, got, err, tc.want)
		}
		if err != nil {
			continue
		}
		want := ""
		for i := 0; i < len(tc.pairs); i += 2 {
			want += " " + tc.pairs[i] + "=" + tc.pairs[i+1]
		}
		if _, body, _ := ask(t, app, "GET", got); !strings.HasSuffix(body, want) {
			t.Errorf("%s is read as %q, want %q", got, body, want)
		}
	}
	if status, _, h := ask(t, app, "GET", "/go?to=/evil.com"); status != 500 || h.Get("Location") != "" {
		t.Errorf("redirected to %q", h.Get("Location"))
	}
}

func TestWhatCannotBeRegistered(t *testing.T) {
	app := New(Config{})
	app.Get("/a/:x", says(""))
	mustPanic(t, "GET /a/:x and GET /a/:y match the same", func() { app.Get("/a/:y", says("")) })
	mustPanic(t, "has no handlers", func() { app.Get("/b") })
	mustPanic(t, "begin with a slash", func() { app.Get("b", says("")) })
	mustPanic(t, "more than 16 parameters", func() {
		app.Host(":h1.:h2").Get("/:a/:b/:c/:d/:e/:f/:g/:h/:i/:j/:k/:l/:m/:n/:o", says(""))
	})
	app.Post("/a/:y", says(""))
	if status, _, _ := ask(t, app, "GET", "/a/1"); status != 200 || len(app.Routes()) != 2 {
		t.Errorf("status %d, %d routes", status, len(app.Routes()))
	}
}

// TryAdd returns what Add panics with, and what could not be added leaves no trace.
func TestTryAdd(t *testing.T) {
	app := New(Config{})
	g := app.Group("/g")
	r, err := g.TryAdd("GET", "/{x}", showsParams)
	if err != nil || r.Pattern() != "/g/{x}" {
		t.Fatalf("%v, %v", r, err)
	}
	for name, try := range map[string]struct {
		path, want string
		handlers   []Handler
	}{
		"the same":   {"/:y", "web: the routes GET /g/{x} and GET /g/:y match the same requests", []Handler{says("")}},
		"no pattern": {"/{x", `web: route GET /g/{x: path "/g/{x": the brace of "{x" is not closed`, []Handler{says("")}},
		"none":       {"/none", "web: route GET /g/none has no handlers", nil},
		"nil":        {"/nil", "web: route GET /g/nil: handler 0 is nil", []Handler{nil}},
		"method":     {"GET /a", `the path "GET /a" begins with a method`, []Handler{says("")}},
	} {
		r, err := g.TryAdd("GET", try.path, try.handlers...)
		if r != nil || err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("%s: %v, %v; want %q", name, r, err, try.want)
		}
		mustPanic(t, try.want, func() { g.Get(try.path, try.handlers...) })
	}
	if status, body, _ := ask(t, app, "GET", "/g/1"); status != 200 || body != "/g/{x} x=1" || len(app.Routes()) != 1 {
		t.Errorf("%d %q, %d routes", status, body, len(app.Routes()))
	}
}

// settings is middleware as package middleware has it.
type settings struct{ made *int }

func (s settings) Handler() Handler {
	*s.made++
	return func(c *Ctx) error {
		c.RequestCtx().Response.Header.Add("X-Trace", "settings")
		return c.Next()
	}
}

// Structs are middleware, and their Handler is called once.
func TestStructsAreMiddleware(t *testing.T) {
	made := 0
	app := New(Config{})
	app.Use(settings{&made})
	app.Group("/g", settings{&made}, traces("t")).Get("/", says("g"))
	app.Host("example.org", settings{&made}).Get("/h", says("h"))
	for target, want := range map[string]string{"/none": "settings", "/g/": "settings,settings,t", "/h": "settings,settings"} {
		if _, _, h := ask(t, app, "GET", target, "Host: example.org"); strings.Join(h.Values("X-Trace"), ",") != want {
			t.Errorf("%s: %q, want %q", target, h.Values("X-Trace"), want)
		}
	}
	if made != 3 {
		t.Errorf("made %d times", made)
	}
}

// An App that New has not made says so, whatever is asked of it.
func TestZeroApp(t *testing.T) {
	for name, use := range map[string]func(a *App){
		"Get":       func(a *App) { a.Get("/", says("")) },
		"Add":       func(a *App) { a.Add("GET", "/", says("")) },
		"TryAdd":    func(a *App) { a.TryAdd("GET", "/", says("")) },
		"Use":       func(a *App) { a.Use(says("")) },
		"UseFunc":   func(a *App) { a.UseFunc(says("")) },
		"Group":     func(a *App) { a.Group("/") },
		"Route":     func(a *App) { a.Route("/", func(*Router) {}) },
		"Host":      func(a *App) { a.Host("a.b") },
		"OnError":   func(a *App) { a.OnError(DefaultErrorHandler) },
		"Mount":     func(a *App) { a.Mount("/", New(Config{})) },
		"mounted":   func(a *App) { New(Config{}).Mount("/", a) },
		"MountHTTP": func(a *App) { a.MountHTTP("/", http.NotFoundHandler()) },
		"Handler":   func(a *App) { a.Handler() },
		"ServeHTTP": func(a *App) { a.ServeHTTP(nil, nil) },
		"Listen":    func(a *App) { a.Listen("127.0.0.1:0") },
		"ListenTLS": func(a *App) { a.ListenTLS("127.0.0.1:0", "", "") },
		"Serve":     func(a *App) { a.Serve(nil) },
		"Run":       func(a *App) { a.Run(t.Context(), nil) },
		"Addrs":     func(a *App) { a.Addrs() },
		"Shutdown":  func(a *App) { a.Shutdown(t.Context()) },
		"Close":     func(a *App) { a.Close() },
		"Routes":    func(a *App) { a.Routes() },
		"URL":       func(a *App) { a.URL("") },
		"Test":      func(a *App) { a.Test(nil) },
		"a Router":  func(*App) { new(Router).Get("/", says("")) },
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, "web: use New", func() { use(new(App)) }) })
	}
}

// A Server serves one App: New does not take the Handler of another, or of the program, away.
func TestOneServerForOneApp(t *testing.T) {
	s := quiet()
	app := New(Config{Server: s})
	app.Get("/", says("first"))
	mustPanic(t, "sets the Handler of Config.Server, which is set already", func() { New(Config{Server: s}) })
	mustPanic(t, "FromGallop", func() { New(Config{Server: &gallop.Server{Handler: func(*gallop.RequestCtx) {}}}) })
	if _, body, _ := ask(t, app, "GET", "/"); body != "first" {
		t.Errorf("%q", body)
	}
}

// OnListen and Addrs tell a program the port if it asked for port 0. When its context is done, Run waits for the request in
// flight before it returns.
func TestRun(t *testing.T) {
	s := quiet()
	listening := make(chan string, 2)
	s.OnListen = func(net.Listener) { listening <- "the server's" }
	app := New(Config{Server: s, OnListen: func(ln net.Listener) { listening <- ln.Addr().String() }})
	entered, leave := make(chan struct{}), make(chan struct{})
	app.Get("/", func(c *Ctx) error {
		close(entered)
		<-leave
		return c.SendString("answered")
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx, ln) }()
	if first := <-listening; first != "the server's" {
		t.Errorf("%s came first", first)
	}
	addr := <-listening
	if got := app.Addrs(); len(got) != 1 || got[0].String() != addr || strings.HasSuffix(addr, ":0") {
		t.Errorf("%v, %s", got, addr)
	}
	body := make(chan string, 1)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr, nil)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			body <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		body <- string(text)
	}()
	<-entered
	cancel()
	select {
	case err := <-done:
		t.Errorf("did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	if got := <-body; got != "answered" {
		t.Error(got)
	}
	if err := <-done; err != nil || app.Addrs() != nil {
		t.Errorf("%v, %v", err, app.Addrs())
	}
}

// Close does not wait.
func TestClose(t *testing.T) {
	listening := make(chan struct{})
	app := New(Config{Server: quiet(), OnListen: func(net.Listener) { close(listening) }})
	entered, left := make(chan struct{}), make(chan struct{})
	app.Get("/", func(c *Ctx) error {
		defer close(left)
		close(entered)
		<-c.Done()
		return nil
	})
	ln := memnet.NewListener()
	done := make(chan error, 1)
	go func() { done <- app.Serve(ln) }()
	<-listening
	conn, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	<-left
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	var log strings.Builder
	app := New(Config{Server: &gallop.Server{Logger: logTo{&log}}})
	secret := errors.New("the password is wrong")
	app.Get("/teapot", func(c *Ctx) error {
		c.Status(201).SetHeader("X-Kept", "yes").SendString("half an answer")
		return NewError(418)
	})
	app.Get("/message", func(*Ctx) error { return NewError(409, "taken") })
	app.Get("/wrapped", func(*Ctx) error { return errors.Join(secret, &Error{Status: 503, Message: "later", Err: secret}) })
	app.Get("/other", func(*Ctx) error { return secret })
	app.Get("/status", func(*Ctx) error { return NewError(200, "not an error") })
	special := app.Group("/special")
	special.OnError(func(c *Ctx, err error) { c.Status(400).SendString("special: " + err.Error()) })
	special.Get("/", func(*Ctx) error { return secret })
	special.OnError(func(c *Ctx, err error) { c.Status(400) })
	special.Get("/silent", func(c *Ctx) error { return errors.Join(c.SendString("half an answer"), secret) })
	for target, want := range map[string]string{
		"/teapot":   "418 I'm a teapot",
		"/message":  "409 taken",
		"/wrapped":  "503 later",
		"/other":    "500 Internal Server Error",
		"/status":   "500 Internal Server Error",
		"/special/": "400 special: the password is wrong",

		"/special/silent": "400 ",
	} {
		status, body, header := ask(t, app, "GET", target)
		if got := strconv.Itoa(status) + " " + body; got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
		if target == "/teapot" && header.Get("X-Kept") != "yes" {
			t.Error("a field is gone")
		}
	}
	if !strings.Contains(log.String(), secret.Error()) {
		t.Errorf("the log does not say what went wrong: %q", log.String())
	}
	if strings.Contains(log.String(), "taken") {
		t.Errorf("what the client did wrong is in the log: %q", log.String())
	}
	if err := (&Error{Status: 500, Err: secret}); !errors.Is(err, secret) || err.Error() != "web: 500 Internal Server Error: the password is wrong" {
		t.Errorf("%v", err)
	}
}

type logTo struct{ w io.Writer }

func (l logTo) Printf(format string, args ...any) {
	io.WriteString(l.w, format)
	for _, a := range args {
		if s, ok := a.(string); ok {
			io.WriteString(l.w, s)
		}
	}
}

// Routes may be added while requests are served; each request sees all that were there before it.
func TestAddWhileServing(t *testing.T) {
	app := New(Config{})
	app.Get("/0", says("0"))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, body, _ := ask(t, app, "GET", "/0"); status != 200 || body != "0" {
					t.Errorf("%d %q", status, body)
					return
				}
			}
		})
	}
	for i := 1; i < 50; i++ {
		path := "/" + strconv.Itoa(i)
		app.NotFound(traces(path))
		app.Get(path, says(path))
		if status, _, _ := ask(t, app, "GET", path); status != 200 {
			t.Errorf("%s answers %d", path, status)
		}
	}
	close(stop)
	wg.Wait()
}

func TestPanicsStayInTheirRequest(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/panics", func(*Ctx) error { panic("no") })
	app.Get("/", says("well"))
	for range 3 {
		if status, _, _ := ask(t, app, "GET", "/panics"); status != 500 {
			t.Errorf("status %d", status)
		}
		if status, body, _ := ask(t, app, "GET", "/"); status != 200 || body != "well" {
			t.Errorf("%d %q", status, body)
		}
	}
}

func TestTestEndsWithItsContext(t *testing.T) {
	app := New(Config{Server: quiet()})
	entered := make(chan struct{})
	app.Get("/", func(c *Ctx) error {
		close(entered)
		<-c.Done()
		return c.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-entered
		cancel()
	}()
	if response, err := app.Test(request); err == nil {
		t.Errorf("answered %s", response.Status)
	}
}

// Test returns the final response and skips interim responses.
func TestTestPassesOverInterimAnswers(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return errors.Join(c.EarlyHints("</a.css>; rel=preload"), c.SendString("final")) })
	app.Post("/", func(c *Ctx) error { return c.Send(c.Body()) })
	if status, body, header := ask(t, app, "GET", "/"); status != 200 || body != "final" || header.Get("Link") == "" {
		t.Errorf("behind 103: %d %q %v", status, body, header)
	}
	request, err := http.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 200 || string(body) != "text" {
		t.Errorf("behind 100: %d %q", response.StatusCode, body)
	}
}

func TestBodies(t *testing.T) {
	app := New(Config{})
	app.Post("/", func(c *Ctx) error { return c.Send(c.Body()) })
	text := strings.Repeat("many bytes ", 50000)
	request, err := http.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); string(body) != text {
		t.Errorf("%d bytes came back of %d", len(body), len(text))
	}
}

// Each method has routes of its own, the usual ones and others.
func TestMethodsAreKeptApart(t *testing.T) {
	app := New(Config{})
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PURGE", "get"}
	for _, method := range methods {
		app.Add(method, "/x", func(c *Ctx) error { c.SetHeader("X-Method", method); return nil })
	}
	for _, method := range methods {
		if _, _, header := ask(t, app, method, "/x"); header.Get("X-Method") != method {
			t.Errorf("%s is answered by %q", method, header.Get("X-Method"))
		}
	}
	if status, _, header := ask(t, app, "LOCK", "/x"); status != 405 || header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PURGE, PUT, QUERY, get" {
		t.Errorf("%d, Allow: %s", status, header.Get("Allow"))
	}
}

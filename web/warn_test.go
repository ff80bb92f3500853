package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A route that is registered before middleware would stay without it, so Use panics. It names the route and what to do.
func TestUseBehindRoutes(t *testing.T) {
	for name, test := range map[string]struct {
		register func(app *App, g *Router)
		use      func(app *App, g *Router)
		want     string
	}{
		"the App":       {func(app *App, _ *Router) { app.Get("/a", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, `web: Use for "/": the route GET /a is registered already`},
		"UseFunc":       {func(app *App, _ *Router) { app.Get("/a", says("")) }, func(app *App, _ *Router) { app.UseFunc(says("")) }, `web: UseFunc for "/": the route GET /a`},
		"a group":       {func(_ *App, g *Router) { g.Post("/a", says("")) }, func(_ *App, g *Router) { g.Use(says("")) }, `web: Use for "/g": the route POST /g/a`},
		"of a group":    {func(_ *App, g *Router) { g.Post("/a", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, `the route POST /g/a`},
		"deep":          {func(_ *App, g *Router) { g.Group("/h").Group("/i").All("/a", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, `the route /g/h/i/a`},
		"of a host":     {func(app *App, _ *Router) { app.Host("x.test").Get("/a", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, `the route GET x.test/a`},
		"of a mount":    {func(_ *App, g *Router) { g.Mount("/m", mounted()) }, func(app *App, _ *Router) { app.Use(says("")) }, `the route GET /g/m/in`},
		"of MountHTTP":  {func(_ *App, g *Router) { g.MountHTTP("/m", http.NotFoundHandler()) }, func(_ *App, g *Router) { g.Use(says("")) }, `the route /g/m`},
		"the first one": {func(app *App, g *Router) { g.Get("/1", says("")); app.Get("/2", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, `the route GET /g/1`},
		"the remedy":    {func(app *App, _ *Router) { app.Get("/a", says("")) }, func(app *App, _ *Router) { app.Use(says("")) }, "call Use before the routes are registered, or App.NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			app := New(Config{})
			g := app.Group("/g")
			test.register(app, g)
			mustPanic(t, test.want, func() { test.use(app, g) })
			if _, _, h := ask(t, app, "GET", "/none"); h.Get("X-Trace") != "" {
				t.Error("the middleware is in use")
			}
		})
	}
}

func mounted() *App {
	app := New(Config{})
	app.Get("/in", says("in"))
	return app
}

// Routes elsewhere do not matter, and neither do those that were refused.
func TestUseBesideRoutes(t *testing.T) {
	app := New(Config{})
	if _, err := app.TryAdd("GET", "/{", says("")); err == nil {
		t.Fatal("the route is fine")
	}
	app.Use(traces("app"))
	g, h := app.Group("/g"), app.Group("/h")
	g.Get("/", says("g"))
	h.Use(traces("h"))
	h.Get("/", says("h"))
	inner := g.Group("/i")
	inner.Use(traces("i"))
	inner.Get("/", says("i"))
	for target, want := range map[string]string{"/g/": "app", "/h/": "h,app", "/g/i/": "i,app"} {
		if _, _, header := ask(t, app, "GET", target); strings.Join(header.Values("X-Trace"), ",") != want {
			t.Errorf("%s: %q, want %q", target, header.Values("X-Trace"), want)
		}
	}
}

// A group that was made before its parent got middleware has that, too.
func TestUseBehindGroups(t *testing.T) {
	app := New(Config{})
	g := app.Group("/g", traces("g"))
	inner := g.Group("/i", traces("i"))
	host := app.Host("x.test", traces("host"))
	app.Use(traces("app"))
	g.Use(traces("g2"))
	inner.Get("/", says("i"))
	g.Get("/", says("g"))
	g.Mount("/m", mounted())
	host.Get("/h", says("h"))
	for target, want := range map[string]string{"/g/i/": "i,g2,g,app", "/g/": "g2,g,app", "/g/m/in": "g2,g,app", "/h": "host,app"} {
		if _, _, header := ask(t, app, "GET", target, "Host: x.test"); strings.Join(header.Values("X-Trace"), ",") != want {
			t.Errorf("%s: %q, want %q", target, header.Values("X-Trace"), want)
		}
	}
}

// NotFound is for what no route matches, behind the middleware of the App, whenever it is called.
func TestNotFound(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.NotFound(traces("1"))
	app.Use(traces("app"))
	app.Get("/a", says("a"))
	app.NotFound(traces("2"), func(c *Ctx) error {
		if c.Path() == "/file" {
			return c.SendString("file")
		}
		return c.Next()
	})
	for _, test := range []struct{ method, target, want string }{
		{"GET", "/a", "200 a app"},
		{"GET", "/file", "200 file 2,1,app"},
		{"GET", "/none", "404 Not Found 2,1,app"},
		{"POST", "/a", "405 Method Not Allowed 2,1,app"},
		{"OPTIONS", "/a", "204  app"},
		{"OPTIONS", "/none", "404 Not Found 2,1,app"},
	} {
		status, body, header := ask(t, app, test.method, test.target)
		if got := strconv.Itoa(status) + " " + body + " " + strings.Join(header.Values("X-Trace"), ","); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.target, got, test.want)
		}
	}
	mustPanic(t, "web: NotFound has no handlers: pass at least one", func() { app.NotFound() })
	mustPanic(t, "web: NotFound: handler 1 is nil", func() { app.NotFound(says(""), nil) })
	mustPanic(t, "web: use New", func() { new(App).NotFound(says("")) })

	outer := New(Config{Server: quiet()})
	outer.Mount("/m", app)
	if status, _, header := ask(t, outer, "GET", "/m/file"); status != 404 || header.Get("X-Trace") != "" {
		t.Errorf("NotFound is mounted: %d", status)
	}
}

// The framework answers OPTIONS behind the middleware of the group that the path belongs to.
func TestGroupsAnswerOptions(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Use(traces("app"))
	seen := ""
	g := app.Group("/g/{tenant}", traces("g"), Handler(func(c *Ctx) error { seen = c.Params("tenant"); return c.Next() }))
	g.Get("/a", says("a"))
	app.Group("/g", traces("writers")).Put("/{x}/a", says("put"))
	app.Host("x.test", traces("host")).Get("/h", says("h"))
	app.Group("/all", traces("all")).All("/", func(c *Ctx) error { return c.SendString(c.Method()) })
	app.Group("/m", traces("mount")).Mount("/", mounted())
	for _, test := range []struct{ target, asked, want string }{
		{"/g/t/a", "", "204 g,app GET, HEAD, OPTIONS, PUT"},
		{"/g/t/a", "GET", "204 g,app GET, HEAD, OPTIONS, PUT"},
		{"/g/t/a", "HEAD", "204 g,app GET, HEAD, OPTIONS, PUT"},
		{"/g/t/a", "PUT", "204 writers,app GET, HEAD, OPTIONS, PUT"},
		{"/g/t/a", "DELETE", "204 g,app GET, HEAD, OPTIONS, PUT"},
		{"/h", "GET", "204 host,app GET, HEAD, OPTIONS"},
		{"/all/", "GET", "200 all,app "},
		{"/m/in", "GET", "204 mount,app GET, HEAD, OPTIONS"},
		{"/none", "GET", "404 app "},
		{"*", "", "204 app GET, HEAD, OPTIONS, PUT"},
	} {
		request, _ := http.NewRequest("OPTIONS", "http://x.test"+strings.TrimPrefix(test.target, "*"), nil)
		if test.target == "*" {
			request.URL.Opaque = "*"
		}
		if test.asked != "" {
			request.Header.Set("Access-Control-Request-Method", test.asked)
		}
		response, err := app.Test(request)
		if err != nil {
			t.Fatal(err)
		}
		got := strconv.Itoa(response.StatusCode) + " " + strings.Join(response.Header.Values("X-Trace"), ",") + " " + response.Header.Get("Allow")
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.target, test.asked, got, test.want)
		}
	}
	if seen != "t" {
		t.Errorf("middleware sees the parameter %q", seen)
	}
}

// Headers yields strings that may be kept, in the order of the request.
func TestHeaders(t *testing.T) {
	app := New(Config{})
	var got []string
	app.Get("/", func(c *Ctx) error {
		for name, value := range c.Headers() {
			if strings.HasPrefix(name, "X-") {
				got = append(got, name+"="+value)
			}
		}
		for range c.Headers() {
			break
		}
		return nil
	})
	ask(t, app, "GET", "/", "X-A: 1", "X-A: 2", "X-B: 3")
	if slices.Sort(got); !slices.Equal(got, []string{"X-A=1", "X-A=2", "X-B=3"}) {
		t.Errorf("%q", got)
	}
}

// A struct that nothing can be filled in is a mistake in the program.
func TestBindWithoutTags(t *testing.T) {
	type T struct {
		Page int    `json:"page"`
		ID   string `path:"id"`
	}
	app := New(Config{Server: quiet()})
	for name, bind := range map[string]func(b Binder, v any) error{
		"query": Binder.Query, "header": Binder.Header, "cookie": Binder.Cookie, "form": Binder.Form,
	} {
		var err error
		app.Post("/"+name, func(c *Ctx) error { var v T; err = bind(c.Bind(), &v); return err })
		status, _, _ := ask(t, app, "POST", "/"+name, formField)
		want := `web: Binder cannot fill web.T from the ` + name + `: no field has the tag "` + name + `", but one has the tag "path": add tags such as ` +
			"`" + name + `:"name"` + "`"
		if status != 500 || err == nil || err.Error() != want {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
	var bare struct{ A string }
	if err := (Binder{}).Path(&bare); err == nil || !strings.Contains(err.Error(), `no field has the tag "path": add`) {
		t.Errorf("%v", err)
	}
	if _, err := Bind[T](&Ctx{app: app, request: serve(app, "/none")}); err != nil { // all sources at once
		t.Error(err)
	}
}

// The client gets the text of a Validator's error as the message.
func TestValidatorMessage(t *testing.T) {
	for text, want := range map[string]string{"age: must be positive": "age: must be positive", "": "Unprocessable Entity"} {
		var told error
		app := New(Config{Validator: picky{errors.New(text)}, ErrorHandler: func(c *Ctx, err error) {
			told = err
			DefaultErrorHandler(c, err)
		}})
		app.Get("/", func(c *Ctx) error {
			var v struct {
				A string `query:"a"`
			}
			return c.Bind().Query(&v)
		})
		status, body, _ := ask(t, app, "GET", "/")
		var e *Error
		if status != 422 || body != want || !errors.As(told, &e) || e.Message != want || e.Err == nil {
			t.Errorf("%d %q, %v", status, body, told)
		}
	}
}

// An Error has a message whenever an error handler sees it, and is still itself.
func TestMessageIsNeverEmpty(t *testing.T) {
	cause := errors.New("cause")
	bare := &Error{Status: 429, Err: cause}
	for name, err := range map[string]error{
		"NewError": NewError(429), "an empty message": NewError(429, ""), "a literal": bare, "wrapped": errors.Join(errors.New("x"), bare),
		"With": NewError(429, "x").With(""),
	} {
		var told error
		app := New(Config{ErrorHandler: func(_ *Ctx, err error) { told = err }})
		app.Get("/", func(*Ctx) error { return err })
		ask(t, app, "GET", "/")
		var e *Error
		if !errors.As(told, &e) || e.Message != "Too Many Requests" || e.Status != 429 || bare.Message != "" {
			t.Errorf("%s: %#v", name, told)
		}
		if !errors.Is(told, err) || strings.Contains(err.Error(), "cause") != errors.Is(told, bare) || told.Error() != err.Error() {
			t.Errorf("%s is not itself: %v", name, told)
		}
	}
	for _, err := range []error{ErrNotFound, bodyError(cause), NewError(404).With("")} {
		var e *Error
		if errors.As(withMessage(err), &e); e.Message == "" {
			t.Errorf("%v", err)
		}
	}
}

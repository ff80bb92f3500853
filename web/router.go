package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
)

// Handler handles a request. If a Handler returns an error, the error handler responds. A Handler that calls Ctx.Next is
// middleware. A Handler must be safe for concurrent use; each call has a Ctx of its own. FromHTTP, FromMiddleware and FromGallop
// make Handlers from the handlers of net/http and gallop.
type Handler func(c *Ctx) error

// Handler returns h. The method makes a Handler implement [Middleware].
func (h Handler) Handler() Handler { return h }

// Middleware is a [Handler], or a struct of settings that makes a Handler, such as middleware.CORS. Pass Middleware to
// Router.Use, Group or Host, which call its method Handler.
type Middleware interface {
	// Handler returns the function that runs for each request. The method panics if the settings contradict each other.
	Handler() Handler
}

// AppChecker is implemented by [Middleware] that can reject an App. Use, Group and Host call CheckApp, and panic if CheckApp
// returns an error. For example, middleware.BodyLimit rejects a limit above the server's own limit: see [App.BodyLimit].
type AppChecker interface {
	// CheckApp returns an error if the middleware does not work with app. The error says why, and how to fix the
	// problem.
	CheckApp(app *App) error
}

// Router is a group of routes that share a path prefix, a host and middleware. An App has the methods of a Router, which then apply
// to all routes of the App. Group, Host and Route make Routers for parts of the App. You may register routes while requests are
// being served, but only from one goroutine at a time. The methods of the zero Router panic.
type Router struct {
	app     *App
	parent  *Router // nil for the router of an App
	host    string
	prefix  string
	use     []Handler // its own middleware, which runs after that of parent
	onError ErrorHandler
	first   *Route // the first route of this router and the routers made from it; guarded by App.mu
}

// made returns the App. It panics if there is none, because the App was not made by New.
func (g *Router) made() *App {
	if g.app == nil {
		panic("web: use New to make an App, and an App to make a Router")
	}
	return g.app
}

// Get registers a route for GET. The route also serves HEAD, unless a HEAD route matches. See [Router.Add].
func (g *Router) Get(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodGet, path, handlers...)
}

// Head registers a route for HEAD. If no HEAD route matches, the GET route for the path also serves HEAD. See [Router.Add].
func (g *Router) Head(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodHead, path, handlers...)
}

// Post registers a route for POST. See [Router.Add].
func (g *Router) Post(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPost, path, handlers...)
}

// Put registers a route for PUT. See [Router.Add].
func (g *Router) Put(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPut, path, handlers...)
}

// Patch registers a route for PATCH. See [Router.Add].
func (g *Router) Patch(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPatch, path, handlers...)
}

// Delete registers a route for DELETE. See [Router.Add].
func (g *Router) Delete(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodDelete, path, handlers...)
}

// Options registers a route for OPTIONS. If no such route matches, the framework responds with 204 and the Allow header. See
// [Router.Add].
func (g *Router) Options(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodOptions, path, handlers...)
}

// Query registers a route for QUERY, a safe HTTP method whose requests have a body. See [Router.Add].
func (g *Router) Query(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodQuery, path, handlers...)
}

// All registers a route for every HTTP method. If a route for the request's method also matches, that route wins. See
// [Router.Add].
func (g *Router) All(path string, handlers ...Handler) *Route { return g.Add("", path, handlers...) }

// Add registers a route. For each matching request, the middleware of the router runs, then the first handler. A handler calls
// [Ctx.Next] to run the next handler. Methods are case-sensitive, and "" means any method.
//
// A path consists of text and parameters:
//
//	{name}        a segment, or the part of a segment before the text that follows: /{file}.json
//	{name<int>}   a parameter that meets constraints; semicolons separate constraints: {id<int;min(1)>}
//	{name...}     the rest of the path, which may be empty; only at the end
//	:name         the same as {name}; :name<int> is the same as {name<int>}
//	*name         the same as {name...}; a bare * has the name "*"
//	\{            a literal brace; a backslash makes the next byte literal text
//
// Parameter names consist of ASCII letters, digits and underscores. The value of a {name} is never empty. Paths are
// case-sensitive.
//
// A pattern matches the whole path: /files/ does not match /files/a, but /files/{path...} does. Add rejects net/http's {$}, because
// a pattern always matches the whole path. Add also rejects {id:int}, because other routers read the text after the colon as a
// constraint or as a regular expression.
//
// In the text of a pattern, Add rejects +, ?, (, ), <, >, [, ], ^ and |. The rejected characters have a meaning in other
// routers. To use one of the rejected characters as text, escape the character with a backslash. Do not write %XX in a pattern:
// paths are decoded before they are matched, so write the character itself. To match a literal % before two hexadecimal digits,
// escape the % too.
//
// The constraints are:
//
//	int, float, bool             a 64-bit integer, a finite decimal number, true or false
//	alpha, alnum, hex            ASCII letters, letters and digits, hexadecimal digits
//	uuid                         a UUID in either case (RFC 9562 §4)
//	min(n), max(n)               an integer of at least or at most n
//	len(n), minLen(n), maxLen(n) a length in characters
//	regex(e)                     a regular expression of package regexp that matches the whole value
//	datetime(layout)             a time in a layout of package time, such as 2006-01-02
//
// Config.Constraints adds more constraints. Add panics in all cases in which [Router.TryAdd] returns an error.
func (g *Router) Add(method, path string, handlers ...Handler) *Route {
	r, err := g.TryAdd(method, path, handlers...)
	if err != nil {
		panic(err.Error())
	}
	return r
}

// TryAdd registers a route like [Router.Add], but returns an error instead of panicking. Use TryAdd to add routes at runtime.
// TryAdd returns an error if the path is not a valid pattern, or if another route matches the same requests. TryAdd also returns an
// error if it is called without handlers or with a nil handler. If TryAdd returns an error, the route is not registered.
func (g *Router) TryAdd(method, path string, handlers ...Handler) (*Route, error) {
	app, use := g.made(), g.chain()
	r := &Route{
		app: app, method: method, host: g.host, spelled: joinPath(g.prefix, path),
		handlers: slices.Concat(use, handlers), options: slices.Concat(use, []Handler{answerUnmatched}),
		onError: g.onError, known: app.known,
	}
	if before, rest, ok := strings.Cut(path, " /"); ok && isMethod(before) {
		return nil, fmt.Errorf("web: route %s: the path %q begins with a method: call Add(%q, %q, ...)", r.describe(), path, before, "/"+rest)
	}
	if len(handlers) == 0 {
		return nil, fmt.Errorf("web: route %s has no handlers: pass at least one after the path", r.describe())
	}
	for i, h := range handlers {
		if h == nil {
			return nil, fmt.Errorf("web: route %s: handler %d is nil: pass a function, or leave the argument out", r.describe(), i)
		}
	}
	return app.add(r, g)
}

// chain returns the middleware that runs for the routes of g, outermost first.
func (g *Router) chain() []Handler {
	if g.parent == nil {
		return g.use
	}
	return slices.Concat(g.parent.chain(), g.use)
}

// isMethod reports whether a string looks like a method.
func isMethod(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Use adds middleware to all routes of the router, including the routes of its groups, hosts and mounts. The middleware
// of an App also runs for requests that match no route.
//
// Use panics if the router, or one of its groups, hosts or mounts, already has a route. A route that exists already would not get
// the middleware. Call Use first, or create a separate [Router.Group] for the middleware. If a handler should run only for requests
// without a matching route, pass the handler to [App.NotFound]. Use also panics if a value is nil, or if the middleware is an
// [AppChecker] that rejects the App.
//
// To add functions, call [Router.UseFunc].
func (g *Router) Use(middleware ...Middleware) { g.useAll("Use", g.handlersOf("Use", middleware)) }

// UseFunc adds functions as middleware, for example function literals. UseFunc panics if a function is nil, or if the router
// already has a route: see [Router.Use].
func (g *Router) UseFunc(middleware ...Handler) {
	for i, h := range middleware {
		if h == nil {
			panic(fmt.Sprintf("web: UseFunc for %q: middleware %d is nil: pass a function, or leave the argument out", g.place(), i))
		}
	}
	g.useAll("UseFunc", middleware)
}

func (g *Router) useAll(method string, handlers []Handler) {
	app := g.made()
	app.mu.Lock()
	defer app.mu.Unlock()
	if g.first != nil {
		panic(fmt.Sprintf("web: %s for %q: the route %s is registered already and would stay without this middleware: call %[1]s before "+
			"the routes are registered, or App.NotFound for handlers of unmatched requests", method, g.place(), g.first.describe()))
	}
	g.use = slices.Concat(g.use, handlers)
	app.table.Store(nil)
}

// note records that r was registered on g. App.mu is locked.
func (g *Router) note(r *Route) {
	for ; g != nil; g = g.parent {
		g.first = cmp.Or(g.first, r)
	}
}

// handlersOf returns the handlers of middleware. It panics if one is nil.
func (g *Router) handlersOf(method string, middleware []Middleware) []Handler {
	handlers := make([]Handler, len(middleware))
	for i, m := range middleware {
		if m != nil {
			handlers[i] = m.Handler()
		}
		if handlers[i] == nil {
			panic(fmt.Sprintf("web: %s for %q: middleware %d is nil: pass a value, or leave the argument out", method, g.place(), i))
		}
		if checker, ok := m.(AppChecker); ok {
			if err := checker.CheckApp(g.made()); err != nil {
				panic(fmt.Sprintf("web: %s for %q: middleware %d (%T): %v", method, g.place(), i, m, err))
			}
		}
	}
	return handlers
}

// place returns the host and the path that the group stands for, for messages.
func (g *Router) place() string { return g.host + cmp.Or(g.prefix, "/") }

// Group returns a router whose paths begin with the prefix. The routes of the group run the middleware of g first, and then the
// given middleware. The prefix is a pattern and may have parameters. If the prefix ends in a slash and a path begins with a slash,
// the two become a single slash. Group panics if a middleware is nil or rejects the App: see [AppChecker].
func (g *Router) Group(prefix string, middleware ...Middleware) *Router {
	return g.within(g.host, prefix, "Group", middleware)
}

// Host returns a router for one host, with the prefix of g. The pattern is a host name without a port. A label may be a parameter,
// as in {tenant}.example.com or :tenant.example.com. Ctx.Params returns the value of the parameter. Case matters only in the names
// of parameters. If several host patterns match, the router tries the pattern with the fewest parameters first. If g already has a
// host, the new pattern replaces the host of g.
//
// Host panics if a middleware is nil or rejects the App. If the pattern is malformed, Host itself does not panic, but Add panics
// when a route is registered.
func (g *Router) Host(pattern string, middleware ...Middleware) *Router {
	return g.within(pattern, "", "Host", middleware)
}

// within returns a router below g.
func (g *Router) within(host, prefix, method string, middleware []Middleware) *Router {
	within := &Router{app: g.made(), parent: g, host: host, prefix: joinPath(g.prefix, prefix), onError: g.onError}
	within.use = within.handlersOf(method, middleware)
	return within
}

// joinPath returns the prefix and the path, with one slash between them if both have one.
func joinPath(prefix, path string) string {
	if strings.HasPrefix(path, "/") {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	return prefix + path
}

// Route makes a group for the prefix and passes the group to the function register. Use Route to keep the routes of
// a group in one block of code. See [Router.Group].
func (g *Router) Route(prefix string, register func(g *Router)) { register(g.Group(prefix)) }

// OnError sets the error handler of g. Only routes and groups that g creates after this call get the error handler. Nil means
// Config.ErrorHandler. Requests that match no route always go to Config.ErrorHandler.
func (g *Router) OnError(h ErrorHandler) {
	g.made()
	g.onError = h
}

// Mount registers the routes of app under a prefix. Routes that are added to app later are not mounted.
//
//   - The routes keep their middleware, which runs after the middleware of g.
//   - The routes keep their error handler, constraints, names and hosts. A route without a host gets the host of g.
//   - The routes use the Config of the outer App, except for ErrorHandler and Constraints. The NotFound handlers of app do
//     not run.
//
// Mount panics if a route cannot be added: see [Router.TryAdd]. Mount also panics if the prefix uses a constraint
// of Config.Constraints, and app has another constraint of the same name.
func (g *Router) Mount(prefix string, app *App) {
	if app == nil {
		panic(fmt.Sprintf("web: Mount at %q: the App is nil: make it with New", joinPath(g.prefix, prefix)))
	}
	app.made()
	g.made()
	g.mountApp(strings.TrimSuffix(prefix, "/"), app)
}

// MountHTTP lets an http.Handler serve the prefix and all paths below it, for any method. The handler sees the path without the
// prefix and without the router's own prefix. Dot segments are resolved, and %2F is not decoded. If the handler needs the whole
// path, register FromHTTP(h) with [Router.All] instead. MountHTTP panics if h is nil.
func (g *Router) MountHTTP(prefix string, h http.Handler) {
	if h == nil {
		panic(fmt.Sprintf("web: MountHTTP at %q: the handler is nil: pass an http.Handler", joinPath(g.prefix, prefix)))
	}
	prefix = strings.TrimSuffix(prefix, "/") // the prefix itself is a route, too
	mounted := FromHTTP(withoutPrefix(h))
	if strings.Trim(g.prefix+prefix, "/") != "" {
		g.All(prefix, mounted)
	}
	g.All(prefix+"/*", mounted)
}

func (g *Router) mountApp(prefix string, other *App) {
	for _, r := range other.Routes() {
		mounted := *r
		mounted.known = maps.Clone(g.app.known) // the prefix may use them
		maps.Copy(mounted.known, r.known)
		mounted.app = g.app
		mounted.spelled = joinPath(joinPath(g.prefix, prefix), r.spelled)
		if name := g.replaced(joinPath(g.prefix, prefix), mounted.known); name != "" {
			panic(fmt.Sprintf("web: Mount at %q: the constraint %q differs in the mounted App: rename one of the two in Config.Constraints", joinPath(g.prefix, prefix), name))
		}
		mounted.handlers, mounted.options = slices.Concat(g.chain(), r.handlers), slices.Concat(g.chain(), r.options)
		if mounted.host == "" {
			mounted.host = g.host
		}
		if mounted.onError == nil {
			mounted.onError = other.config.ErrorHandler
		}
		if _, err := g.app.add(&mounted, g); err != nil {
			panic(err.Error())
		}
	}
}

// replaced returns the name of a constraint that the prefix uses and that differs in known, or "".
func (g *Router) replaced(prefix string, known knownConstraints) string {
	parts, _ := parsePattern(prefix, g.app.known) // add reports an error
	for _, part := range parts {
		for name, c := range g.app.known {
			if known[name] != c && slices.Contains(part.own, c) {
				return name
			}
		}
	}
	return ""
}

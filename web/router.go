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

// Handler answers a request. One that calls Ctx.Next is middleware. An error that it returns goes to the error handler.
// Function literals, functions and methods with this signature are assignable to it. Handlers of net/http and gallop
// become one by FromHTTP, FromMiddleware and FromGallop.
type Handler func(c *Ctx) error

// Handler returns h, so that h is Middleware.
func (h Handler) Handler() Handler { return h }

// Middleware is what Router.Use and groups take: a Handler, or settings that make one, as the structs of package
// middleware are. Handler is called once each time the value is given to a router.
type Middleware interface {
	Handler() Handler
}

// AppChecker is Middleware that may not fit an App. Use, Group and Host call CheckApp and panic if it returns an error.
type AppChecker interface {
	CheckApp(app *App) error
}

// Router is routes that have the beginning of their path, a host, and middleware in common.
// App is a router of all its routes, and others are groups within it. Routers, and their methods, may be used while
// requests are served, by one goroutine at a time. The methods panic on the zero Router.
type Router struct {
	app     *App
	parent  *Router // the router that it was made from; nil for that of an App
	host    string
	prefix  string
	use     []Handler // its own middleware, which runs behind that of parent
	onError ErrorHandler
	first   *Route // the first route of the router and of those made from it; guarded by App.mu
}

// made returns the application. It panics if there is none, since the App was not made by New.
func (g *Router) made() *App {
	if g.app == nil {
		panic("web: use New to make an App, and an App to make a Router")
	}
	return g.app
}

// Get registers a route for GET, which also answers HEAD unless there is a route for that,
// as with Add.
func (g *Router) Get(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodGet, path, handlers...)
}

// Head registers a route for HEAD, as with Add.
func (g *Router) Head(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodHead, path, handlers...)
}

// Post registers a route for POST, as with Add.
func (g *Router) Post(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPost, path, handlers...)
}

// Put registers a route for PUT, as with Add.
func (g *Router) Put(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPut, path, handlers...)
}

// Patch registers a route for PATCH, as with Add.
func (g *Router) Patch(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodPatch, path, handlers...)
}

// Delete registers a route for DELETE, as with Add.
func (g *Router) Delete(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodDelete, path, handlers...)
}

// Options registers a route for OPTIONS, which is otherwise answered with Allow, as with
// Add.
func (g *Router) Options(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodOptions, path, handlers...)
}

// Query registers a route for QUERY, as with Add.
func (g *Router) Query(path string, handlers ...Handler) *Route {
	return g.Add(gallop.MethodQuery, path, handlers...)
}

// All registers a route for every method that no other route with a path that matches has,
// as with Add.
func (g *Router) All(path string, handlers ...Handler) *Route { return g.Add("", path, handlers...) }

// Add registers a route. A request that matches runs the middleware of the group, and then the handlers as far as each
// calls Ctx.Next. Methods are case-sensitive, and "" is any method.
//
// A path is text and parameters:
//
//	{name}        a segment, or the part of it before the text that follows: /{file}.json
//	{name<int>}   one that meets constraints, which semicolons separate: {id<int;min(1)>}
//	{name...}     the rest of the path, which may be empty; only at the end
//	:name         the same as {name}, and :name<int> as {name<int>}
//	*name         the same as {name...}; * is one of the name "*"
//	\{            a brace; a backslash makes any next byte text
//
// The characters +, ?, (, ), <, >, [, ], ^ and | mean something in the patterns of other routers, so they need a backslash to be
// text. So does % before two hexadecimal digits: paths are decoded before they are matched, so write the character itself.
//
// A name is ASCII letters, digits and underscores. A path matches as a whole, so /files/ is only that; /files/{path...}
// is also what is below. That is why {$}, which net/http has, is refused. So is {id:int}: other routers read what stands
// behind the colon as a constraint or as a regular expression.
//
// Constraints are int, float, bool, alpha, alnum, hex, uuid, min(n), max(n), len(n), minLen(n), maxLen(n), regex(e),
// datetime(layout), and those of Config. float is a finite decimal number. The expression of regex has to match the whole value.
//
// Add panics where TryAdd returns an error.
func (g *Router) Add(method, path string, handlers ...Handler) *Route {
	r, err := g.TryAdd(method, path, handlers...)
	if err != nil {
		panic(err.Error())
	}
	return r
}

// TryAdd registers a route as Add does, for programs that add routes while they serve. It returns an error, and registers
// nothing, if the path is not a pattern, if there are no handlers or one is nil, or if another route matches the same requests.
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

// chain returns the middleware of the routers that g was made from, outermost first, and then that of g.
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

// Use adds middleware to all routes of the router and of the groups, hosts and mounts that are made from it. The middleware of an
// App also runs for requests that match no route.
//
// Use panics if one of these routes was registered before, because that route would stay without the middleware. Call Use
// first, or put the middleware into a Group of its own. Handlers that should run only if no route matches belong in
// [App.NotFound]. Use also panics if a value is nil, or if the middleware is an [AppChecker] that refuses the App.
//
// For functions see UseFunc.
func (g *Router) Use(middleware ...Middleware) { g.useAll("Use", g.handlersOf("Use", middleware)) }

// UseFunc adds functions as Use adds middleware: function literals, functions and methods. It panics if one is nil.
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

// note remembers that r was registered on g. App.mu is locked.
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

// Group returns a group within g, whose paths begin with the prefix. Its routes run the middleware of g and then the given
// middleware. If both prefix and path have a slash between them, one of these is left out. Group panics if middleware is nil.
func (g *Router) Group(prefix string, middleware ...Middleware) *Router {
	return g.within(g.host, prefix, "Group", middleware)
}

// Host returns a group within g for one host. The pattern is a name, without port, in which a label may be a parameter, as
// {tenant}.example.com or :tenant.example.com. Case does not matter except in names of parameters. Names without parameters come
// first. Host panics if middleware is nil, and Add if the pattern is not one.
func (g *Router) Host(pattern string, middleware ...Middleware) *Router {
	return g.within(pattern, "", "Host", middleware)
}

// within returns a group within g.
func (g *Router) within(host, prefix, method string, middleware []Middleware) *Router {
	within := &Router{app: g.made(), parent: g, host: host, prefix: joinPath(g.prefix, prefix), onError: g.onError}
	within.use = within.handlersOf(method, middleware)
	return within
}

// joinPath returns the path below a prefix.
func joinPath(prefix, path string) string {
	if strings.HasPrefix(path, "/") {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	return prefix + path
}

// Route calls register with a group for the prefix.
func (g *Router) Route(prefix string, register func(g *Router)) { register(g.Group(prefix)) }

// OnError sets the error handler of the routes that are registered in the group from now
// on.
func (g *Router) OnError(h ErrorHandler) {
	g.made()
	g.onError = h
}

// Mount registers the routes that an application has now, with the prefix before their paths. They keep their
// middleware, behind that of g, their error handler, their constraints, their names and their hosts; routes for any host
// get g's. The rest of the application's configuration, and its NotFound handlers, have no effect on them. Mount panics if a route cannot be
// added, as Add does, and if the prefix has a constraint of g's application for which app has another one of the same name.
func (g *Router) Mount(prefix string, app *App) {
	if app == nil {
		panic(fmt.Sprintf("web: Mount at %q: the App is nil: make it with New", joinPath(g.prefix, prefix)))
	}
	app.made()
	g.made()
	g.mountApp(strings.TrimSuffix(prefix, "/"), app)
}

// MountHTTP has a handler of net/http serve the prefix and all paths below it, with any method. The handler sees the path without the
// prefixes, as routes see it: without dot segments, and with %2F as it is. To serve whole paths, register FromHTTP(h) with
// Router.All.
func (g *Router) MountHTTP(prefix string, h http.Handler) {
	if h == nil {
		panic(fmt.Sprintf("web: MountHTTP at %q: the handler is nil: pass an http.Handler", joinPath(g.prefix, prefix)))
	}
	prefix = strings.TrimSuffix(prefix, "/") // it is a route of its own
	mounted := FromHTTP(withoutPrefix(h))
	if strings.Trim(g.prefix+prefix, "/") != "" {
		g.All(prefix, mounted)
	}
	g.All(prefix+"/*", mounted)
}

func (g *Router) mountApp(prefix string, other *App) {
	for _, r := range other.Routes() {
		mounted := *r
		mounted.known = maps.Clone(g.app.known) // for the prefix
		maps.Copy(mounted.known, r.known)
		mounted.app = g.app
		mounted.spelled = joinPath(joinPath(g.prefix, prefix), r.spelled)
		if name := g.replaced(joinPath(g.prefix, prefix), mounted.known); name != "" {
			panic(fmt.Sprintf("web: Mount at %q: the constraint %q is another one in the mounted App: give one of the two another name in Config.Constraints", joinPath(g.prefix, prefix), name))
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

// replaced returns the name of a constraint that the prefix has and that is not the same in known, "" if there is none.
func (g *Router) replaced(prefix string, known knownConstraints) string {
	parts, _ := parsePattern(prefix, g.app.known) // an error shows when the route is added
	for _, part := range parts {
		for name, c := range g.app.known {
			if known[name] != c && slices.Contains(part.own, c) {
				return name
			}
		}
	}
	return ""
}

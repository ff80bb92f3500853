package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
)

// Handler answers a request, or, if it calls Ctx.Next, is middleware. An error that it returns
// goes to the error handler.
type Handler = func(c *Ctx) error

// Router is routes that have the beginning of their path, a host, and middleware in common.
// App is a router of all its routes, and others are groups within it. Routers, and their methods, may be used while
// requests are served, by one goroutine at a time.
type Router struct {
	app     *App
	host    string
	prefix  string
	use     []Handler // that of the groups around it first
	onError ErrorHandler
}

// Get registers a route for GET, which also answers HEAD unless there is a route for that,
// as with Add.
func (g *Router) Get(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodGet, path, handlers...)
}

// Head registers a route for HEAD, as with Add.
func (g *Router) Head(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodHead, path, handlers...)
}

// Post registers a route for POST, as with Add.
func (g *Router) Post(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodPost, path, handlers...)
}

// Put registers a route for PUT, as with Add.
func (g *Router) Put(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodPut, path, handlers...)
}

// Patch registers a route for PATCH, as with Add.
func (g *Router) Patch(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodPatch, path, handlers...)
}

// Delete registers a route for DELETE, as with Add.
func (g *Router) Delete(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodDelete, path, handlers...)
}

// Options registers a route for OPTIONS, which is otherwise answered with Allow, as with
// Add.
func (g *Router) Options(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodOptions, path, handlers...)
}

// Query registers a route for QUERY, as with Add.
func (g *Router) Query(path string, handlers ...any) *Route {
	return g.Add(gallop.MethodQuery, path, handlers...)
}

// All registers a route for every method that no other route with a path that matches has,
// as with Add.
func (g *Router) All(path string, handlers ...any) *Route { return g.Add("", path, handlers...) }

// Add registers a route. A request that matches runs the middleware of the group, and then
// the handlers as far as each calls Next. Methods are case-sensitive, "" is any.
//
// In the path, :name stands for a segment, or for what is before the text that follows in
// the same segment; :name<int;min(1)> is one that meets constraints; and *name, at the
// end, for the rest. A path without a parameter is a route of its own. A backslash makes the next
// byte text. Constraints are int, float, bool, alpha, alnum, hex, uuid, min(n), max(n), len(n), minLen(n), maxLen(n), regex(e),
// datetime(layout), and those of Config. float is a finite decimal number. The expression of regex has to match the whole value.
//
// A handler is a Handler, a slice of them, or what programs for net/http and gallop have: an http.Handler, a
// func(http.ResponseWriter, *http.Request), a func(http.Handler) http.Handler as middleware, or a
// gallop.RequestHandler. See FromHTTP and FromMiddleware for what these find.
//
// Add panics if the path is no pattern, if there are no handlers or one is something else, or if another
// route matches the same requests.
func (g *Router) Add(method, path string, handlers ...any) *Route {
	own := handlersOf(handlers)
	if len(own) == 0 {
		panic("web: route " + joinPath(g.prefix, path) + " has no handlers")
	}
	chain := slices.Concat(g.use, own)
	return g.app.add(&Route{
		app: g.app, method: method, host: g.host, spelled: joinPath(g.prefix, path),
		handlers: chain, onError: g.onError, known: g.app.config.Constraints,
	})
}

// Use adds middleware to the routes that are registered in the group from now on, and in
// groups that are made of it from now on. That of an App also runs for requests that
// match no route. Middleware is what Add takes for a handler.
func (g *Router) Use(middleware ...any) {
	g.app.mu.Lock()
	defer g.app.mu.Unlock()
	g.use = slices.Concat(g.use, handlersOf(middleware))
	g.app.table.Store(nil)
}

// Group returns a group within g, whose paths begin with the prefix, and which has the middleware that g
// has now and what is given. Between prefix and path there is one slash where both have it.
func (g *Router) Group(prefix string, middleware ...any) *Router {
	within := *g
	within.prefix = joinPath(g.prefix, prefix)
	within.use = slices.Concat(g.use, handlersOf(middleware))
	return &within
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

// Host returns a group within g for one host. The pattern is a name, without port, in which a label
// may be a parameter, as ":tenant.example.com"; case does not matter but in names of parameters. Names without parameters come first.
func (g *Router) Host(pattern string, middleware ...any) *Router {
	within := g.Group("", middleware...)
	within.host = pattern
	return within
}

// OnError sets the error handler of the routes that are registered in the group from now
// on.
func (g *Router) OnError(h ErrorHandler) { g.onError = h }

// Mount registers what is under a prefix: an *App or an http.Handler.
//
// Of an application it is the routes that it has now, with the prefix before their paths. They keep their
// middleware, behind that of g, their error handler, their constraints, their names and their hosts; routes for any host
// get g's. What else there is in its configuration does not count.
//
// An http.Handler gets all requests for the prefix and for what is behind it, with any method. It sees the path without the
// prefixes, as routes see it: without dot segments, and with %2F as it is. One that needs the whole path is no matter
// for Mount but for All.
func (g *Router) Mount(prefix string, what any) {
	prefix = strings.TrimSuffix(prefix, "/") // it is a route of its own
	switch what := what.(type) {
	case *App:
		g.mountApp(prefix, what)
	case http.Handler:
		h := FromHTTP(withoutPrefix(what))
		if strings.Trim(g.prefix+prefix, "/") != "" {
			g.All(prefix, h)
		}
		g.All(prefix+"/*", h)
	default:
		panic(fmt.Sprintf("web: cannot mount a %T at %s: it is neither an *App nor an http.Handler", what, g.prefix+prefix))
	}
}

func (g *Router) mountApp(prefix string, other *App) {
	for _, r := range other.Routes() {
		mounted := *r
		mounted.known = maps.Clone(g.app.config.Constraints) // for the prefix
		if mounted.known == nil {
			mounted.known = map[string]Constraint{}
		}
		maps.Copy(mounted.known, r.known)
		mounted.app = g.app
		mounted.spelled = joinPath(joinPath(g.prefix, prefix), r.spelled)
		mounted.handlers = append(append([]Handler(nil), g.use...), r.handlers...)
		if mounted.host == "" {
			mounted.host = g.host
		}
		if mounted.onError == nil {
			mounted.onError = other.config.ErrorHandler
		}
		g.app.add(&mounted)
	}
}

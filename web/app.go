package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/negotiate"
	"github.com/gallop-http/gallop/nethttp"
)

// Config holds the settings of an App. The zero value of each field selects its default. New copies the Config, but not the
// Server that the Config points to.
type Config struct {
	// ErrorHandler responds to requests whose handlers return an error, and to requests that the server refuses (see Ctx.Refused).
	// Nil means DefaultErrorHandler, which responds in plain text. ProblemErrorHandler responds in JSON.
	ErrorHandler ErrorHandler

	// Constraints adds constraints for path parameters to the built-in constraints. The map key is the constraint's name in
	// patterns: the pattern {id<even>} uses the key "even". If the key is the name of a built-in constraint, the new constraint
	// replaces the built-in constraint. Nil adds no constraints.
	Constraints map[string]Constraint

	// Codecs adds body formats. Binder decodes request bodies with the Codecs, and Ctx.Encode and Ctx.AutoFormat encode responses
	// with them. A codec for "application/json" replaces codec.JSON, and a codec for "application/xml" replaces codec.XML. New
	// panics if two codecs have the same media type. If Codecs is nil, the App supports only JSON and XML.
	Codecs []codec.Codec

	// Views renders templates for Ctx.Render and Ctx.RenderPage, for example *Templates. If Views is nil, Ctx.Render and
	// Ctx.RenderPage return an error.
	Views Views

	// Validator checks each struct after Binder has filled it. If Validator is nil, only the rules in the struct tags are checked.
	Validator Validator

	// TrustedProxies are the networks of the proxies in front of the app. If a trusted proxy sends a request, the app takes the
	// client's address, the scheme and the host from proxy headers. ProxyHeaders selects the proxy headers. If TrustedProxies is
	// empty, the app trusts no proxy. If TrustedProxies is not empty, the app also trusts peers on a unix socket. Each proxy must
	// set every selected header. If a proxy does not set a selected header, the proxy must remove this header from requests.
	TrustedProxies []netip.Prefix

	// ProxyHeaders selects the headers that the trusted proxies set. The zero value is XForwarded.
	ProxyHeaders ProxyHeaders

	// OnListen is called just before the app accepts connections from a listener. Use OnListen, for example, to find out which
	// port was chosen for ":0". OnListen runs after Server.OnListen, and the same rules apply to both functions. OnListen may be
	// nil.
	OnListen func(ln net.Listener)

	// By default, the app logs the address of each listener. NoListenLog turns these log lines off.
	NoListenLog bool

	// Server is the server that Listen, Serve and Run use, with its limits and timeouts. Nil means a gallop.Server with default
	// settings.
	//
	// New sets the Server's Handler, and panics if a Handler is already set. Two Apps must not share a Server. If the Server has no
	// ErrorHandler, the App's ErrorHandler also responds to requests that the Server refuses (see Ctx.Refused). If the Server has
	// neither an ErrorLog nor a Logger, New gives the Server an ErrorLog that writes to slog.Default.
	Server *gallop.Server
}

// rootRouter is an unexported name for Router, so that no program can assign the router of an App.
type rootRouter = Router

// App is a web application. An App consists of routes and a server. An App has the methods of Router: Get registers a route, for
// example, and Use adds middleware to all routes. Make an App with New; the methods of the zero App panic. You may add routes while
// the App is serving requests, but only from one goroutine at a time.
type App struct {
	rootRouter
	config Config
	known  knownConstraints
	http   http.Handler          // serves the App to net/http
	codecs codecs                // Config.Codecs, JSON and XML
	accept string                // the media types of bodies that Binder reads
	auto   negotiate.Offers      // the formats of AutoFormat
	table  atomic.Pointer[table] // nil if it has to be built again, because routes or middleware were added
	log    *slog.Logger

	mu       sync.Mutex // guards the fields below and the building of table
	routes   []*Route
	notFound []Handler
	rewrites *rewrites // nil without rules
	draft    *table    // all routes, to find two that match the same requests
}

// New returns an App without routes. New panics if Config.Server already has a Handler, for example because another App uses the
// Server. New also panics if Config.Codecs has a nil codec or a codec without a media type. Two codecs with the same media type
// cause a panic, too.
func New(config Config) *App {
	a := &App{config: config}
	if a.config.ErrorHandler == nil {
		a.config.ErrorHandler = DefaultErrorHandler
	}
	if a.config.Server == nil {
		a.config.Server = new(gallop.Server)
	}
	if a.config.Server.Handler != nil {
		panic("web: New sets the Handler of Config.Server, which is set already: use a Server for each App, and FromGallop for a handler")
	}
	a.known = newKnownConstraints(config.Constraints)
	a.codecs = newCodecs(config.Codecs)
	a.config.TrustedProxies = slices.Clone(config.TrustedProxies)
	a.accept = strings.Join(slices.Concat([]string{typeJSON, typeXML, typeForm, typeMultipart}, a.codecs.names), ", ")
	a.auto = negotiate.NewOffers(negotiate.MediaTypes, slices.Concat([]string{"html", "json", "txt", "xml"}, a.codecs.names)...)
	a.config.Server.Handler = a.serve
	if a.config.Server.ErrorHandler == nil {
		a.config.Server.ErrorHandler = a.refuse
	}
	a.useLog(a.config.Server)
	a.config.Server.OnListen = both(a.config.Server.OnListen, config.OnListen)
	if !config.NoListenLog {
		a.config.Server.OnListen = both(a.logListening, a.config.Server.OnListen)
	}
	a.http = nethttp.ToHTTP(a.serve)
	a.app = a
	a.draft = newTable(nil, nil)
	return a
}

// both returns a function that calls f and then g, either of which may be nil.
func both(f, g func(net.Listener)) func(net.Listener) {
	switch {
	case g == nil:
		return f
	case f == nil:
		return g
	}
	return func(ln net.Listener) {
		f(ln)
		g(ln)
	}
}

// serve handles one request.
func (a *App) serve(request *gallop.RequestCtx) {
	t := a.table.Load()
	if t == nil {
		t = a.makeTable()
	}
	c := ctxPool.Get().(*Ctx)
	c.begin(a, t, request)
	if t.rewrites != nil {
		t.rewrites.apply(c)
	}
	t.find(c)
	if err := c.Next(); err != nil {
		c.fail(err)
	}
	if c.end() {
		ctxPool.Put(c) // skipped by a panic: then a handler's goroutine may still use c
	}
}

// Handler returns the App as a gallop.RequestHandler. Use Handler to serve the App with a server other than Config.Server.
func (a *App) Handler() gallop.RequestHandler { return a.made().serve }

// ServeHTTP implements http.Handler, so that net/http's server can serve the App. See nethttp.ToHTTP for the features that need
// gallop's server.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.made().http.ServeHTTP(w, r) }

// Listen listens on a TCP address, for example ":8080", and serves requests with Config.Server until Shutdown or Close is called.
func (a *App) Listen(addr string) error { return a.server().ListenAndServe(addr) }

// ListenTLS listens on a TCP address and serves HTTPS: see [App.Listen]. The arguments certFile and keyFile name PEM files with the
// certificate and its private key. Clients that support HTTP/2 use HTTP/2.
func (a *App) ListenTLS(addr, certFile, keyFile string) error {
	return a.server().ListenAndServeTLS(addr, certFile, keyFile)
}

// Serve accepts connections from ln and serves them with Config.Server until Shutdown or Close is called.
func (a *App) Serve(ln net.Listener) error { return a.server().Serve(ln) }

// Run accepts connections from ln and serves them until ctx is done. When ctx is done, Run shuts the server down and waits
// for in-flight requests. See [gallop.Server.Run] for the errors and for the time limits of the shutdown.
func (a *App) Run(ctx context.Context, ln net.Listener) error { return a.server().Run(ctx, ln) }

// Addrs returns the addresses that the app listens on, in the order in which Listen, Serve and Run were called. Addrs returns
// nil before the app has started to listen, and after Shutdown or Close.
func (a *App) Addrs() []net.Addr { return a.server().Addrs() }

// Shutdown stops Listen, ListenTLS, Serve and Run, then waits until all in-flight requests have finished or ctx is done.
func (a *App) Shutdown(ctx context.Context) error { return a.server().ShutdownWithContext(ctx) }

// Close closes all listeners and connections at once. Close cuts off in-flight requests and then waits for their handlers to
// return. A handler must not call Close, because Close would wait for that handler.
func (a *App) Close() error { return a.server().Close() }

// server returns Config.Server.
func (a *App) server() *gallop.Server { return a.made().config.Server }

// BodyLimit returns the size in bytes of the largest request body that the server accepts. If the server's StreamRequestBody or
// HeaderReceived is set, BodyLimit returns 0, because no single limit applies to all requests. Middleware can call BodyLimit in
// CheckApp: see [AppChecker].
func (a *App) BodyLimit() int {
	s := a.server()
	if s.StreamRequestBody || s.HeaderReceived != nil {
		return 0
	}
	if s.MaxRequestBodySize > 0 {
		return s.MaxRequestBodySize
	}
	return gallop.DefaultMaxRequestBodySize
}

// NotFound adds handlers that run only for requests that no route matches. The handlers run after the middleware of the App, in
// order of registration. A handler calls [Ctx.Next] to pass the request on. If the last NotFound handler calls Ctx.Next, Next
// returns ErrMethodNotAllowed or ErrNotFound. ErrMethodNotAllowed means that the path has routes for other methods. NotFound
// handlers do not run for an OPTIONS request to a path that has routes.
//
// Use NotFound to serve files in addition to the routes:
//
//	app.NotFound(middleware.Static{Root: "public"}.Handler())
//
// To change the text of 404 responses, set Config.ErrorHandler instead. You may call NotFound before or after you register routes.
// NotFound panics if it is called without handlers or with a nil handler. Router.Mount does not mount the NotFound handlers of an
// App.
func (a *App) NotFound(handlers ...Handler) {
	a.made()
	if len(handlers) == 0 {
		panic("web: NotFound has no handlers: pass at least one")
	}
	for i, h := range handlers {
		if h == nil {
			panic(fmt.Sprintf("web: NotFound: handler %d is nil: pass a function, or leave the argument out", i))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notFound = slices.Concat(a.notFound, handlers)
	a.table.Store(nil)
}

// add registers a route of g. It returns an error if a pattern is malformed, or if another route matches the same requests.
func (a *App) add(r *Route, g *Router) (*Route, error) {
	if err := r.parse(); err != nil { // before locking, because parse calls Config.Constraints
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.draft.add(r); err != nil {
		return nil, err
	}
	g.note(r)
	a.routes = append(a.routes, r)
	a.table.Store(nil)
	return r, nil
}

// makeTable builds the table, unless another goroutine has done so.
func (a *App) makeTable() *table {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.table.Load(); t != nil {
		return t
	}
	t := newTable(a.use, a.notFound)
	t.rewrites = a.rewrites
	for _, r := range a.routes {
		if err := t.add(r); err != nil {
			panic(err) // the draft let it in
		}
	}
	a.table.Store(t)
	return t
}

// Routes returns all routes in order of registration. The slice is a copy.
func (a *App) Routes() []*Route {
	a.made().mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.routes)
}

// URL builds a path from the pattern of the route with the given name: see [Route.As]. Pass the path parameters in pairs, each as
// its name followed by its value:
//
//	path, err := app.URL("user", "id", "7") // "/users/7" for "/users/{id}"
//
// URL escapes the values. URL returns ErrNoRoute if no route has the name. URL also returns an error if a parameter has no
// value, or if a value does not meet the parameter's constraints. URL also rejects a value such as "..", which the App would
// resolve as a dot segment.
func (a *App) URL(name string, pairs ...string) (string, error) {
	if len(pairs)%2 != 0 {
		return "", fmt.Errorf("web: parameter %q of route %q has no value", pairs[len(pairs)-1], name)
	}
	values := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	if r := a.named(name); r != nil {
		return r.url(values)
	}
	return "", fmt.Errorf("%w: %q", ErrNoRoute, name)
}

// named returns the first route with the name, or nil.
func (a *App) named(name string) *Route {
	a.made().mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.routes {
		if r.name == name && name != "" {
			return r
		}
	}
	return nil
}

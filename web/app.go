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

// Config is what an App is made of. The zero value is an application with the defaults.
type Config struct {
	// ErrorHandler responds to requests whose handlers return an error, and to those that the server refuses. The default is
	// DefaultErrorHandler. ProblemErrorHandler responds in JSON.
	ErrorHandler ErrorHandler

	// Constraints adds constraints of parameters, by the name that patterns use. They replace built-in ones of
	// the same name.
	Constraints map[string]Constraint

	// Codecs are further formats, for bodies that Binder reads, and for Ctx.Encode and Ctx.AutoFormat. A codec for
	// "application/json" takes the place of codec.JSON, and one for "application/xml" that of codec.XML. New panics if two have
	// the same media type.
	Codecs []codec.Codec

	// Views renders templates for Ctx.Render, as Templates do; nil for none.
	Views Views

	// Validator looks at what Binder has filled; nil for none.
	Validator Validator

	// TrustedProxies are the networks of the proxies that the app believes when they say where a request comes from and what
	// was asked for. None are trusted by default. Peers on a unix socket are trusted, too, if there are any networks. The
	// proxies have to set all headers of ProxyHeaders, or remove those that clients send.
	TrustedProxies []netip.Prefix

	// ProxyHeaders says which headers the trusted proxies set; XForwarded by default.
	ProxyHeaders ProxyHeaders

	// OnListen is called when the app is about to accept connections from a listener, for example to learn the port that was
	// chosen for ":0". It is called after OnListen of Server, whose rules it shares. The default does nothing.
	OnListen func(ln net.Listener)

	// NoListenLog turns off the line in the log that names the address of each listener.
	NoListenLog bool

	// Server is the server that Listen, Serve and the rest run, with its limits and timeouts. The default is a zero gallop.Server.
	//
	// New sets its Handler, which has to be nil, so one Server serves one App. It sets ErrorHandler, if that is nil, so that the
	// ErrorHandler of the App responds to requests that the server refuses: see Ctx.Refused. If neither ErrorLog nor Logger is
	// set, it sets ErrorLog to a logger that writes to slog.Default.
	Server *gallop.Server
}

// rootRouter is Router under a name that is not exported, so that nobody can assign the router of an App.
type rootRouter = Router

// App is a web application: routes, and the server that sends requests to them. It has the methods of Router, for all its
// routes. It has to be made by New; the methods of the zero App panic. Routes may be added while it serves.
type App struct {
	rootRouter
	config Config
	known  knownConstraints
	http   http.Handler          // the same for net/http
	codecs codecs                // of Config.Codecs, and those that there are without it
	accept string                // the media types of bodies that Binder reads
	auto   negotiate.Offers      // of AutoFormat
	table  atomic.Pointer[table] // nil if routes were added since
	log    *slog.Logger

	mu       sync.Mutex // guards what follows, and who makes table
	routes   []*Route
	notFound []Handler
	draft    *table // of all routes, to find those that are in each other's way
}

// New returns an application without routes. It panics if Config.Server has a Handler already, as the Server of another
// App has.
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

// serve answers a request.
func (a *App) serve(request *gallop.RequestCtx) {
	t := a.table.Load()
	if t == nil {
		t = a.makeTable()
	}
	c := ctxPool.Get().(*Ctx)
	c.begin(a, t, request)
	t.find(c)
	if err := c.Next(); err != nil {
		c.fail(err)
	}
	if c.end() {
		ctxPool.Put(c) // not after a panic: then somebody may still have it
	}
}

// Handler returns the application as a gallop.RequestHandler, for other servers than Config.Server.
func (a *App) Handler() gallop.RequestHandler { return a.made().serve }

// ServeHTTP answers a request of net/http's server, or another server of an http.Handler, HTTP/2 included. See
// nethttp.ToHTTP for what such a server lacks.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.made().http.ServeHTTP(w, r) }

// Listen listens on a TCP address, for example ":8080", and serves with Config.Server until Shutdown or Close.
func (a *App) Listen(addr string) error { return a.server().ListenAndServe(addr) }

// ListenTLS is Listen with TLS. The certificate and its key are in two PEM files.
func (a *App) ListenTLS(addr, certFile, keyFile string) error {
	return a.server().ListenAndServeTLS(addr, certFile, keyFile)
}

// Serve serves the connections of a listener with Config.Server until Shutdown or Close.
func (a *App) Serve(ln net.Listener) error { return a.server().Serve(ln) }

// Run serves the connections of a listener until ctx ends, then shuts down and waits for in-flight requests. See
// [gallop.Server.Run] for its errors, and for the times that bound the shutdown.
func (a *App) Run(ctx context.Context, ln net.Listener) error { return a.server().Run(ctx, ln) }

// Addrs returns the addresses that the app listens on, in the order in which Listen, Serve and Run were called. It returns nil
// before that and after Shutdown or Close.
func (a *App) Addrs() []net.Addr { return a.server().Addrs() }

// Shutdown stops what Listen, ListenTLS, Serve and Run started, then waits for in-flight requests until ctx is done.
func (a *App) Shutdown(ctx context.Context) error { return a.server().ShutdownWithContext(ctx) }

// Close closes all listeners and connections at once. It cuts off in-flight requests and waits for their handlers to
// notice, so a handler must not call it.
func (a *App) Close() error { return a.server().Close() }

// server returns Config.Server.
func (a *App) server() *gallop.Server { return a.made().config.Server }

// BodyLimit returns the size in bytes of the largest request body that the server reads. It returns 0 if the server has
// StreamRequestBody, or if its HeaderReceived sets a limit for each request. It is for an [AppChecker].
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

// NotFound adds handlers that run only for requests that no route matches. They run behind the middleware of the App, in the order
// of the calls. Each handler calls Ctx.Next to pass the request on. Behind the last one Next returns the error of the framework:
// ErrNotFound or, if the path has routes for other methods, ErrMethodNotAllowed. A request for OPTIONS on such a path gets its
// response without them.
//
// Use it for files that stand beside the routes, and for a last word on paths that do not exist:
//
//	app.NotFound(middleware.Static{Root: "public"}.Handler())
//
// To change how a 404 looks, set Config.ErrorHandler instead. NotFound may be called before and after routes are registered. It
// panics if there are no handlers or one is nil. An App that is mounted does not take its NotFound handlers along.
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
	if err := r.parse(); err != nil { // which calls constraints of the program
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

// makeTable makes the table that is missing.
func (a *App) makeTable() *table {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.table.Load(); t != nil {
		return t
	}
	t := newTable(a.use, a.notFound)
	for _, r := range a.routes {
		if err := t.add(r); err != nil {
			panic(err) // the draft let it in
		}
	}
	a.table.Store(t)
	return t
}

// Routes returns all routes, in the order in which they were registered.
func (a *App) Routes() []*Route {
	a.made().mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.routes)
}

// URL returns a path that leads to the route with the name. pairs are names of parameters and their
// values, by turns; the values are escaped.
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

// named returns the first route with the name, nil if there is none.
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

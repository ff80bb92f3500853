package web

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
	"github.com/gallop-http/gallop/nethttp"
)

// Config is what an App is made of. The zero value is an application with the defaults.
type Config struct {
	// ErrorHandler makes answers of errors; DefaultErrorHandler by default.
	ErrorHandler ErrorHandler

	// Constraints are further constraints of parameters, by name. They come before those
	// that there are.
	Constraints map[string]Constraint

	// JSON is the codec of JSON; encoding/json by default.
	JSON Codec

	// Codecs are those of other formats, by media type in lower case, as
	// "application/cbor": for bodies that Binder reads, and for Ctx.Encode and Ctx.AutoFormat.
	Codecs map[string]Codec

	// Views renders templates for Ctx.Render, as Templates do; nil for none.
	Views Views

	// Validator looks at what Binder has filled; nil for none.
	Validator Validator

	// TrustedProxies are the networks of the proxies whose word counts for where a request comes from and what
	// was asked for: X-Forwarded-For, -Proto and -Host. None by default. Peers on a unix socket are trusted, too,
	// if there are any. The proxies have to set all three, or remove what clients send.
	TrustedProxies []netip.Prefix

	// Forwarded makes it the word of the field Forwarded (RFC 7239), and not of the others. It is either, for a
	// proxy that sets one passes the other on as the client has sent it.
	Forwarded bool

	// Server is the server that Listen runs, with its limits and timeouts. It is used
	// itself, and its Handler is set. By default it is a zero gallop.Server.
	Server *gallop.Server
}

// App is a web application: routes, and how requests get to them. It has to be made by New.
// Routes may be added while it serves.
type App struct {
	Router
	config Config
	http   http.Handler          // the same for net/http
	accept string                // the media types of bodies that Binder reads
	auto   negotiate.Offers      // of AutoFormat
	table  atomic.Pointer[table] // nil if routes were added since

	mu     sync.Mutex // guards what follows, and who makes table
	routes []*Route
	draft  *table // of all routes, to find those that are in each other's way
}

// New returns an application without routes.
func New(config Config) *App {
	a := &App{config: config}
	if a.config.ErrorHandler == nil {
		a.config.ErrorHandler = DefaultErrorHandler
	}
	if a.config.JSON == nil {
		a.config.JSON = stdJSON{}
	}
	if a.config.Server == nil {
		a.config.Server = new(gallop.Server)
	}
	a.config.Constraints = maps.Clone(config.Constraints)
	a.config.Codecs = maps.Clone(config.Codecs)
	a.config.TrustedProxies = slices.Clone(config.TrustedProxies)
	others := slices.Sorted(maps.Keys(config.Codecs))
	a.accept = strings.Join(slices.Concat([]string{typeJSON, "application/xml", typeForm, typeMultipart}, others), ", ")
	a.auto = negotiate.NewOffers(negotiate.MediaTypes, slices.Concat([]string{"html", "json", "txt", "xml"}, others)...)
	a.config.Server.Handler = a.Serve
	a.http = nethttp.ToHTTP(a.Serve)
	a.Router.app = a
	a.draft = newTable(nil)
	return a
}

// Serve answers a request; it is the application as a gallop.RequestHandler.
func (a *App) Serve(request *gallop.RequestCtx) {
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

// Handler returns Serve, for whoever serves a gallop.RequestHandler.
func (a *App) Handler() gallop.RequestHandler { return a.Serve }

// ServeHTTP answers a request of net/http or whatever else serves an http.Handler, HTTP/2 included; see
// nethttp.ToHTTP for what such a server lacks.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.http.ServeHTTP(w, r) }

// Listen serves on a TCP address, as Config.Server does, until Shutdown.
func (a *App) Listen(addr string) error { return a.config.Server.ListenAndServe(addr) }

// Listener serves on a listener, as Config.Server does, until Shutdown.
func (a *App) Listener(ln net.Listener) error { return a.config.Server.Serve(ln) }

// ListenTLS is Listen with TLS, with the certificate and the key in the two PEM files.
func (a *App) ListenTLS(addr, certFile, keyFile string) error {
	return a.config.Server.ListenAndServeTLS(addr, certFile, keyFile)
}

// Shutdown stops what these began, and waits for the requests under way until ctx ends.
func (a *App) Shutdown(ctx context.Context) error { return a.config.Server.ShutdownWithContext(ctx) }

// add registers a route. It panics if there cannot be such a one.
func (a *App) add(r *Route) *Route {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := r.parse()
	if err == nil {
		err = a.draft.add(r)
	}
	if err != nil {
		panic(err.Error())
	}
	a.routes = append(a.routes, r)
	a.table.Store(nil)
	return r
}

// makeTable makes the table that is missing.
func (a *App) makeTable() *table {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.table.Load(); t != nil {
		return t
	}
	t := newTable(a.use)
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
	a.mu.Lock()
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
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.routes {
		if r.name == name && name != "" {
			return r
		}
	}
	return nil
}

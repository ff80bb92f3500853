package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Route holds a method, a host and a path pattern, and the handlers for requests that match. [Router.Add] and the other
// registration methods return a Route, which belongs to the App. If you mount one App in another, the outer App gets Routes of
// its own.
type Route struct {
	app      *App
	method   string // "" means any
	host     string // "" means any
	spelled  string
	pattern  pattern
	params   []string // names of parameters, those of the host first
	ofHost   int      // how many of params belong to the host
	handlers []Handler
	options  []Handler // the middleware in handlers, then the framework's response to OPTIONS
	onError  ErrorHandler
	known    knownConstraints
	name     string
}

// parse reads the patterns of path and host.
func (r *Route) parse() error {
	path, err := parsePattern(r.spelled, r.known)
	if err != nil {
		return fmt.Errorf("web: route %s: %w", r.describe(), err)
	}
	host, err := parseHost(r.host)
	if err != nil {
		return fmt.Errorf("web: route %s: %w", r.describe(), err)
	}
	r.pattern, r.params, r.ofHost = path, append(host.names(), path.names()...), len(host.names())
	for i, name := range r.params {
		if slices.Contains(r.params[:i], name) {
			return fmt.Errorf("web: route %s has two parameters of the name %q: rename one", r.describe(), name)
		}
	}
	if len(r.params) > maxParams {
		return fmt.Errorf("web: route %s has more than %d parameters: use {name...} and split its value", r.describe(), maxParams)
	}
	return nil
}

// Method returns the method of the route. The result is "" if the route serves any method.
func (r *Route) Method() string { return r.method }

// Host returns the host pattern of the route. The result is "" if the route serves any host.
func (r *Route) Host() string { return r.host }

// Pattern returns the path pattern of the route, including the prefixes of its groups.
func (r *Route) Pattern() string { return r.spelled }

// Name returns the name that [Route.As] gave the route, or "" if the route has no name.
func (r *Route) Name() string { return r.name }

// As gives the route a name for [App.URL] and [Redirect.Route], and returns r. Routes with the same path pattern may
// share a name, for example the routes for GET and POST. The method panics if a route with a different path pattern already has
// the name.
func (r *Route) As(name string) *Route {
	r.app.mu.Lock()
	defer r.app.mu.Unlock()
	for _, other := range r.app.routes {
		if name != "" && other.name == name && other.spelled != r.spelled {
			panic(fmt.Sprintf("web: the routes %s and %s cannot both be named %q: a name may stand only for routes with the same path", other.spelled, r.spelled, name))
		}
	}
	r.name = name
	return r
}

// param returns the index of the parameter with the name, or -1.
func (r *Route) param(name string) int {
	for i, p := range r.params {
		if p == name {
			return i
		}
	}
	return -1
}

// url returns a path that matches the route. values holds the values of the path parameters by name.
func (r *Route) url(values map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range r.pattern {
		value, ok := values[p.name]
		switch p.kind {
		case textPart:
			b.WriteString((&url.URL{Path: p.text}).EscapedPath())
			continue
		case restPart:
			if hasDotSegment(b.String()+value) || strings.Contains(b.String()+value, "//") { // routing would normalize the path
				return "", r.misread(value, p)
			}
			b.WriteString((&url.URL{Path: "/" + value}).EscapedPath()[1:])
			continue
		}
		if !ok || value == "" {
			return "", fmt.Errorf("web: route %s: parameter %q has no value", r.spelled, p.name)
		}
		if slices.ContainsFunc(p.constraints, func(c constraint) bool { return !c([]byte(value)) }) {
			return "", fmt.Errorf("web: route %s: parameter %q cannot have the value %q", r.spelled, p.name, value)
		}
		if p.text != "" && strings.Index(value+p.text, p.text) != len(value) || value == "." || value == ".." {
			return "", r.misread(value, p)
		}
		b.WriteString(url.PathEscape(value))
		b.WriteString((&url.URL{Path: "/" + p.text}).EscapedPath()[1:])
	}
	return b.String(), nil
}

// misread is the error for a value that a request for the path would not yield again.
func (r *Route) misread(value string, p part) error {
	return fmt.Errorf("web: route %s: a request for the URL would not yield the value %q of parameter %q again", r.spelled, value, p.name)
}

// hasDotSegment reports whether a path has a dot segment, which normalization removes (RFC 3986 §5.2.4).
func hasDotSegment(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Route is a method, a pattern, and the handlers of the requests that match both. It is the
// application's; it must not be changed but by its own methods.
type Route struct {
	app      *App
	method   string // "" is any
	host     string // "" is any
	spelled  string
	pattern  pattern
	params   []string // names, those of the host first
	ofHost   int      // how many are of the host
	handlers []Handler
	options  []Handler // the middleware in handlers, and the response to OPTIONS if the path has no route for that
	onError  ErrorHandler
	known    knownConstraints
	name     string
}

// parse reads the patterns.
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

// Method returns the method, "" for any.
func (r *Route) Method() string { return r.method }

// Host returns the pattern of the host, "" for any.
func (r *Route) Host() string { return r.host }

// Pattern returns the pattern of the path, with the prefixes of its groups.
func (r *Route) Pattern() string { return r.spelled }

// Name returns the name, "" without one.
func (r *Route) Name() string { return r.name }

// As gives the route a name, by which App.URL finds it. It panics if another route has
// the name, unless that has the same pattern: one name may stand for several methods.
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

// param returns which parameter has the name, -1 if none has it.
func (r *Route) param(name string) int {
	for i, p := range r.params {
		if p == name {
			return i
		}
	}
	return -1
}

// url returns a path that matches the route. The values are those of the parameters of
// the path, by name.
func (r *Route) url(values map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range r.pattern {
		value, ok := values[p.name]
		switch p.kind {
		case textPart:
			b.WriteString((&url.URL{Path: p.text}).EscapedPath())
			continue
		case restPart:
			if hasDotSegment(b.String()+value) || strings.Contains(b.String()+value, "//") { // which are merged
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

// misread is the error for a value that a request for the path would not have.
func (r *Route) misread(value string, p part) error {
	return fmt.Errorf("web: route %s: the value %q of parameter %q would be read as another one", r.spelled, value, p.name)
}

// hasDotSegment reports whether a path has a segment that goes when it is read (RFC 3986 §5.2.4).
func hasDotSegment(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

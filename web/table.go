package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
)

// table is what a request's handlers are found in. It does not change once it is in use.
type table struct {
	any       hostTable   // routes for any host
	hosts     []hostTable // others, those without parameters first
	unmatched []Handler   // for requests that match nothing: the middleware and the NotFound handlers of the App, and the last word
	refused   []Handler   // for requests that the server refuses, see refuse
	asterisk  []Handler   // for OPTIONS *
}

// hostTable is the routes for one host.
type hostTable struct {
	host  hostPattern
	trees []methodTree            // one for each method, that of any method last
	usual [usualMethods + 1]*node // the roots of those of usual methods, by usualMethod; the last one is nil
}

// usualMethods is how many methods are found without a search.
const usualMethods = 5

// usualMethod returns the number of a method that is usual, and usualMethods for others.
func usualMethod(method []byte) int {
	switch string(method) {
	case gallop.MethodGet:
		return 0
	case gallop.MethodPost:
		return 1
	case gallop.MethodPut:
		return 2
	case gallop.MethodPatch:
		return 3
	case gallop.MethodDelete:
		return 4
	}
	return usualMethods
}

// methodTree is the routes for one method.
type methodTree struct {
	method string // "" is any
	root   *node
}

// newTable returns a table without routes. use and notFound are those of the App.
func newTable(use, notFound []Handler) *table {
	return &table{
		unmatched: slices.Concat(use, notFound, []Handler{answerUnmatched}),
		asterisk:  slices.Concat(use, []Handler{answerUnmatched}),
		refused:   refusable(use),
	}
}

// add puts a route into the table. It is an error if another one matches the same requests.
func (t *table) add(r *Route) error {
	if other := t.host(r).tree(r.method).root.add(r.pattern, r); other != nil {
		return fmt.Errorf("web: the routes %s and %s match the same requests: change the path, method or host of one, or remove it", other.describe(), r.describe())
	}
	return nil
}

func (r *Route) describe() string {
	return strings.TrimSpace(r.method + " " + r.host + r.spelled)
}

// host returns the routes for the host of r.
func (t *table) host(r *Route) *hostTable {
	if r.host == "" {
		return &t.any
	}
	p, _ := parseHost(r.host) // r has been parsed
	for i := range t.hosts {
		if t.hosts[i].host.matchesAs(p) {
			return &t.hosts[i]
		}
	}
	t.hosts = append(t.hosts, hostTable{host: p})
	slices.SortStableFunc(t.hosts, func(a, b hostTable) int { return len(a.host.names()) - len(b.host.names()) })
	return t.host(r)
}

// tree returns the routes for the method.
func (h *hostTable) tree(method string) *methodTree {
	for i := range h.trees {
		if h.trees[i].method == method {
			return &h.trees[i]
		}
	}
	at := len(h.trees)
	if method != "" && at > 0 && h.trees[at-1].method == "" {
		at--
	}
	root := &node{}
	h.trees = slices.Insert(h.trees, at, methodTree{method, root})
	if n := usualMethod([]byte(method)); n < usualMethods {
		h.usual[n] = root
	}
	return &h.trees[at]
}

// find gives c its route and its handlers.
func (t *table) find(c *Ctx) {
	method := c.request.Method()
	c.path, c.ran = c.request.Path(), 0
	t.findRoute(c, method)
	switch {
	case c.route != nil:
		c.handlers = c.route.handlers
	case string(method) == gallop.MethodOptions:
		t.findOptions(c)
	default:
		c.handlers = t.unmatched
	}
}

// findRoute gives c the route for a method, or nil if no route matches.
func (t *table) findRoute(c *Ctx, method []byte) {
	if len(t.hosts) == 0 || !t.findByHost(c, method) {
		c.route = t.any.find(method, c.path, &c.values, 0)
	}
}

// findOptions finds the handlers for OPTIONS if no route is for that method. The framework responds behind the middleware of a
// route for the path: the one that a CORS preflight asks about, or else that of the first method which is allowed.
func (t *table) findOptions(c *Ctx) {
	if string(c.path) == "*" {
		c.handlers = t.asterisk
		return
	}
	if asked := c.ReqHeaderBytes(gallop.HeaderAccessControlRequestMethod); len(asked) > 0 {
		t.findRoute(c, asked)
	}
	for _, method := range t.allowed(c) {
		if c.route == nil {
			t.findRoute(c, []byte(method))
		}
	}
	if c.handlers = t.unmatched; c.route != nil {
		c.handlers = c.route.options
	}
}

// findByHost is findRoute for the routes of certain hosts. It reports whether there is one.
func (t *table) findByHost(c *Ctx, method []byte) bool {
	for i := range t.hosts {
		h := &t.hosts[i]
		if depth, ok := h.host.match(c.host(), &c.values); ok {
			if c.route = h.find(method, c.path, &c.values, depth); c.route != nil {
				return true
			}
		}
	}
	return false
}

// find returns the route for a request.
func (h *hostTable) find(method, path []byte, values *spans, depth int) *Route {
	n := usualMethod(method)
	if root := h.usual[n]; root != nil {
		if r := root.find(path, values, depth); r != nil {
			return r
		}
	}
	if n == usualMethods {
		if r := h.findUnusual(method, path, values, depth); r != nil {
			return r
		}
	}
	return h.findOther(method, path, values, depth)
}

// findUnusual returns the route for a request with a method that is not usual.
func (h *hostTable) findUnusual(method, path []byte, values *spans, depth int) *Route {
	for i := range h.trees {
		if t := &h.trees[i]; string(method) == t.method {
			return t.root.find(path, values, depth)
		}
	}
	return nil
}

// findOther returns the route for a request whose method has none: HEAD is GET then, and what
// is for any method is for this one.
func (h *hostTable) findOther(method, path []byte, values *spans, depth int) *Route {
	for i := range h.trees {
		t := &h.trees[i]
		if t.method == "" || t.method == gallop.MethodGet && string(method) == gallop.MethodHead {
			if r := t.root.find(path, values, depth); r != nil {
				return r // the tree of any method is the last one
			}
		}
	}
	return nil
}

// allowed returns the methods that have a route for the request's host and path, in
// order, with HEAD and OPTIONS.
func (t *table) allowed(c *Ctx) (methods []string) {
	var values spans
	path := c.request.Path()
	for i := range t.hosts {
		if depth, ok := t.hosts[i].host.match(c.host(), &values); ok {
			methods = t.hosts[i].appendAllowed(methods, path, depth)
		}
	}
	methods = t.any.appendAllowed(methods, path, 0)
	if slices.Contains(methods, gallop.MethodGet) {
		methods = append(methods, gallop.MethodHead)
	}
	if len(methods) > 0 {
		methods = append(methods, gallop.MethodOptions)
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

// appendAllowed appends the methods that have a route for the path. "*", which OPTIONS may ask
// about, has all of them (RFC 9110 §9.3.7).
func (h *hostTable) appendAllowed(methods []string, path []byte, depth int) []string {
	var values spans
	for i := range h.trees {
		t := &h.trees[i]
		if t.method != "" && (bytes.Equal(path, []byte("*")) || t.root.find(path, &values, depth) != nil) {
			methods = append(methods, t.method)
		}
	}
	return methods
}

// answerUnmatched answers what no route matches: OPTIONS if there are others for the path, or
// else with 405 or 404 (RFC 9110 §9.3.7, §15.5.6).
func answerUnmatched(c *Ctx) error {
	methods := c.table.allowed(c)
	if len(methods) == 0 {
		return ErrNotFound
	}
	c.SetHeader(gallop.HeaderAllow, strings.Join(methods, ", "))
	if string(c.request.Method()) == gallop.MethodOptions {
		return c.SendStatus(gallop.StatusNoContent)
	}
	return ErrMethodNotAllowed
}

package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
)

// table finds the handlers of a request. It does not change once it is in use.
type table struct {
	any       hostTable   // routes for any host
	hosts     []hostTable // routes for a host, sorted by the number of parameters
	unmatched []Handler   // for requests that match no route: the middleware and the NotFound handlers of the App, then answerUnmatched
	refused   []Handler   // for requests that the server refuses, see refuse
	asterisk  []Handler   // for OPTIONS *
	rewrites  *rewrites   // nil without rules
}

// hostTable is the routes for one host.
type hostTable struct {
	host  hostPattern
	trees []methodTree            // one for each method; the tree for any method is the last one
	usual [usualMethods + 1]*node // the roots of the trees for common methods, by usualMethod; the last element is nil
}

// usualMethods is the number of common methods, whose trees are found without a search.
const usualMethods = 5

// usualMethod returns the number of a common method, and usualMethods for other methods.
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
	method string // "" means any
	root   *node
}

// newTable returns a table without routes. use and notFound are the middleware and the NotFound handlers of the App.
func newTable(use, notFound []Handler) *table {
	return &table{
		unmatched: slices.Concat(use, notFound, []Handler{answerUnmatched}),
		asterisk:  slices.Concat(use, []Handler{answerUnmatched}),
		refused:   refusable(use),
	}
}

// add adds a route to the table. It returns an error if another route matches the same requests.
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

// find sets the route and the handlers of c.
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

// findRoute sets the route of c to the one for a method, or to nil if no route matches.
func (t *table) findRoute(c *Ctx, method []byte) {
	if len(t.hosts) == 0 || !t.findByHost(c, method) {
		c.route = t.any.find(method, c.path, &c.values, 0)
	}
}

// findOptions finds the handlers for an OPTIONS request that matches no OPTIONS route. The framework responds after the middleware of
// a route for the path. It is the route that a CORS preflight asks about, or else the route of the first allowed method.
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

// findByHost sets the route of c from the routes for a host. It reports whether there is one.
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

// findUnusual returns the route for a request whose method is not a common one, or nil.
func (h *hostTable) findUnusual(method, path []byte, values *spans, depth int) *Route {
	for i := range h.trees {
		if t := &h.trees[i]; string(method) == t.method {
			return t.root.find(path, values, depth)
		}
	}
	return nil
}

// findOther returns the route for a request whose own method has no route: the GET route for HEAD, or else a route for any method.
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

// allowed returns the methods that have a route for the host and the path of the request, sorted, with HEAD and OPTIONS.
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

// appendAllowed appends the methods that have a route for the path. For the path "*" of an OPTIONS request, it appends all methods
// (RFC 9110 §9.3.7).
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

// answerUnmatched handles requests that no route matches. It responds to OPTIONS with 204 if the path has routes, and returns the
// error for 405 or 404 in other cases (RFC 9110 §9.3.7, §15.5.6).
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

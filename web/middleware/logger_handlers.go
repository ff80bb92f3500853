package middleware

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// logHandlers are the results of WithAttrs with the attributes method and route. There is one for each route and method.
type logHandlers struct {
	mu    sync.Mutex // held while known is replaced
	known atomic.Pointer[knownLogHandlers]
}

// knownLogHandlers are the handlers that were made from one slog.Logger. They do not change.
type knownLogHandlers struct {
	log  *slog.Logger
	none bool                              // the slog.Handler does not support WithAttrs
	of   map[*web.Route][]logMethodHandler // nil is the key of requests that no route matches
}

// logMethodHandler is the handler for one method of a route.
type logMethodHandler struct {
	method  string
	handler slog.Handler
}

// find returns the handler for a request, and reports whether it already has the attributes method and route.
func (l *logHandlers) find(log *slog.Logger, route *web.Route, method string) (h slog.Handler, named bool) {
	known := l.known.Load()
	if known == nil || known.log != log {
		return l.add(log, route, method)
	}
	if known.none {
		return log.Handler(), false
	}
	for _, m := range known.of[route] {
		if m.method == method {
			return m.handler, true
		}
	}
	return l.add(log, route, method)
}

// add is find for a route and a method that are not known yet.
func (l *logHandlers) add(log *slog.Logger, route *web.Route, method string) (h slog.Handler, named bool) {
	plain := log.Handler()
	switch method {
	case gallop.MethodGet, gallop.MethodHead, gallop.MethodPost, gallop.MethodPut, gallop.MethodPatch, gallop.MethodDelete, gallop.MethodOptions:
	default: // clients choose the method, so there could be any number
		return plain, false
	}
	names := new(logAttrs) // which h may keep
	names.addNames(route, method)
	h = plain.WithAttrs(names.room[:names.n:names.n])
	named = keepsAttrs(plain, h)
	l.mu.Lock()
	defer l.mu.Unlock()
	next := &knownLogHandlers{log: log, none: !named, of: map[*web.Route][]logMethodHandler{}}
	if known := l.known.Load(); known != nil && known.log == log {
		if known.none {
			return plain, false
		}
		for _, m := range known.of[route] {
			if m.method == method { // another request was faster
				return m.handler, true
			}
		}
		maps.Copy(next.of, known.of)
	}
	next.of[route] = append(slices.Clip(next.of[route]), logMethodHandler{method, h})
	l.known.Store(next)
	if !named {
		h = plain
	}
	return h, named
}

// keepsAttrs reports whether with, the result of WithAttrs of plain, can take the place of plain. A type that embeds another
// slog.Handler and has only its own Handle would be lost: its WithAttrs is that of the embedded handler. Other types ignore the
// attributes and return themselves.
func keepsAttrs(plain, with slog.Handler) bool {
	v := reflect.ValueOf(plain)
	return reflect.TypeOf(with) == v.Type() && !(v.Comparable() && with == plain)
}

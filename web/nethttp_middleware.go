package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gallop-http/gallop"
)

// FromMiddleware adapts net/http middleware to a Handler:
//
//	app.UseFunc(web.FromMiddleware(func(next http.Handler) http.Handler { ... }))
//
// If the middleware calls next, the handlers that follow run. The framework writes the response of the handlers to the
// ResponseWriter that the middleware passed to next. If the handlers return an error, the framework writes the error handler's
// response instead. A net/http handler writes directly to the middleware's ResponseWriter.
//
// Response headers that the handlers set replace headers that the middleware set. For Link, Server-Timing, Set-Cookie, Vary
// and WWW-Authenticate, the response keeps the values of the handlers and of the middleware. A handler can replace the
// middleware's Content-Type, for example with [Ctx.Type]. The default Content-Type of a method such as [Ctx.SendString] does
// not replace the middleware's Content-Type.
//
// The handlers that follow see the middleware's changes to the request headers and the context. If the middleware changes the
// method, the path, the body or the remote address, only net/http handlers see the change.
//
// Middleware such as [http.TimeoutHandler] may return while later handlers are still running. The server then waits until the handlers
// have returned, and sends the middleware's response. If the middleware calls next a second time for the same request, the second call
// does nothing.
//
// FromMiddleware calls the middleware function once. FromMiddleware panics if this function is nil or returns nil.
func FromMiddleware(middleware func(http.Handler) http.Handler) Handler {
	if middleware == nil {
		panic("web: FromMiddleware: the middleware is nil: pass a function")
	}
	h := middleware(http.HandlerFunc(next))
	if h == nil {
		panic("web: FromMiddleware: the middleware has returned a nil handler")
	}
	return FromHTTP(layerHandler{h})
}

// layer is net/http middleware around the handlers that Next runs. It holds the ResponseWriter and the request that the middleware
// passed on.
//
// Middleware may pass a request on to another goroutine and write a response itself at the same time. The underlying ResponseWriter
// writes to the response of the Ctx, so the users of the Ctx and the writers take turns at the gate. The handlers behind hold the
// gate, except while one of net/http runs, and each write holds it.
type layer struct {
	w      http.ResponseWriter
	r      *http.Request
	native bool // the response is written to w and is not in the Ctx
	gate   *gate

	mu   sync.Mutex // held while Next runs; locked before the gate
	over bool       // Next must not run again
}

// gate is shared by a layer and the layers within it.
type gate struct {
	sync.Mutex
	begun bool // a part of a response was written
}

// leave opens the gate for a handler that writes to w. back closes it again.
func (l *layer) leave() (back func()) {
	l.native = true
	l.gate.Unlock()
	return l.gate.Lock
}

// layerHandler is net/http middleware. Once it has returned, the handlers behind it cannot start any more.
type layerHandler struct{ http.Handler }

func (h layerHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _ := CtxOf(r)
	l := &layer{}
	if c.layer != nil {
		l.gate = c.layer.gate
	} else {
		l.gate = new(gate)
		w = gatedWriter{w, l.gate}
	}
	defer func() {
		l.mu.Lock()
		l.over = true
		l.mu.Unlock()
	}()
	h.Handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), layerKey{}, call{c, l})))
}

// layerKey is the key of a call.
type layerKey struct{}

// call is one call of middleware.
type call struct {
	c *Ctx
	l *layer
}

// next is the http.Handler that middleware wraps. It runs the handlers behind.
func next(w http.ResponseWriter, r *http.Request) {
	call, ok := r.Context().Value(layerKey{}).(call)
	if !ok {
		panic("web: FromMiddleware: the middleware passed on a request without the context of the request that it got")
	}
	c, l := call.c, call.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over, l.w, l.r = true, w, r
	defer passAbort()
	if a := l.run(c); a != nil {
		a.writeTo(w)
	}
}

// passAbort, deferred, turns gallop's ErrAbortHandler into net/http's. Middleware that recovers from panics passes http.ErrAbortHandler
// on. It would treat gallop's value as a failure and end a response that broke off as if it were complete. nethttp translates the
// value in the same way, but exports no function for that.
func passAbort() {
	switch v := recover(); v {
	case nil:
	case gallop.ErrAbortHandler:
		panic(http.ErrAbortHandler)
	default:
		panic(v)
	}
}

// run runs the handlers behind and returns their response, or nil if they have written it.
func (l *layer) run(c *Ctx) *answer {
	l.gate.Lock()
	defer l.gate.Unlock()
	defer l.enter(c)()
	c.takeFields(l.r.Header)
	err := c.Next()
	switch {
	case err != nil && c.streaming:
		c.abort(err)
	case err != nil && l.native && l.gate.begun:
		if c.MarkErrorLogged() {
			c.Log().Error("error after the response was written", slog.Any("error", err))
		}
		return nil
	case err != nil:
		c.fail(err)
	case l.native:
		return nil
	}
	return c.takeAnswer()
}

// enter puts c into the layer. leave takes c out, and drops a response that was not written, because middleware may recover from a
// panic.
func (l *layer) enter(c *Ctx) (leave func()) {
	outer := c.layer
	context := c.context.Swap(&setContext{Context: l.r.Context()})
	c.layer = l
	return func() {
		c.layer = outer
		c.context.Store(context)
		if !l.native {
			c.request.ResetBody()
			c.request.SetStatusCode(gallop.StatusOK)
		}
	}
}

// takeFields sets the request headers to those in h, except the headers that frame the message.
func (c *Ctx) takeFields(h http.Header) {
	own := &c.request.Request.Header
	var gone []string
	for name := range own.All() {
		key := http.CanonicalHeaderKey(string(name))
		if _, there := h[key]; !there && !slices.Contains(framing, key) {
			gone = append(gone, key)
		}
	}
	for _, name := range gone {
		own.Del(name)
	}
	for name, values := range h {
		if slices.Contains(framing, name) || slices.EqualFunc(own.PeekAll(name), values, func(a []byte, b string) bool { return string(a) == b }) {
			continue
		}
		own.Del(name)
		for _, value := range values {
			own.Add(name, value)
		}
	}
}

// framing are the headers that frame a message, and Host.
var framing = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Expect", "Upgrade"}

// answer is a response that was taken out of a Ctx.
type answer struct {
	status int
	fields [][2]string
	chosen string // the Content-Type, if no handler has set one
	body   []byte
	stream io.Reader // instead of a body
	size   int       // -1 if it is unknown
}

// takeAnswer takes the response out of c.
func (c *Ctx) takeAnswer() *answer {
	from := &c.request.Response
	a := &answer{status: from.StatusCode()}
	if a.stream, a.size = from.TakeBodyStream(); a.stream == nil {
		if a.body = from.SwapBody(nil); len(a.body) > 0 {
			a.size = len(a.body)
		} else if length := from.Header.ContentLength(); length > 0 && c.request.IsHead() { // the size of the body of GET
			a.size = length
		}
	}
	for name, value := range from.Header.All() {
		key := http.CanonicalHeaderKey(string(name))
		if key != "Date" && key != gallop.HeaderContentType && !slices.Contains(framing, key) {
			a.fields = append(a.fields, [2]string{key, string(value)})
		}
	}
	switch t := from.Header.ContentType(); {
	case len(t) == 0 || a.stream == nil && len(a.body) == 0 && !c.streaming:
	case c.hasType():
		a.fields = append(a.fields, [2]string{gallop.HeaderContentType, string(t)})
	default:
		a.chosen = string(t)
	}
	c.resetAnswer()
	return a
}

// resetAnswer empties the response in c. It keeps the connection header and the trailers, because they do not pass through
// middleware.
func (c *Ctx) resetAnswer() {
	r := &c.request.Response
	last, announced := r.ConnectionClose(), string(r.Header.Peek(gallop.HeaderTrailer))
	var trailers [][2]string
	for name, value := range r.Header.AllTrailers() {
		trailers = append(trailers, [2]string{string(name), string(value)})
	}
	if r.Reset(); last {
		r.SetConnectionClose()
	}
	if announced == "" {
		return
	}
	r.Header.AddTrailer(announced)
	for _, trailer := range trailers {
		r.Header.Add(trailer[0], trailer[1])
	}
}

// writeHead writes the status and the headers. They replace headers that middleware has set, as if the handler had set them in w,
// except for the joint headers.
func (a *answer) writeHead(w http.ResponseWriter) {
	h := w.Header()
	for _, field := range a.fields {
		if !slices.Contains(joint, field[0]) {
			delete(h, field[0])
		}
	}
	for _, field := range a.fields {
		h.Add(field[0], field[1])
	}
	if _, set := h[gallop.HeaderContentType]; !set && a.chosen != "" {
		h.Set(gallop.HeaderContentType, a.chosen)
	}
	w.WriteHeader(a.status)
}

// joint are the response headers to which both middleware and handlers add.
var joint = []string{"Link", "Server-Timing", "Set-Cookie", "Vary", "Www-Authenticate"}

// writeTo writes a to w.
func (a *answer) writeTo(w http.ResponseWriter) {
	if a.size >= 0 && a.status >= 200 && a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		w.Header().Set(gallop.HeaderContentLength, strconv.Itoa(a.size))
	}
	a.writeHead(w)
	if a.stream == nil {
		w.Write(a.body)
		return
	}
	if closer, ok := a.stream.(io.Closer); ok {
		defer closer.Close()
	}
	if _, err := io.Copy(w, a.stream); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// stream sends the head of the response through the layer and returns the body. The caller calls end after the last write.
func (l *layer) stream(c *Ctx) (out outStream, end func()) {
	c.streaming = true
	a := c.takeAnswer()
	end = l.leave()
	a.writeHead(l.w)
	return layerStream{l.w, http.NewResponseController(l.w)}, end
}

// layerStream is the body of a response behind middleware.
type layerStream struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Flush implements outStream. It does nothing if the middleware cannot flush.
func (s layerStream) Flush() error {
	if err := s.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// gatedWriter is the ResponseWriter of nethttp, behind a gate.
type gatedWriter struct {
	http.ResponseWriter
	gate *gate
}

// enter locks the gate for a write.
func (w gatedWriter) enter() {
	w.gate.Lock()
	w.gate.begun = true
}

func (w gatedWriter) WriteHeader(status int) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.gate.begun = w.gate.begun || status >= 200 || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

func (w gatedWriter) Write(p []byte) (int, error) {
	w.enter()
	defer w.gate.Unlock()
	return w.ResponseWriter.Write(p)
}

// WriteString implements io.StringWriter.
func (w gatedWriter) WriteString(s string) (int, error) {
	w.enter()
	defer w.gate.Unlock()
	return io.WriteString(w.ResponseWriter, s)
}

// ReadFrom implements io.ReaderFrom.
func (w gatedWriter) ReadFrom(r io.Reader) (int64, error) {
	w.enter()
	defer w.gate.Unlock()
	return io.Copy(w.ResponseWriter, r)
}

// Flush implements http.Flusher.
func (w gatedWriter) Flush() { w.FlushError() }

// FlushError implements the method that http.ResponseController.Flush calls.
func (w gatedWriter) FlushError() error {
	w.enter()
	defer w.gate.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (w gatedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.enter()
	defer w.gate.Unlock()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController use the features of the original ResponseWriter that gatedWriter does not have.
func (w gatedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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

// FromMiddleware returns net/http's middleware as a Handler. What it passes on runs the handlers behind it; their answer, as the
// error handler has left it if there was an error, is written to the ResponseWriter that it passes on. A handler of net/http
// that is one of them writes there itself. Fields of the answer take the place of those that the middleware has set, but for
// Set-Cookie, Vary and others to which both add. A Content-Type that the middleware has set is replaced only by one that a
// handler sets, as with [Ctx.Type], and not by the type that a method such as [Ctx.SendString] chooses.
//
// Fields that it sets in the request or removes from it, and the request's context, are seen by the handlers behind it. Another
// method, path, body or remote address is seen by those of net/http only. If it returns while what it has passed the
// request on to still runs, as http.TimeoutHandler does, the answer waits for that; passed on again, nothing runs.
//
// FromMiddleware calls the function once. It panics if that is nil or returns nil.
func FromMiddleware(middleware func(http.Handler) http.Handler) Handler {
	if middleware == nil {
		panic("web: FromMiddleware: the middleware is nil")
	}
	h := middleware(http.HandlerFunc(next))
	if h == nil {
		panic("web: FromMiddleware: the middleware has returned a nil handler")
	}
	return FromHTTP(layerHandler{h})
}

// layer is middleware around the handlers that Next runs: the ResponseWriter and the request that it passes on.
//
// Middleware may pass a request on to another goroutine, and answer itself meanwhile, so who uses the Ctx and who writes to the
// ResponseWriter beneath, whose answer the Ctx holds, have to take turns: the gate is held by the handlers behind, except
// while one of net/http runs, and by each write.
type layer struct {
	w      http.ResponseWriter
	r      *http.Request
	native bool // the answer is written to w and is not in the Ctx
	gate   *gate

	mu   sync.Mutex // held while Next runs, and before the gate
	over bool       // Next may not run any more
}

// gate is what a layer has in common with those in it.
type gate struct {
	sync.Mutex
	begun bool // something of an answer was written
}

// leave lets go of the Ctx for a handler that writes to w, until the function is called that it returns.
func (l *layer) leave() (back func()) {
	l.native = true
	l.gate.Unlock()
	return l.gate.Lock
}

// layerHandler is middleware. When it has returned nothing behind it runs.
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

// call is one of middleware.
type call struct {
	c *Ctx
	l *layer
}

// next is what middleware passes requests on to.
func next(w http.ResponseWriter, r *http.Request) {
	call, ok := r.Context().Value(layerKey{}).(call)
	if !ok {
		panic("web: middleware of net/http has passed on a request without its context")
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

// passAbort, deferred, makes net/http's ErrAbortHandler of gallop's: middleware that recovers lets that one pass, and
// would take the other for a failure, and an answer that broke off for a whole one.
func passAbort() {
	switch v := recover(); v {
	case nil:
	case gallop.ErrAbortHandler:
		panic(http.ErrAbortHandler)
	default:
		panic(v)
	}
}

// run runs the handlers behind, and returns their answer; nil if they have written it.
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

// enter puts c into the layer, until the function is called that it returns. After a panic, which
// middleware may recover from, nothing is left of an answer that was not written.
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

// takeFields makes the fields of the request what they are in h, except for those that frame the message.
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

// framing are the fields that say how a message is framed, and where it goes.
var framing = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Expect", "Upgrade"}

// answer is one that was taken out of a Ctx.
type answer struct {
	status int
	fields [][2]string
	chosen string // the Content-Type, if no handler has set it
	body   []byte
	stream io.Reader // instead of a body
	size   int       // -1 if it is not known
}

// takeAnswer takes the answer out of c.
func (c *Ctx) takeAnswer() *answer {
	from := &c.request.Response
	a := &answer{status: from.StatusCode()}
	if a.stream, a.size = from.TakeBodyStream(); a.stream == nil {
		if a.body = from.SwapBody(nil); len(a.body) > 0 {
			a.size = len(a.body)
		} else if length := from.Header.ContentLength(); length > 0 && c.request.IsHead() { // of the body that is not sent
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

// resetAnswer makes the answer in c empty. What it says of the connection, and of trailers, stays: that is no matter of
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

// writeHead writes what comes before the body. Fields take the place of those that middleware has set, as if the handler had
// set them in w, but for those that both add to.
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

// joint are the fields of an answer to which middleware and handlers add.
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

// stream sends the head of the answer through the layer, and returns the body. end has to be called when nothing is
// written any more.
func (l *layer) stream(c *Ctx) (out outStream, end func()) {
	c.streaming = true
	a := c.takeAnswer()
	end = l.leave()
	a.writeHead(l.w)
	return layerStream{l.w, http.NewResponseController(l.w)}, end
}

// layerStream is the body of an answer behind middleware.
type layerStream struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Flush implements outStream. Middleware that cannot flush has what was written.
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

// enter enters the gate to write.
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

// FlushError is what http.ResponseController.Flush calls.
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

// Unwrap is for what http.ResponseController can do besides.
func (w gatedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

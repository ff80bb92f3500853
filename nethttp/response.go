package nethttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// smallAnswer is how many bytes of a body are gathered before the response is streamed. A smaller response gets a
// Content-Length.
const smallAnswer = 4 << 10

// largeAnswer is the maximum size of a response body, in bytes, that Gather keeps in memory.
const largeAnswer = 16 << 20

// sniffed is how many bytes http.DetectContentType looks at.
const sniffed = 512

// response is the http.ResponseWriter. It gathers a small body in ctx.Response, and sends a larger one through a
// gallop.ResponseStream.
//
//	Header():       handler's map, copied to ctx.Response by WriteHeader
//	before begin(): body in ctx.Response, sent by the server when the handler has returned
//	after:          body in stream
type response struct {
	mu       sync.Mutex
	ctx      *gallop.RequestCtx // nil once the handler has returned
	x        *exchange          // exchange that contains this response
	how      *handling
	gone     chan bool // made by the first call of CloseNotify
	stream   *gallop.ResponseStream
	tunnel   *tunnel // if the request is a CONNECT over HTTP/2
	header   http.Header
	status   int   // 0 before WriteHeader
	length   int64 // as announced, or -1
	written  int64
	typed    bool // do not guess the Content-Type
	noLength bool // do not send a Content-Length
	trailers bool // some were announced
	untyped  bool // ctx.Response had no default Content-Type before
	http2    bool // the request came over HTTP/2
	over     bool // more was written than announced
	alone    bool // there is no server: nothing can be streamed
	hijacked bool

	announced *announcement // trailers, by the handler
	foreign   bool          // others have announced trailers before
}

// http10 is the version of responses to HTTP/1.0 requests, the same as in net/http.
var http10 = []byte("HTTP/1.0")

var errOver = errors.New("nethttp: ResponseWriter used after the handler has returned")

func (w *response) init(ctx *gallop.RequestCtx, x *exchange, how *handling) {
	w.ctx, w.x, w.length, w.how = ctx, x, -1, how
	w.http2 = x.req.ProtoMajor == 2
	if !ctx.Request.Header.IsHTTP11() {
		ctx.Response.Header.SetProtocol(http10)
	}
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status)
}

// writeHeader is WriteHeader. w is locked, as for all methods below that are not exported.
func (w *response) writeHeader(status int) {
	switch {
	case w.ctx == nil:
		return
	case w.hijacked:
		w.logf("WriteHeader on a hijacked connection")
		return
	case w.status != 0:
		w.logf("superfluous WriteHeader")
		return
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	case status < 200 && status != http.StatusSwitchingProtocols:
		w.writeInterim(status)
		return
	}
	w.status = status
	w.ctx.Response.SetStatusCode(status)
	if http.StatusText(status) == "" {
		w.ctx.Response.Header.SetStatusMessage(fmt.Appendf(nil, "status code %d", status))
	}
	w.copyHeader()
	if !w.http2 && w.x.isTooLarge(status) {
		w.ctx.SetConnectionClose()
	}
}

// presetStatus returns the status of a response for which the handler has not called WriteHeader: the status that
// ctx.Response had before, or 200.
func (w *response) presetStatus() int { return max(w.ctx.Response.StatusCode(), http.StatusOK) }

// writeInterim sends an interim response with the header fields that are set.
func (w *response) writeInterim(status int) {
	h := &w.ctx.Response.Header
	var before gallop.ResponseHeader
	h.CopyTo(&before)
	var room [16]string
	for _, name := range sortedNames(room[:0], w.header) {
		if name != http.CanonicalHeaderKey(name) {
			h.DisableNormalizing()
		}
		for _, value := range w.header[name] {
			h.Add(name, oneLine(value))
		}
	}
	w.ctx.WriteInterim(status)
	before.CopyTo(h)
}

// logf writes to the server's log what the handler did, and where.
func (w *response) logf(what string) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "github.com/gallop-http/gallop/nethttp.(*response)") || !more {
			w.ctx.Logger().Printf("nethttp: %s by %s (%s:%d)", what, frame.Function, frame.File, frame.Line)
			return
		}
	}
}

// mayHaveBody reports whether the status is one of answers with a body.
func (w *response) mayHaveBody() bool {
	return w.status >= 200 && w.status != http.StatusNoContent && w.status != http.StatusNotModified
}

// ready sees to it that p more bytes may be written.
func (w *response) ready(p int) error {
	switch {
	case w.ctx == nil:
		return errOver
	case w.hijacked:
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.writeHeader(w.presetStatus())
	}
	switch {
	case p == 0:
		return nil
	case !w.mayHaveBody():
		return http.ErrBodyNotAllowed
	case w.over || w.length >= 0 && w.written+int64(p) > w.length:
		w.over = true // what comes next belongs behind what is missing
		return http.ErrContentLength
	}
	return nil
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(len(p)); err != nil {
		return 0, err
	}
	if w.fits(len(p)) {
		w.gather(p)
	} else if err := w.send(p); err != nil {
		return 0, err
	}
	w.written += int64(len(p))
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(p string) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(len(p)); err != nil {
		return 0, err
	}
	if w.fits(len(p)) {
		w.gather(gallop.UnsafeBytes(p))
	} else if err := w.send(gallop.UnsafeBytes(p)); err != nil {
		return 0, err
	}
	w.written += int64(len(p))
	return len(p), nil
}

// gather keeps p for a response that is sent as a whole. For HEAD it keeps p only if the length or the content type of the
// body is still unknown.
func (w *response) gather(p []byte) {
	if w.length < 0 || !w.typed || !w.ctx.IsHead() {
		w.ctx.Response.AppendBody(p)
	}
}

// fits reports whether n more bytes are gathered rather than sent.
func (w *response) fits(n int) bool {
	most := int64(smallAnswer)
	if w.how.gathers {
		most = largeAnswer
	}
	return w.alone || w.stream == nil && !w.noLength && !w.tunnels() && w.written+int64(n) <= most
}

// send writes p to the stream, which it begins.
func (w *response) send(p []byte) error {
	if err := w.begin(p); err != nil {
		return err
	}
	switch {
	case w.alone:
		w.ctx.Response.AppendBody(p)
		return nil
	case w.tunnels():
		_, err := w.tunnel.conn.Write(p)
		return err
	}
	_, err := w.stream.Write(p)
	return err
}

// begin sends the head, if it was not sent. next is what is written next.
func (w *response) begin(next []byte) error {
	if w.stream != nil || w.alone {
		return nil
	}
	if w.tunnels() {
		err := w.tunnel.accept(w.ctx)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		w.tunnel.end() // there is no server
		w.tunnel = nil
	}
	w.guessType(next)
	s, err := w.ctx.StreamResponse()
	switch {
	case err == nil:
		w.stream = s
	case errors.Is(err, errors.ErrUnsupported): // there is no server
		w.alone = true
	default:
		return err
	}
	return nil
}

// orNotSupported returns what callers of http.ResponseController look for if there is no server.
func orNotSupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return http.ErrNotSupported
	}
	return err
}

// guessType sets Content-Type by what the body begins with, unless the handler has
// said something. next comes behind what was gathered.
func (w *response) guessType(next []byte) {
	if w.typed {
		return
	}
	w.typed = true
	var room [sniffed]byte
	begin := next
	if w.written > 0 {
		begin = append(room[:0], firstOf(w.ctx.Response.Body())...)
		begin = append(begin, next[:min(len(next), sniffed-len(begin))]...)
	}
	if len(begin) > 0 {
		w.ctx.Response.Header.SetContentType(http.DetectContentType(begin))
	}
}

func firstOf(p []byte) []byte { return p[:min(len(p), sniffed)] }

// Flush implements http.Flusher.
func (w *response) Flush() { w.FlushError() }

// FlushError implements the method that http.ResponseController.Flush calls.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(0); err != nil {
		return err
	}
	if w.switches() {
		return nil // the head leaves with Hijack
	}
	if err := w.begin(nil); err != nil {
		return err
	}
	switch {
	case w.alone:
		return http.ErrNotSupported
	case w.tunnels():
		return nil // every Write is sent at once
	}
	return w.stream.Flush()
}

// switches reports whether the connection is to be something else behind the head: another protocol, or a tunnel.
func (w *response) switches() bool {
	return w.stream == nil && w.written == 0 && w.tunnel == nil &&
		(w.status == http.StatusSwitchingProtocols || w.ctx.IsConnect() && w.status/100 == 2)
}

// SetReadDeadline implements the method that http.ResponseController.SetReadDeadline calls.
func (w *response) SetReadDeadline(t time.Time) error {
	return w.setDeadline((*gallop.RequestCtx).SetReadDeadline, net.Conn.SetReadDeadline, t)
}

// SetWriteDeadline implements the method that http.ResponseController.SetWriteDeadline calls.
func (w *response) SetWriteDeadline(t time.Time) error {
	return w.setDeadline((*gallop.RequestCtx).SetWriteDeadline, net.Conn.SetWriteDeadline, t)
}

func (w *response) setDeadline(set func(*gallop.RequestCtx, time.Time) error, ofTunnel func(net.Conn, time.Time) error, t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	if w.tunnel != nil {
		return w.tunnel.limit(func(c net.Conn) error { return ofTunnel(c, t) })
	}
	return orNotSupported(set(w.ctx, t))
}

// CloseNotify implements http.CloseNotifier, which old programs and gin's Context.Stream use. The channel gets a value
// when the client has disconnected or the handler has returned.
func (w *response) CloseNotify() <-chan bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone == nil {
		gone := make(chan bool, 1)
		w.gone = gone
		context.AfterFunc(&w.x.ctx, func() { gone <- true })
	}
	return w.gone
}

// EnableFullDuplex implements the method that http.ResponseController.EnableFullDuplex calls. A handler can read the body
// while it writes the response without calling EnableFullDuplex. After the call, the server does not read ahead in the
// body to decide whether to keep the connection open.
func (w *response) EnableFullDuplex() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return errOver
	}
	w.ctx.Request.FullDuplex = true
	return nil
}

// Hijack implements http.Hijacker.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx == nil:
		return nil, nil, errOver
	case w.hijacked:
		return nil, nil, http.ErrHijacked
	}
	if err := w.ctx.HijackErr(); err != nil {
		return nil, nil, orNotSupported(err)
	}
	if w.status == 0 {
		w.ctx.HijackSetNoResponse(true)
	}
	if w.written > 0 {
		if err := w.begin(nil); err != nil {
			return nil, nil, err
		}
	}
	conn, err := w.ctx.HijackConn()
	if err != nil {
		w.ctx.HijackSetNoResponse(false)
		return nil, nil, orNotSupported(err)
	}
	w.hijacked, w.stream = true, nil
	return hijackedBuffers(conn)
}

// hijackedBuffers returns a connection, and buffers in which what came before stands.
func hijackedBuffers(conn net.Conn) (net.Conn, *bufio.ReadWriter, error) {
	ahead, ok := conn.(interface {
		Buffered() int
		NetConn() net.Conn
	})
	if !ok {
		return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
	}
	n := ahead.Buffered()
	r := bufio.NewReaderSize(conn, max(n, 4096))
	if _, err := r.Peek(n); err != nil {
		return nil, nil, err
	}
	conn = ahead.NetConn()
	return conn, bufio.NewReadWriter(r, bufio.NewWriter(conn)), nil
}

// end completes the response if the handler has returned. Afterwards the handler cannot change it.
func (w *response) end(returned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if returned && !w.hijacked {
		w.finish()
	}
	if w.tunnel != nil {
		w.tunnel.end()
	}
	w.ctx, w.stream = nil, nil
}

// finish leaves a complete response to the server.
func (w *response) finish() {
	if w.status == 0 {
		w.writeHeader(w.presetStatus())
	}
	if w.tunnels() {
		w.begin(nil)
		return
	}
	if w.status == http.StatusSwitchingProtocols && w.stream == nil {
		if conn, err := w.ctx.HijackConn(); err == nil { // nothing else uses the connection
			conn.Close()
			return
		}
	}
	if w.ctx.IsConnect() && w.switches() && w.how.server != nil {
		w.ctx.Hijack(w.how.serveTunnel)
	}
	short := w.mayHaveBody() && !w.ctx.IsHead() && w.length > w.written
	if short || w.trailers || w.noLength && w.mayHaveBody() || hasTrailerPrefix(w.header) {
		w.begin(nil)
	} else if w.stream == nil {
		w.guessType(nil)
		if w.length >= 0 && w.ctx.IsHead() { // the body was gathered to guess the type
			w.ctx.Response.ResetBody()
			w.ctx.Response.Header.SetContentLength(int(w.length))
		}
	}
	switch {
	case w.stream != nil || w.alone:
		w.copyTrailers()
	case w.written == 0 && w.length < 0: // who answers instead has the default that there was
		w.ctx.Response.Header.SetNoDefaultContentType(w.untyped)
	}
}

var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom implements io.ReaderFrom. If the response has a Content-Length, the server can send a file with sendfile.
func (w *response) ReadFrom(r io.Reader) (n int64, err error) {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	for {
		if n >= sniffed {
			if k, err, ok := w.readAll(r); ok {
				return n + k, err
			}
		}
		piece := buf[:]
		if n < sniffed {
			piece = buf[:sniffed-n]
		}
		k, rerr := r.Read(piece)
		if k > 0 {
			written, err := w.Write(buf[:k])
			if n += int64(written); err != nil {
				return n, err
			}
		}
		if rerr == io.EOF {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}

// readAll hands a reader of a file to the stream, if ok.
func (w *response) readAll(r io.Reader) (n int64, err error, ok bool) {
	if !isFile(r) {
		return 0, nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready(0) != nil || w.length < 0 || !w.mayHaveBody() || w.how.gathers && w.length <= largeAnswer || w.begin(nil) != nil || w.alone {
		return 0, nil, false
	}
	n, err = w.stream.ReadFrom(r)
	w.written += n
	return n, err, true
}

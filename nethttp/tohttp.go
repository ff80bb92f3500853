package nethttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// ToHTTP returns an http.Handler that calls h. The returned handler runs on net/http's server and on any other server
// that takes an http.Handler.
//
// The request body is a stream. A RequestCtx method that needs the whole body reads at most 64 MiB. If the response body is a
// stream, each piece is flushed to the client. ToHTTP passes on the trailers of requests and responses. The RequestCtx is done
// when the request's context is done.
//
// If h calls Hijack, the HijackHandler gets the connection and runs on a separate goroutine. If the server does not
// support hijacking, the client gets a 501. StreamResponse works, and each Flush sends data to the client if the server
// supports flushing. EarlyHints and HijackConn work only on a gallop server. On any other server, EarlyHints and
// HijackConn do nothing or return an error.
//
// ToHTTP panics if h is nil. The returned http.Handler is safe for concurrent use if h is.
func ToHTTP(h gallop.RequestHandler) http.Handler {
	if h == nil {
		panic("nethttp: ToHTTP of a nil gallop.RequestHandler")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		life, cancel := context.WithCancel(r.Context())
		defer cancel()
		ctx := new(gallop.RequestCtx) // never used again, a handler that timed out may keep it
		ctx.Init2(newConnFacts(r), nil, true)
		ctx.InitContext(life)
		if isHijackable(w) {
			ctx.InitHijack()
		}
		copyRequest(ctx, r)
		stream := &outStream{w: w, r: r, resp: &ctx.Response}
		ctx.InitStream(stream.begin)
		defer stream.end() // also after a panic
		callHandler(h, ctx)
		resp := ctx.LastTimeoutErrorResponse()
		if stream.end() {
			if resp != nil { // in the middle of the body
				panic(http.ErrAbortHandler)
			}
			defer release(ctx)
			writeTrailers(w, &ctx.Response)
			return
		}
		if resp == nil {
			resp = &ctx.Response
			defer release(ctx)
		}
		if handler, noResponse := ctx.HijackHandler(); handler != nil && resp == &ctx.Response {
			passHijack(w, r, ctx, handler, noResponse)
			return
		}
		writeResponse(w, r, resp)
	})
}

// release lets go of what belongs to the request of ctx. Its user values are closed and stay where they are, because contexts that
// are derived from ctx may still look at them.
func release(ctx *gallop.RequestCtx) {
	defer ctx.Request.RemoveMultipartFormFiles()
	defer ctx.Request.CloseBodyStream()
	var closers []io.Closer
	ctx.VisitUserValuesAll(func(_, value any) {
		if c, ok := value.(io.Closer); ok {
			closers = append(closers, c)
		}
	})
	closeAll(closers)
}

// closeAll closes all of them, also if one panics.
func closeAll(closers []io.Closer) {
	if len(closers) > 0 {
		defer closeAll(closers[1:])
		closers[0].Close()
	}
}

// callHandler calls h. If h panics with gallop.ErrAbortHandler, callHandler panics with http.ErrAbortHandler.
func callHandler(h gallop.RequestHandler, ctx *gallop.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			panic(translateAbort(v, gallop.ErrAbortHandler, http.ErrAbortHandler))
		}
	}()
	h(ctx)
}

// translateAbort returns to if the panic value v is from, and v otherwise. gallop and net/http have different values for
// a response that a handler aborts. Each server logs the value of the other one as a failure.
func translateAbort(v any, from, to error) any {
	if v == from {
		return to
	}
	return v
}

// copyRequest makes the request of ctx a copy of r, and its body that of r.
func copyRequest(ctx *gallop.RequestCtx, r *http.Request) {
	h := &ctx.Request.Header
	h.SetMethod(r.Method)
	h.SetRequestURI(targetOf(r))
	switch {
	case r.ProtoMajor == 2:
		h.SetProtocol("HTTP/2.0")
	case !r.ProtoAtLeast(1, 1):
		h.SetProtocol("HTTP/1.0")
	}
	h.SetHost(r.Host)
	h.SetNoDefaultContentType(true)
	hasBody := r.Body != nil && r.Body != http.NoBody && (r.ProtoMajor < 2 || r.ContentLength != 0)
	var room [16]string
	for _, name := range sortedNames(room[:0], r.Header) {
		if hasBody && (name == "Content-Length" || name == "Transfer-Encoding") {
			continue
		}
		for _, value := range r.Header[name] {
			h.Add(name, value)
		}
	}
	if r.TLS != nil {
		ctx.Request.URI().SetScheme("https")
	}
	if hasBody {
		length := int(r.ContentLength)
		if length == 0 { // as http.NewRequest has it for readers that it does not know
			length = -1
		}
		ctx.Request.SetBodyStream(&trailedBody{r, h}, length)
	}
}

// targetOf returns the target that r came with, unless its URL has been changed, for example by http.StripPrefix.
func targetOf(r *http.Request) string {
	if r.URL == nil {
		return r.RequestURI
	}
	target := r.URL.RequestURI()
	if r.RequestURI == target || r.RequestURI != "" && r.Method == http.MethodConnect {
		return r.RequestURI
	}
	asked, err := url.ParseRequestURI(r.RequestURI)
	if err == nil && asked.Path == r.URL.Path && asked.RawPath == r.URL.RawPath && asked.RawQuery == r.URL.RawQuery {
		return r.RequestURI // also with a scheme and a host
	}
	if r.URL.Opaque == "" && target != "*" && !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// trailedBody is the body of r, which hands the trailers on at its end. It is not closed,
// which is the server's business.
type trailedBody struct {
	r  *http.Request
	to *gallop.RequestHeader
}

// Read implements io.Reader.
func (b *trailedBody) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	if err == io.EOF && b.to != nil {
		for name, values := range b.r.Trailer {
			if b.to.AddTrailer(name) == nil {
				for _, value := range values {
					b.to.Add(name, value)
				}
			}
		}
		b.to = nil
	}
	return n, err
}

// writeResponse sends resp, like a gallop server does.
func writeResponse(w http.ResponseWriter, r *http.Request, resp *gallop.Response) {
	status := resp.StatusCode()
	if status < http.StatusOK { // the client would wait for another response
		resp.CloseBodyStream()
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	if resp.SkipBody && r.Method != http.MethodHead || !mayHaveBody(status) {
		resp.ResetBody()
	}
	copyResponseHeader(w.Header(), r, resp)
	w.WriteHeader(status)
	if r.Method == http.MethodHead || !mayHaveBody(status) {
		resp.CloseBodyStream()
		return
	}
	var err error
	if resp.IsBodyStream() {
		err = resp.BodyWriteTo(flushed{w, http.NewResponseController(w)})
	} else if body := resp.Body(); len(body) > 0 {
		_, err = w.Write(body)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	writeTrailers(w, resp)
}

// writeTrailers sets the trailers of resp, which the server sends when the handler has returned.
func writeTrailers(w http.ResponseWriter, resp *gallop.Response) {
	for name, value := range resp.Header.AllTrailers() {
		w.Header().Add(http.TrailerPrefix+string(name), string(value))
	}
}

func mayHaveBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusResetContent && status != http.StatusNotModified
}

// copyResponseHeader sets the fields of resp, and those that frame its body.
func copyResponseHeader(to http.Header, r *http.Request, resp *gallop.Response) {
	h := &resp.Header
	for name, value := range h.All() {
		switch key := http.CanonicalHeaderKey(string(name)); key {
		case "Content-Length", "Transfer-Encoding", "Trailer":
		case "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade": // HTTP/2 forbids them (RFC 9113 §8.2.2)
			if r.ProtoMajor < 2 {
				to.Add(key, string(value))
			}
		default:
			to.Add(key, string(value))
		}
	}
	length := h.ContentLength()
	if !resp.IsBodyStream() {
		if n := len(resp.Body()); n > 0 || r.Method != http.MethodHead {
			length = n
		}
	}
	status := resp.StatusCode()
	if length != 0 && mayHaveBody(status) && len(h.ContentType()) > 0 {
		to.Set("Content-Type", string(h.ContentType()))
	}
	if _, typed := to["Content-Type"]; !typed {
		to["Content-Type"] = nil // so that none is guessed
	}
	if mayHaveBody(status) {
		for name := range h.Trailers() {
			to.Add("Trailer", string(name))
			length = min(length, -1) // trailers stand behind chunks
		}
	}
	if length > 0 && status != http.StatusNoContent && status != http.StatusResetContent {
		to["Content-Length"] = []string{string(gallop.AppendUint(nil, length))}
	}
}

// flushed flushes after each piece.
type flushed struct {
	w     io.Writer
	flush *http.ResponseController
}

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		f.flush.Flush() // a server that cannot flush sends it some time
	}
	return n, err
}

// isHijackable reports whether w, or a ResponseWriter that it wraps, can give the connection away.
func isHijackable(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// passHijack answers the request and gives the connection to handler.
func passHijack(w http.ResponseWriter, r *http.Request, ctx *gallop.RequestCtx, handler gallop.HijackHandler, noResponse bool) {
	conn, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, http.StatusText(http.StatusNotImplemented), http.StatusNotImplemented)
		return
	}
	if !noResponse {
		if err = ctx.Response.Write(buffers.Writer); err == nil {
			err = buffers.Flush()
		}
	}
	conn.SetDeadline(time.Time{})
	if err != nil {
		conn.Close()
		return
	}
	go func() {
		defer conn.Close()
		defer func() {
			if v := recover(); v != nil {
				logf(r, "nethttp: panic in a hijack handler: %v\n%s", v, debug.Stack())
			}
		}()
		handler(readerConn{conn, buffers.Reader})
	}()
}

// logf writes to the log of the server of r.
func logf(r *http.Request, format string, args ...any) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		s.ErrorLog.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}

// readerConn is a connection that is read through a buffer.
type readerConn struct {
	net.Conn
	r *bufio.Reader
}

func (c readerConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// CloseWrite closes the connection for writing, if it can.
func (c readerConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return http.ErrNotSupported
}

// connFacts is what is known of the connection of a request. It can do nothing.
type connFacts struct{ local, remote net.Addr }

func (c *connFacts) Read([]byte) (int, error)         { return 0, http.ErrNotSupported }
func (c *connFacts) Write([]byte) (int, error)        { return 0, http.ErrNotSupported }
func (c *connFacts) Close() error                     { return http.ErrNotSupported }
func (c *connFacts) SetDeadline(time.Time) error      { return http.ErrNotSupported }
func (c *connFacts) SetReadDeadline(time.Time) error  { return http.ErrNotSupported }
func (c *connFacts) SetWriteDeadline(time.Time) error { return http.ErrNotSupported }

func (c *connFacts) LocalAddr() net.Addr  { return c.local }
func (c *connFacts) RemoteAddr() net.Addr { return c.remote }

// tlsFacts is connFacts of a TLS connection.
type tlsFacts struct {
	connFacts
	state *tls.ConnectionState
}

func (c *tlsFacts) ConnectionState() tls.ConnectionState { return *c.state }

func newConnFacts(r *http.Request) net.Conn {
	facts := connFacts{}
	facts.local, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		facts.remote = net.TCPAddrFromAddrPort(at)
	}
	if r.TLS == nil {
		return &facts
	}
	return &tlsFacts{facts, r.TLS}
}

package middleware

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// passInterim passes on an interim response, such as 103. The server itself sends 100 when the body is first read.
func (x *proxyCall) passInterim(from *gallop.Response) {
	status := from.StatusCode()
	if status <= gallop.StatusSwitchingProtocols {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	r := x.c.RequestCtx()
	h := &r.Response.Header
	var before gallop.ResponseHeader
	h.CopyTo(&before)
	defer before.CopyTo(h)
	h.Reset()
	options := connectionOptionsOf(from.Header.PeekAll(gallop.HeaderConnection))
	for name, value := range from.Header.All() {
		if !responseOnly.has(name) && !options.name(name) {
			h.AddBytesKV(name, value)
		}
	}
	_ = r.WriteInterim(status) // the final response fails, too, if the client has gone away
}

// respond sends the response of the target.
func (x *proxyCall) respond() error {
	x.watch.pause()
	if x.p.ModifyResponse != nil {
		if err := x.p.ModifyResponse(x.c, x.from); err != nil {
			return err
		}
	}
	status := x.from.StatusCode()
	switch {
	case status == gallop.StatusSwitchingProtocols:
		return x.tunnel()
	case status < 200 || status > 599:
		return x.explain(errProxyStatus)
	}
	length := int64(x.from.Header.ContentLength())
	if x.p.MaxResponseBody > 0 && length > x.p.MaxResponseBody && !x.c.RequestCtx().IsHead() {
		return x.explain(errProxyTooLarge)
	}
	stream := x.from.BodyStream()
	if stream == nil {
		x.copyResponseHeader()
		return x.sendWhole(length)
	}
	return x.sendStream(stream, length)
}

// sendWhole sends a response whose body is in memory, or which has none. The response to HEAD, and a 304, announce the length that the
// body would have.
func (x *proxyCall) sendWhole(length int64) error {
	r := x.c.RequestCtx()
	if body := x.from.Body(); len(body) > 0 {
		r.SetBody(body)
	} else if length > 0 && (r.IsHead() || x.from.StatusCode() == gallop.StatusNotModified) {
		r.Response.Header.SetContentLength(int(length))
	}
	return nil
}

// combined are the headers of which the client gets the values of the target and those of middleware.
var combined = headerSetOf([]string{
	"set-cookie", "vary", "link", "via", "server-timing", "www-authenticate", "content-security-policy", "content-security-policy-report-only",
})

// copyResponseHeader copies the status and the headers of the target. A header that middleware has set wins over the target's header.
func (x *proxyCall) copyResponseHeader() {
	from, to := &x.from.Header, &x.c.RequestCtx().Response.Header
	to.SetStatusCode(from.StatusCode())
	own := setHeaders(to)
	if !own.has([]byte("content-type")) {
		to.SetNoDefaultContentType(true)
	}
	options := connectionOptionsOf(from.PeekAll(gallop.HeaderConnection))
	for name, value := range from.All() {
		if responseOnly.has(name) || options.name(name) || own != nil && own.has(name) && !combined.has(name) {
			continue
		}
		to.AddBytesKV(name, value)
	}
	if x.p.Via != "" {
		to.Add(gallop.HeaderVia, via(from.Protocol(), x.p.Via))
	}
}

// setHeaders returns the names of the headers that middleware has set, or nil.
func setHeaders(h *gallop.ResponseHeader) (set headerSet) {
	for name := range h.All() {
		if set == nil {
			set = headerSet{}
		}
		set[string(lowered(name))] = struct{}{}
	}
	return set
}

func lowered(name []byte) []byte {
	lower := make([]byte, len(name))
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return lower
}

// proxyBuffer is the size of the buffers through which bodies pass.
const proxyBuffer = 32 << 10

var proxyBuffers = sync.Pool{New: func() any { return new([proxyBuffer]byte) }}

// sendStream sends a response whose body is a stream. A short body that is already there is sent as a whole.
func (x *proxyCall) sendStream(stream io.Reader, length int64) error {
	buf := proxyBuffers.Get().(*[proxyBuffer]byte)
	defer proxyBuffers.Put(buf)
	x.watch.limit = x.p.IdleTimeout
	begun := 0
	if 0 < length && length <= proxyBuffer {
		n, err := x.read(stream, buf[:])
		if int64(n) == length && (err == nil || err == io.EOF) {
			x.copyResponseHeader()
			x.c.RequestCtx().SetBody(buf[:n])
			return nil
		}
		if err != nil {
			return x.explain(cutShort(err))
		}
		begun = n
	}
	x.copyResponseHeader()
	h := &x.c.RequestCtx().Response.Header
	if length >= 0 {
		h.SetContentLength(int(length))
	}
	if length < 0 {
		for name := range x.from.Header.Trailers() {
			_ = h.AddTrailer(string(name)) // refuses names that must not be trailers
		}
	}
	return x.c.SendStreamWriter(func(w *bufio.Writer) error {
		var out proxyOut = w
		if s, err := x.c.RequestCtx().StreamResponse(); err == nil && x.c.RequestCtx().Streaming() {
			out = s
		}
		return x.copyBody(out, stream, buf, begun, length)
	})
}

// cutShort returns the error of a body that ended too early.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// proxyOut is the body of the client's response.
type proxyOut interface {
	io.Writer
	Flush() error
}

// copyBody copies the body to the client. It sends each part at once, because the target may take its time until the next one. The
// last part of a body of known length needs no flush.
func (x *proxyCall) copyBody(out proxyOut, stream io.Reader, buf *[proxyBuffer]byte, begun int, length int64) error {
	total := int64(begun)
	if _, err := out.Write(buf[:begun]); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for {
		n, err := x.read(stream, buf[:])
		total += int64(n)
		if x.p.MaxResponseBody > 0 && total > x.p.MaxResponseBody {
			return x.broken(errProxyTooLarge)
		}
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
			if total != length {
				if err := out.Flush(); err != nil {
					return err
				}
			}
		}
		switch {
		case err == io.EOF:
			x.passTrailers()
			return nil
		case err != nil:
			return x.broken(err)
		}
	}
}

// read reads from the target within IdleTimeout.
func (x *proxyCall) read(stream io.Reader, p []byte) (int, error) {
	x.watch.wait()
	n, err := stream.Read(p)
	x.watch.pause()
	return n, err
}

// passTrailers copies the trailers of the response, which have arrived by now.
func (x *proxyCall) passTrailers() {
	h := &x.c.RequestCtx().Response.Header
	for name, value := range x.from.Header.AllTrailers() {
		_ = h.AppendTrailer(string(name), string(value)) // refuses headers that must not be trailers
	}
}

// broken returns the error of a response that breaks off. The server then closes the connection or resets the stream.
func (x *proxyCall) broken(err error) error {
	err = x.explain(err)
	if web := (*web.Error)(nil); errors.As(err, &web) && web.Status == statusClientGone {
		x.c.MarkErrorLogged() // which is routine
	}
	return err
}

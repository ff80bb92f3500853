package nethttp

import (
	"net"
	"net/http"
	"sync"

	"github.com/gallop-http/gallop"
)

// tunnel is a CONNECT over HTTP/2, which the handler serves as a request with a streamed body and a streamed response. The
// body can be read once the handler has accepted the request.
type tunnel struct {
	accepted chan struct{} // closed once conn is set, or never will be
	conn     net.Conn      // set before accepted is closed
	once     sync.Once     // closes accepted
	limits   []func(net.Conn) error
}

// readTunnel prepares a CONNECT over HTTP/2. If there is no server, the request is like any other.
func (x *exchange) readTunnel(ctx *gallop.RequestCtx) {
	r := &x.req
	hasBody := ctx.RequestBodyStream() != nil && ctx.Request.Header.ContentLength() != 0 // which the server does not read
	if r.Method != http.MethodConnect || r.ProtoMajor != 2 || hasBody {
		return
	}
	if protocol, ok := ctx.Upgrade(); ok {
		r.Header[":protocol"] = []string{protocol} // as net/http calls it
	}
	x.resp.tunnel = &tunnel{accepted: make(chan struct{})}
}

// tunnels reports whether the response begins a tunnel.
func (w *response) tunnels() bool { return w.tunnel != nil && w.status/100 == 2 }

// accept sends the head of the response, and lets the body be read.
func (t *tunnel) accept(ctx *gallop.RequestCtx) error {
	if t.conn != nil {
		return nil
	}
	c, err := ctx.AcceptStream()
	if err != nil {
		return err
	}
	for _, limit := range t.limits {
		if err := limit(c); err != nil {
			return err
		}
	}
	t.conn = c
	t.once.Do(func() { close(t.accepted) })
	return nil
}

// limit sets a deadline, as soon as there is a connection.
func (t *tunnel) limit(set func(net.Conn) error) error {
	if t.conn != nil {
		return set(t.conn)
	}
	t.limits = append(t.limits, set)
	return nil
}

// end ends the tunnel behind its handler.
func (t *tunnel) end() {
	t.once.Do(func() { close(t.accepted) })
	if t.conn != nil {
		t.conn.Close()
	}
}

// Read reads what the client sends.
func (t *tunnel) Read(p []byte) (int, error) {
	<-t.accepted
	if t.conn == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	return t.conn.Read(p)
}

package nethttp

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"

	"github.com/gallop-http/gallop"
)

// traced returns ctx with a gallop trace that reports to the httptrace of ctx, if it has one, what the call does.
func (c *call) traced(ctx context.Context) context.Context {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil && c.head == nil {
		return ctx
	}
	if t == nil {
		return gallop.WithClientTrace(ctx, &gallop.ClientTrace{WroteRequest: c.wroteRequest})
	}
	g := &gallop.ClientTrace{
		TLSHandshakeStart: t.TLSHandshakeStart, TLSHandshakeDone: t.TLSHandshakeDone,
		WroteHeaders: func() { c.wroteHeaders(t) }, GotFirstByte: t.GotFirstResponseByte,
	}
	if f := t.GetConn; f != nil {
		g.GetConn = func(string) { f(c.host.leadsTo) }
	}
	if f := t.GotConn; f != nil {
		g.GotConn = func(i gallop.GotConnInfo) {
			f(httptrace.GotConnInfo{Conn: i.Conn, Reused: i.Reused, WasIdle: i.Reused, IdleTime: i.Idle})
		}
	}
	if f := t.PutIdleConn; f != nil {
		g.PutIdleConn = func(string) { f(nil) }
	}
	g.WroteRequest = func(err error) {
		if t.WroteRequest != nil {
			t.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		}
		c.wroteRequest(err)
	}
	if t.Got1xxResponse != nil || t.Got100Continue != nil {
		g.GotInterim = func(resp *gallop.Response) { gotInterim(t, resp) }
	}
	if !c.host.ownDial {
		g.ConnectStart, g.ConnectDone = t.ConnectStart, t.ConnectDone
		ctx = withoutConnects(ctx, t)
	} // otherwise the net.Dialer of DialContext finds t in ctx
	return gallop.WithClientTrace(ctx, g)
}

// withoutConnects returns ctx with a trace that has the hooks of t for lookups only. A resolver would call the hooks
// for connections with the sockets over which it asks, too.
func withoutConnects(ctx context.Context, t *httptrace.ClientTrace) context.Context {
	lookups := &httptrace.ClientTrace{DNSStart: t.DNSStart, DNSDone: t.DNSDone}
	if lookups.DNSStart == nil { // without a hook it would not replace t
		lookups.DNSStart = func(httptrace.DNSStartInfo) {}
	}
	return overlaid{ctx, httptrace.WithClientTrace(context.Background(), lookups)}
}

// overlaid is a context with the values of another one before its own.
type overlaid struct {
	context.Context
	over context.Context
}

// Value implements context.Context.
func (c overlaid) Value(key any) any {
	if v := c.over.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// wroteRequest is called when the request was written, or could not be.
func (c *call) wroteRequest(err error) {
	if c.head != nil && err == nil {
		c.head.start()
	}
}

func (c *call) wroteHeaders(t *httptrace.ClientTrace) {
	if t.WroteHeaderField != nil {
		c.wroteFields(t.WroteHeaderField)
	}
	if t.WroteHeaders != nil {
		t.WroteHeaders()
	}
	if t.Wait100Continue != nil && c.t.ExpectContinueTimeout >= 0 && c.request.MayContinue() {
		t.Wait100Continue()
	}
}

// wroteFields calls f for each name in the header that was sent.
func (c *call) wroteFields(f func(name string, values []string)) {
	values := map[string][]string{}
	var names []string
	for name, value := range c.request.Header.All() {
		if isFraming(string(name)) {
			continue
		}
		if values[string(name)] == nil {
			names = append(names, string(name))
		}
		values[string(name)] = append(values[string(name)], string(value))
	}
	for _, name := range names {
		f(name, values[name])
	}
	switch {
	case c.length < 0:
		f("Transfer-Encoding", []string{"chunked"})
	case c.length > 0 || saysEmpty(c.r.Method):
		f("Content-Length", []string{strconv.FormatInt(c.length, 10)})
	}
}

// isFraming reports whether name is that of a field which says how long a body is.
func isFraming(name string) bool { return name == "Content-Length" || name == "Transfer-Encoding" }

// saysEmpty reports whether a request with this method and without a body has a Content-Length of 0.
func saysEmpty(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func gotInterim(t *httptrace.ClientTrace, resp *gallop.Response) {
	status := resp.StatusCode()
	if status == gallop.StatusContinue && t.Got100Continue != nil {
		t.Got100Continue()
	}
	if t.Got1xxResponse == nil {
		return
	}
	h := textproto.MIMEHeader{}
	for name, value := range resp.Header.All() {
		h.Add(string(name), string(value))
	}
	t.Got1xxResponse(status, h) // its error is ignored
}

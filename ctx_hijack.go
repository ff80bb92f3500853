package gallop

import (
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// Upgrade returns the protocol that the client wants to switch to, in lower case, such as "websocket". If the client
// does not ask for an upgrade, ok is false.
//
// Over HTTP/1.1, the client asks for an upgrade with the headers Upgrade and Connection: upgrade (RFC 9110 §7.8).
// Upgrade returns the first protocol in the Upgrade header. Over HTTP/2, the client asks with an extended CONNECT (RFC
// 8441), which needs Server.ExtendedConnect. Upgrade returns the protocol of the extended CONNECT. Call AcceptStream to
// accept the upgrade.
func (ctx *RequestCtx) Upgrade() (protocol string, ok bool) {
	if x := ctx.ex; x != nil && x.h2 != nil {
		return x.h2.protocol, x.h2.protocol != ""
	}
	h := &ctx.Request.Header
	if h.IsConnect() || h.minor() == 0 || !h.ConnectionUpgrade() {
		return "", false
	}
	l := &h.head.Fields
	for i := l.FindID(field.Upgrade); i >= 0; i = field.Next(l, i, field.Upgrade, "") {
		for list := l.Value(i); len(list) > 0; {
			var member []byte
			member, list = ascii.Cut(list, ',')
			if member = ascii.TrimOWS(member); len(member) > 0 {
				return strings.ToLower(string(member)), true
			}
		}
	}
	return "", false
}

// AcceptStream accepts a CONNECT request or an upgrade request. AcceptStream sends the response and returns a
// connection. The client and the handler then exchange bytes over the returned connection. AcceptStream sets the status
// and the headers that accept the request. All other response headers come from ctx.Response. By default, the
// connection switches to the protocol that the method Upgrade returns. To switch to a different protocol over HTTP/1.1,
// set the Upgrade header in ctx.Response.
//
// The status is 101 (Switching Protocols) for an upgrade over HTTP/1.1 and 200 for a CONNECT. The server does not close
// the returned connection when the handler returns, so the program must close the connection.
//
// Over HTTP/1, AcceptStream needs a connection that HijackConn can take over. Afterwards, the server neither uses nor
// counts the connection.
//
// Over HTTP/2, the returned connection is a stream of an HTTP/2 connection that also serves other requests. The stream
// counts toward MaxConcurrentStreams until the program closes the returned connection. The returned connection also has
// a method CloseWrite, which ends the sending side of the stream. The server's time limits for requests and responses
// do not apply, so set deadlines.
//
// The connection over HTTP/2 works only while the server runs. Shutdown waits until the program has closed the
// connection. Close ends the connection, and so does Shutdown when its context is done. To close the connection when
// Shutdown begins, register a function with Server.RegisterOnShutdown.
//
// AcceptStream fails if the request is neither a CONNECT nor an upgrade, or if StreamResponse was called before. It
// also fails if the server cannot hand over the connection or the stream. After an error, ctx.Response is unchanged,
// unless the connection caused the error.
func (ctx *RequestCtx) AcceptStream() (net.Conn, error) {
	protocol, upgrades := ctx.Upgrade()
	if !upgrades && !ctx.Request.Header.IsConnect() {
		return nil, errNoUpgrade
	}
	x, err := ctx.acceptable()
	switch {
	case err != nil:
		return nil, err
	case x.h2 != nil:
		return ctx.acceptTunnel()
	}
	ctx.ResetBody()
	h := &ctx.Response.Header
	if !upgrades {
		h.SetStatusCode(StatusOK)
	} else {
		h.SetStatusCode(StatusSwitchingProtocols)
		h.Set(HeaderConnection, "Upgrade")
		if !h.head.Fields.Has(field.Upgrade) {
			h.Set(HeaderUpgrade, protocol)
		}
	}
	return ctx.HijackConn()
}

// acceptable returns the exchange, if AcceptStream can accept its request.
func (ctx *RequestCtx) acceptable() (*exchange, error) {
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := ctx.owned(s)
	if err == nil && s.ex != nil {
		err = errStreamOther
	}
	return x, err
}

// acceptTunnel is AcceptStream over HTTP/2. HijackSetNoResponse has no effect there, because a tunnel begins with the head of a
// response.
func (ctx *RequestCtx) acceptTunnel() (net.Conn, error) {
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := ctx.owned(s)
	if err != nil {
		return nil, err
	}
	ctx.ResetBody()
	ctx.Response.Header.SetStatusCode(StatusOK)
	return x.h2.openTunnel()
}

// Hijack hands the connection to handler after the response has been written. See [HijackHandler]. If the client has
// already sent more bytes after the request, handler reads these bytes first.
//
// Hijack returns no error. If the connection cannot be handed over, as with HTTP/2, the server sends 501 (Not
// Implemented) instead of the handler's response. To check in advance, call HijackErr. AcceptStream also works over
// HTTP/2. If your program needs Hijack, turn HTTP/2 off with Server.Protocols.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijackHandler = handler }

// HijackSetNoResponse sets whether Hijack and HijackConn omit the response. By default, the server writes the response
// before it hands over the connection.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// HijackHandler returns the values that were passed to Hijack and HijackSetNoResponse. HijackHandler is meant for
// programs that serve requests without a Server. If Hijack was not called, handler is nil.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijackHandler, ctx.hijackNoResponse
}

// InitHijack makes HijackErr return nil. InitHijack is meant for programs that serve requests without a Server. After
// the handler has returned, the program must call HijackHandler.
func (ctx *RequestCtx) InitHijack() { ctx.mayHijack = true }

// HijackErr returns an error if Hijack cannot hand over the connection. If Hijack can hand over the connection, the
// result is nil. If the protocol does not allow handing over the connection, as with HTTP/2, the error wraps
// errors.ErrUnsupported. If the request is not served by a Server, the error wraps errors.ErrUnsupported too. Any other
// error means that the handler has already hijacked the connection, or that the request has timed out.
func (ctx *RequestCtx) HijackErr() error {
	if ctx.mayHijack {
		return nil
	}
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := ctx.ownedConn(s)
	return err
}

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool { return ctx.hijackHandler != nil }

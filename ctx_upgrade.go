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
// Upgrade returns the first protocol in the Upgrade header. Once this module supports HTTP/2, Upgrade will also return
// the protocol of an extended CONNECT (RFC 8441). Call AcceptStream to accept the upgrade.
func (ctx *RequestCtx) Upgrade() (protocol string, ok bool) {
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
// and the headers that accept the request. All other response headers come from ctx.Response. If the handler has set an
// Upgrade header in ctx.Response, the new protocol comes from that header. By default, the new protocol is the one that
// the method Upgrade returns.
//
// AcceptStream needs a connection that HijackConn can take over. Once this module supports HTTP/2, AcceptStream will
// also work over HTTP/2. Over HTTP/1, the status is 101 (Switching Protocols) for an upgrade and 200 for a CONNECT. The
// server does not close the returned connection when the handler returns, so the program must close the connection.
//
// AcceptStream fails if the request is neither a CONNECT nor an upgrade, if StreamResponse was called before, or if
// HijackConn would fail. After an error, ctx.Response is unchanged, unless the error came from the connection.
func (ctx *RequestCtx) AcceptStream() (net.Conn, error) {
	protocol, upgrades := ctx.Upgrade()
	if !upgrades && !ctx.Request.Header.IsConnect() {
		return nil, errNoUpgrade
	}
	ctx.stream.mu.Lock()
	_, err := ctx.owned()
	if err == nil && ctx.stream.conn != nil {
		err = errStreamOther
	}
	ctx.stream.mu.Unlock()
	if err != nil {
		return nil, err
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

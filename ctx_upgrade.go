package gallop

import (
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// Upgrade returns the protocol that the client wants to switch to, in lower case, such as "websocket". ok is false if
// the client does not ask for an upgrade.
//
// Over HTTP/1.1, Upgrade returns the first protocol in the Upgrade header, if the Connection header lists "upgrade"
// (RFC 9110 §7.8). Once this module supports HTTP/2, Upgrade will also return the protocol of an extended CONNECT
// (RFC 8441). Call AcceptStream to accept the upgrade.
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

// AcceptStream accepts the CONNECT or the upgrade that the request asks for. It sends the response and returns a
// connection for the bytes that both sides send afterwards. AcceptStream sets the status and the headers that accept
// the request; all other headers come from ctx.Response. The new protocol is the one in the Upgrade header of
// ctx.Response, or else the one that Upgrade returns.
//
// AcceptStream works where HijackConn works. It will also work over HTTP/2 once this module supports HTTP/2. With
// HTTP/1, the status is 101 (Switching Protocols) for an upgrade and 200 for a CONNECT. The handler must close the
// returned connection, which stays open when the handler returns.
//
// AcceptStream fails if the request is neither a CONNECT nor an upgrade, after StreamResponse, and where HijackConn
// fails. If AcceptStream fails, ctx.Response is unchanged, unless the connection broke.
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

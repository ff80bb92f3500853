package gallop

import (
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// Upgrade returns the protocol that the client wants to speak instead of HTTP on this connection or stream, in lower case, such as "websocket".
// ok is false if the client does not ask for one.
//
// Over HTTP/1.1 that is the first protocol in the Upgrade header of a request whose Connection header says upgrade (RFC 9110 §7.8). Over HTTP/2
// it will be the protocol of an extended CONNECT (RFC 8441). Call AcceptStream to agree.
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

// AcceptStream agrees to the CONNECT or to the upgrade that the request asks for, and returns the stream of bytes that follows in both
// directions. It sends the response first: status and the headers that say so come from AcceptStream, all other headers from ctx.Response.
// An upgrade is accepted to the protocol in the Upgrade header of ctx.Response, or else to the one that Upgrade returns.
//
// It works where HijackConn works, and over HTTP/2 once this module supports that. With HTTP/1 it sends 101 (Switching Protocols) for an upgrade
// and 200 for a CONNECT, and what it returns is the connection, as from HijackConn: it is the handler's to close, and stays open
// when the handler returns. AcceptStream fails if the request asks for neither, after StreamResponse, and where HijackConn fails.
// Then ctx.Response is unchanged, unless the connection broke.
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

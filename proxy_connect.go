package gallop

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
)

// connectLimits limit the size of the response to a CONNECT.
var connectLimits = http1.Limits{Target: 1, Head: 16 << 10, Fields: 128}

// authorization is the Proxy-Authorization for a proxy, or "".
func (d *ProxyDialer) authorization(p *proxyServer) (value string, err error) {
	switch {
	case d.Authorization != "":
		value = d.Authorization
	case p.user == "" && p.password == "":
	case strings.Contains(p.user, ":"): // RFC 7617 §2
		return "", errProxyCredentials
	default:
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
	}
	if !ascii.IsFieldValue(value) {
		return "", errProxyCredentials
	}
	return value, nil
}

// connect asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6).
func (t *tunnel) connect(to tunnelTarget, authorization string) error {
	connect, err := t.request(to, authorization)
	if err != nil {
		return err
	}
	if _, err = t.nc.Write(connect); err != nil {
		return err
	}
	for range maxInterim + 1 {
		var h ResponseHeader
		if err := t.readConnectReply(&h); err != nil {
			return err
		}
		if status := h.StatusCode(); status >= 200 || status == StatusSwitchingProtocols {
			return t.judge(to, &h)
		}
	}
	return errInterim
}

// judge returns nil if the proxy has agreed to the tunnel.
func (t *tunnel) judge(to tunnelTarget, h *ResponseHeader) error {
	if t.hooks != nil && t.hooks.OnConnectResponse != nil {
		if err := t.hooks.OnConnectResponse(t.ctx, to.String(), h); err != nil {
			return err
		}
	}
	if status := h.StatusCode(); status/100 != 2 {
		return &ProxyError{StatusCode: status}
	}
	return nil
}

// request returns a CONNECT request, with what ConnectHeader adds.
func (t *tunnel) request(to tunnelTarget, authorization string) ([]byte, error) {
	if t.hooks == nil || t.hooks.ConnectHeader == nil {
		return appendConnect(nil, to, authorization), nil
	}
	var h RequestHeader
	if authorization != "" {
		h.Set("Proxy-Authorization", authorization)
	}
	if err := t.hooks.ConnectHeader(t.ctx, to.String(), &h); err != nil {
		return nil, err
	}
	request := bytes.TrimSuffix(appendConnect(nil, to, ""), []byte("\r\n"))
	for name, value := range h.All() {
		if !isOfConnect(name) {
			request = http1.AppendField(request, name, value)
		}
	}
	return append(request, "\r\n"...), nil
}

// appendConnect appends a CONNECT request.
func appendConnect(dst []byte, to tunnelTarget, authorization string) []byte {
	authority := to.String()
	dst = append(dst, "CONNECT "...)
	dst = append(dst, authority...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	dst = http1.AppendField(dst, "Host", authority)
	if authorization != "" {
		dst = http1.AppendField(dst, "Proxy-Authorization", authorization)
	}
	return append(dst, "\r\n"...)
}

// isOfConnect reports whether a field with this name is not for ConnectHeader to set: Host is the target, and a
// CONNECT has no content (RFC 9110 §9.3.6).
func isOfConnect(name []byte) bool {
	for _, own := range []string{"Host", "Content-Length", "Transfer-Encoding"} {
		if ascii.EqualFold(name, own) {
			return true
		}
	}
	return false
}

// readConnectReply reads the head of a response and removes it from the buffer. The bytes after the head of a
// 2xx belong to the tunnel, even if its headers announce a body (RFC 9110 §9.3.6).
func (t *tunnel) readConnectReply(h *ResponseHeader) error {
	var parser http1.Parser
	for {
		n, err := parser.ParseResponse(&h.head, t.buf, &connectLimits)
		switch {
		case err != nil:
			return parseError(err)
		case n > 0:
			h.detach()
			t.buf = t.buf[n:]
			return nil
		}
		if err := t.fill(); err != nil {
			return err
		}
	}
}

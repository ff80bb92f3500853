package gallop

import (
	"encoding/base64"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
)

// connectLimits bound what the answer to a CONNECT may cost.
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
	if _, err := t.nc.Write(appendConnect(nil, to, authorization)); err != nil {
		return err
	}
	for range maxInterim + 1 {
		status, err := t.readConnectReply()
		switch {
		case err != nil:
			return err
		case status/100 == 2:
			return nil
		case status >= 200 || status == StatusSwitchingProtocols:
			return &ProxyError{StatusCode: status}
		}
	}
	return errInterim
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

// readConnectReply reads a response head and uses it up. What is behind that of a
// 2xx is the tunnel's, whatever its fields say about a body (RFC 9110 §9.3.6).
func (t *tunnel) readConnectReply() (status int, err error) {
	var head http1.Head
	for {
		n, err := http1.ParseResponse(&head, t.buf, &connectLimits)
		switch {
		case err != nil:
			return 0, parseError(err)
		case n > 0:
			t.buf = t.buf[n:]
			return head.Status, nil
		}
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
}

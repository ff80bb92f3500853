package nethttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpguts"
)

// tunnelThrough makes hc connect through proxy.
func (t *Transport) tunnelThrough(hc *gallop.HostClient, proxy *url.URL) {
	if t.ProxyConnectHeader == nil && t.GetProxyConnectHeader == nil && t.OnProxyConnectResponse == nil {
		hc.Proxy = func(context.Context, *url.URL) (*url.URL, error) { return proxy, nil }
		return
	}
	d := &gallop.ProxyDialer{
		URL: proxy, Connect: hc.DialContext, TLSHandshakeTimeout: t.TLSHandshakeTimeout,
		ConnectHeader:     t.setConnectHeader,
		OnConnectResponse: t.heardOfConnect,
	}
	if t.TLSClientConfig != nil {
		d.TLSConfig = t.TLSClientConfig.Clone()
		d.TLSConfig.ServerName = "" // is that of the server
	}
	hc.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return d.DialContext(context.WithValue(ctx, connectKey{}, &connect{proxy: proxy}), network, addr)
	}
}

// connectKey is the key of a *connect in the context of a dial through a proxy.
type connectKey struct{}

// connect is a CONNECT request to a proxy.
type connect struct {
	proxy  *url.URL
	header http.Header // what was sent with it, but for Host
}

// hookFailure is an error that a function of the program returned about a CONNECT.
type hookFailure struct{ error }

// Unwrap returns what the function returned.
func (e *hookFailure) Unwrap() error { return e.error }

// setConnectHeader is the ConnectHeader of a ProxyDialer.
func (t *Transport) setConnectHeader(ctx context.Context, target string, h *gallop.RequestHeader) error {
	c := ctx.Value(connectKey{}).(*connect)
	header := t.ProxyConnectHeader
	if t.GetProxyConnectHeader != nil {
		var err error
		if header, err = t.GetProxyConnectHeader(ctx, c.proxy, target); err != nil {
			return &hookFailure{err}
		}
	}
	if err := checkFields(header); err != nil {
		return &hookFailure{err}
	}
	credentials := string(h.Peek("Proxy-Authorization")) // of the URL, which count
	h.SetUserAgent(userAgent)
	for name, values := range header {
		if http.CanonicalHeaderKey(name) == "Proxy-Authorization" && credentials != "" {
			continue
		}
		h.Del(name)
		for _, value := range values {
			h.Add(name, value)
		}
	}
	c.header, _ = receivedHeader(h.All(), h.Len(), false)
	return nil
}

// heardOfConnect is the OnConnectResponse of a ProxyDialer.
func (t *Transport) heardOfConnect(ctx context.Context, target string, h *gallop.ResponseHeader) error {
	if t.OnProxyConnectResponse == nil {
		return nil
	}
	c := ctx.Value(connectKey{}).(*connect)
	req := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	resp := &http.Response{
		Status: strconv.Itoa(h.StatusCode()) + " " + string(h.StatusMessage()), StatusCode: h.StatusCode(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: req,
	}
	if !h.IsHTTP11() {
		resp.Proto, resp.ProtoMinor = "HTTP/1.0", 0
	}
	resp.Header, _ = receivedHeader(h.All(), h.Len(), false)
	if err := t.OnProxyConnectResponse(ctx, c.proxy, req, resp); err != nil {
		return &hookFailure{err}
	}
	return nil
}

// checkFields reports a field that must not be sent. gallop would leave it out.
func checkFields(h http.Header) error {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("nethttp: invalid header field name %q", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) { // which may be a secret
				return fmt.Errorf("nethttp: invalid header field value for %q", name)
			}
		}
	}
	return nil
}

// dialTLS connects by DialTLSContext, and shakes hands if that has not.
func (t *Transport) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := t.DialTLSContext(ctx, network, addr)
	if err != nil {
		return nil, &dialFailure{err}
	}
	if tc, ok := nc.(*tls.Conn); ok {
		if err = shakeHands(ctx, tc); err != nil {
			nc.Close()
			return nil, &dialFailure{err}
		}
	}
	return nc, nil
}

func shakeHands(ctx context.Context, tc *tls.Conn) error {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err := tc.HandshakeContext(ctx)
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(tc.ConnectionState(), err)
	}
	return err
}

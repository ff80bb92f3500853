//go:build overlaid

package hook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gallop-http/gallop/nethttp"
)

func hookTransport() {
	http.Hooked.TransportRoundTrip = func(t *http.Transport, r *http.Request) (*http.Response, error, bool) {
		if t == nil || wantsHTTP2(t.TLSNextProto["h2"] != nil, t.Protocols) || r.URL != nil && t.HookedSchemes()[r.URL.Scheme] != nil {
			return nil, nil, false
		}
		used()
		resp, err := transportOf(t).RoundTrip(r)
		return resp, err, true
	}
	http.Hooked.TransportCloseIdleConnections = func(t *http.Transport) bool {
		mu.Lock()
		made := transports[t]
		mu.Unlock()
		if made.t != nil {
			made.t.CloseIdleConnections()
		}
		return false
	}
}

// transport makes calls in the place of an http.Transport. fields are the fields that it was made for.
type transport struct {
	t      *nethttp.Transport
	fields string
}

var (
	mu         sync.Mutex
	transports = map[*http.Transport]transport{}
)

// transportOf returns the transport for t. It creates a new one if a field of t changed after a call.
func transportOf(t *http.Transport) *nethttp.Transport {
	mu.Lock()
	defer mu.Unlock()
	made, fields := transports[t], fieldsOf(t)
	if made.t != nil && made.fields == fields {
		return made.t
	}
	if made.t != nil {
		made.t.CloseIdleConnections()
	}
	made = transport{newTransport(t), fields}
	transports[t] = made
	return made.t
}

// fieldsOf distinguishes the fields of two transports; functions and maps are compared by address.
func fieldsOf(t *http.Transport) string {
	return fmt.Sprintf("%p %p %p %p %p %p %p %p %p %v", t.Proxy, t.OnProxyConnectResponse, t.DialContext, t.Dial, t.DialTLSContext, t.DialTLS,
		t.TLSClientConfig, t.ProxyConnectHeader, t.GetProxyConnectHeader,
		[]any{t.TLSHandshakeTimeout, t.DisableKeepAlives, t.DisableCompression, t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost,
			t.IdleConnTimeout, t.ResponseHeaderTimeout, t.ExpectContinueTimeout, t.MaxResponseHeaderBytes, protocolsOfTransport(t)})
}

// protocolsOfTransport returns the protocols of t. nethttp.Transport uses HTTP/2 in some cases where an http.Transport does not, for
// fear of programs that do not expect that. The tests are such programs.
func protocolsOfTransport(t *http.Transport) *http.Protocols {
	if t.Protocols != nil {
		return t.Protocols
	}
	own := t.TLSClientConfig != nil || t.Dial != nil || t.DialContext != nil || t.DialTLS != nil || t.DialTLSContext != nil
	if !own && t.TLSNextProto == nil || t.ForceAttemptHTTP2 {
		return nil
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

func newTransport(t *http.Transport) *nethttp.Transport {
	return &nethttp.Transport{
		Proxy:                  t.Proxy,
		ProxyConnectHeader:     t.ProxyConnectHeader,
		GetProxyConnectHeader:  t.GetProxyConnectHeader,
		OnProxyConnectResponse: t.OnProxyConnectResponse,
		DialContext:            dialFunc(t.DialContext, t.Dial),
		DialTLSContext:         dialFunc(t.DialTLSContext, t.DialTLS),
		TLSClientConfig:        t.TLSClientConfig,
		Protocols:              protocolsOfTransport(t),
		TLSHandshakeTimeout:    orNone(t.TLSHandshakeTimeout),
		ResponseHeaderTimeout:  t.ResponseHeaderTimeout,
		ExpectContinueTimeout:  orNone(t.ExpectContinueTimeout),
		DisableKeepAlives:      t.DisableKeepAlives,
		DisableCompression:     t.DisableCompression,
		MaxConnsPerHost:        t.MaxConnsPerHost,
		MaxIdleConns:           t.MaxIdleConns,
		MaxIdleConnsPerHost:    t.MaxIdleConnsPerHost,
		IdleConnTimeout:        t.IdleConnTimeout,
		MaxResponseHeaderBytes: int(t.MaxResponseHeaderBytes),
	}
}

// orNone converts a timeout: zero turns it off in net/http, a negative value in gallop.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

type dialContext = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialFunc returns dial, or the deprecated function that has no context.
func dialFunc(dial dialContext, deprecated func(network, addr string) (net.Conn, error)) dialContext {
	if dial != nil || deprecated == nil {
		return dial
	}
	return func(_ context.Context, network, addr string) (net.Conn, error) { return deprecated(network, addr) }
}

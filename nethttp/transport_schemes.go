package nethttp

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
)

// RegisterProtocol makes rt handle the requests whose URL has the given scheme, such as "file". If rt returns
// http.ErrSkipAltProtocol, the Transport handles the request itself. RegisterProtocol panics if the scheme was registered before.
// RegisterProtocol may be called at any time, even while calls are in flight.
func (t *Transport) RegisterProtocol(scheme string, rt http.RoundTripper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	schemes := map[string]http.RoundTripper{}
	if known := t.schemes.Load(); known != nil {
		maps.Copy(schemes, *known)
	}
	if schemes[scheme] != nil {
		panic(fmt.Sprintf("nethttp: the scheme %q is registered already", scheme))
	}
	schemes[scheme] = rt
	t.schemes.Store(&schemes)
}

// Clone returns a new Transport with the same exported fields. Clone copies TLSClientConfig, ProxyConnectHeader, Protocols and
// HTTP2 instead of sharing them. The connections and the registered protocols of t are not copied.
func (t *Transport) Clone() *Transport {
	return &Transport{
		Proxy:                  t.Proxy,
		ProxyConnectHeader:     t.ProxyConnectHeader.Clone(),
		GetProxyConnectHeader:  t.GetProxyConnectHeader,
		OnProxyConnectResponse: t.OnProxyConnectResponse,
		DialContext:            t.DialContext,
		DialTLSContext:         t.DialTLSContext,
		TLSClientConfig:        t.TLSClientConfig.Clone(),
		TLSHandshakeTimeout:    t.TLSHandshakeTimeout,
		ResponseHeaderTimeout:  t.ResponseHeaderTimeout,
		ExpectContinueTimeout:  t.ExpectContinueTimeout,
		DisableKeepAlives:      t.DisableKeepAlives,
		DisableCompression:     t.DisableCompression,
		MaxConnsPerHost:        t.MaxConnsPerHost,
		MaxIdleConns:           t.MaxIdleConns,
		MaxIdleConnsPerHost:    t.MaxIdleConnsPerHost,
		IdleConnTimeout:        t.IdleConnTimeout,
		MaxResponseHeaderBytes: t.MaxResponseHeaderBytes,
		Protocols:              cloned(t.Protocols),
		HTTP2:                  cloned(t.HTTP2),
		ForceAttemptHTTP2:      t.ForceAttemptHTTP2,
		ConfigureHost:          t.ConfigureHost,
	}
}

// cloned returns a pointer to a copy of what p points to, or nil.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// byScheme returns the response of the RoundTripper that is registered for the scheme of r. ok is false if there is none,
// or if it returned http.ErrSkipAltProtocol.
func (t *Transport) byScheme(r *http.Request) (resp *http.Response, err error, ok bool) {
	schemes := t.schemes.Load()
	if schemes == nil {
		return nil, nil, false
	}
	rt := (*schemes)[r.URL.Scheme]
	if rt == nil {
		return nil, nil, false
	}
	resp, err = rt.RoundTrip(r)
	return resp, err, !errors.Is(err, http.ErrSkipAltProtocol)
}

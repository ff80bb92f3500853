package nethttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
)

// typesOf describes an error by what programs look at: the types from the outside in, as far as they matter.
func typesOf(err error) string {
	switch e := err.(type) {
	case *url.Error:
		return "url.Error: " + typesOf(e.Err)
	case *net.OpError:
		if e.Op == "dial" || e.Op == "proxyconnect" {
			return e.Op + " " + e.Net + ": " + typesOf(e.Err)
		}
		return "op " + e.Op
	case *net.DNSError, *tls.CertificateVerificationError, tls.RecordHeaderError:
		return fmt.Sprintf("%T", e)
	}
	for _, known := range []error{http.ErrSchemeMismatch, io.EOF, errRefused, gallop.ErrDialTimeout} {
		if err == known {
			return known.Error()
		}
	}
	return "another error"
}

var errRefused = errors.New("refused")

// proxied returns a proxy function for Transport.
func proxied(rawURL string) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) { return url.Parse(rawURL) }
}

// Errors of connecting have the types that net/http's have.
func TestTransportConnectErrors(t *testing.T) {
	down := "http://" + wiretest.FreeAddress(t)
	plain := serveWith(t, func(http.ResponseWriter, *http.Request) {})
	secured := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secured.Config.ErrorLog = quietLog
	secured.StartTLS()
	t.Cleanup(secured.Close)
	picky := httptest.NewUnstartedServer(nil)
	picky.Config.ErrorLog = quietLog
	picky.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}
	picky.StartTLS()
	t.Cleanup(picky.Close)
	tunnels := serveWith(t, func(w http.ResponseWriter, r *http.Request) { tunnel(t, w, r) })
	mute := "https://" + hangingUp(t)
	nowhere := "http://" + strings.Repeat("a", 64) + ".test/" // which no resolver is asked for
	failing := func(err error) dialer {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	opaque := &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errRefused}
	for _, tt := range []struct {
		name  string
		url   string
		proxy string
		dial  dialer
		tls   *tls.Config
	}{
		{name: "refused", url: down},
		{name: "no such name", url: nowhere},
		{name: "no such port", url: "http://127.0.0.1:99999"},
		{name: "untrusted certificate", url: secured.URL},
		{name: "plain server behind https", url: "https://" + plain.Listener.Addr().String()},
		{name: "hang-up in the handshake", url: mute},
		{name: "alert", url: picky.URL, tls: &tls.Config{InsecureSkipVerify: true}},
		{name: "DialContext", url: down, dial: failing(errRefused)},
		{name: "DialContext and TLS", url: secured.URL, dial: failing(errRefused)},
		{name: "proxy down, http", url: plain.URL, proxy: down},
		{name: "proxy down, https", url: secured.URL, proxy: down},
		{name: "no such proxy, http", url: plain.URL, proxy: nowhere},
		{name: "no such proxy, https", url: secured.URL, proxy: nowhere},
		{name: "untrusted proxy, http", url: plain.URL, proxy: secured.URL},
		{name: "untrusted proxy, https", url: secured.URL, proxy: secured.URL},
		{name: "untrusted behind a proxy", url: secured.URL, proxy: tunnels.URL},
		{name: "plain server behind https and a proxy", url: "https://" + plain.Listener.Addr().String(), proxy: tunnels.URL},
		{name: "proxy that hangs up", url: secured.URL, proxy: strings.Replace(mute, "https:", "http:", 1)},
		{name: "proxy and DialContext, http", url: plain.URL, proxy: down, dial: failing(errRefused)},
		{name: "proxy and DialContext, https", url: secured.URL, proxy: down, dial: failing(errRefused)},
		{name: "proxyconnect of DialContext, http", url: plain.URL, proxy: down, dial: failing(opaque)},
		{name: "proxyconnect of DialContext, https", url: secured.URL, proxy: down, dial: failing(opaque)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var proxy func(*http.Request) (*url.URL, error)
			if tt.proxy != "" {
				proxy = proxied(tt.proxy)
			}
			get := func(rt http.RoundTripper) string {
				_, err := (&http.Client{Transport: rt}).Get(tt.url)
				return typesOf(err)
			}
			want := get(&http.Transport{Proxy: proxy, DialContext: tt.dial, TLSClientConfig: tt.tls.Clone()})
			got := get(&nethttp.Transport{Proxy: proxy, DialContext: tt.dial, TLSClientConfig: tt.tls.Clone()})
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// hangingUp returns the address of a server that reads a little from each client and hangs up.
func hangingUp(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				nc.Read(make([]byte, 4096))
				nc.Close()
			}()
		}
	}()
	return ln.Addr().String()
}

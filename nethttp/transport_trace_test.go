package nethttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
)

// WroteHeaderField is called once for each name with all its values, for the fields of the framing too.
func TestTransportTraceFields(t *testing.T) {
	s := serveWith(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	for _, tt := range []struct {
		method string
		body   io.Reader
	}{
		{"GET", nil}, {"DELETE", nil}, {"POST", nil}, {"PUT", nil}, {"PATCH", nil}, {"BREW", nil},
		{"POST", strings.NewReader("body")}, {"POST", io.MultiReader(strings.NewReader("body"))},
		{"POST", strings.NewReader(strings.Repeat("x", 100<<10))},
	} {
		content := []byte{}
		if tt.body != nil {
			content, _ = io.ReadAll(tt.body)
		}
		first := ""
		sent(t, func(t *testing.T, client *http.Client) {
			var body io.Reader
			switch tt.body.(type) {
			case nil:
			case *strings.Reader:
				body = strings.NewReader(string(content))
			default:
				body = io.MultiReader(strings.NewReader(string(content)))
			}
			r := requestTo(t, tt.method, s.URL, body)
			r.Header["X-Many"] = []string{"1", "2"}
			var got []string
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
				WroteHeaderField: func(name string, values []string) { got = append(got, fmt.Sprintf("%s: %q", name, values)) },
			}))
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			slices.Sort(got)
			if all := strings.Join(got, "\n"); first == "" {
				first = all
			} else if all != first {
				t.Errorf("%s with %d bytes:\n%s\nwant\n%s", tt.method, len(content), all, first)
			}
		})
	}
}

// GetConn has the address that connections lead to, in ASCII.
func TestTransportTraceGetConn(t *testing.T) {
	down := "http://" + wiretest.FreeAddress(t)
	for _, tt := range []struct{ url, proxy string }{
		{"http://b\u00fccher.test", ""}, {"https://b\u00fccher.test", ""}, {"http://b\u00fccher.test:81/x", ""},
		{"http://[::1]", ""}, {"http://host.test", down}, {"https://host.test", down},
		{"http://host.test", "https://pr\u00f6xy.test"}, {"http://host.test", "socks5://pr\u00f6xy.test"},
	} {
		first := ""
		var proxy func(*http.Request) (*url.URL, error)
		if tt.proxy != "" {
			proxy = proxied(tt.proxy)
		}
		dial := func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
		for _, rt := range []http.RoundTripper{
			&http.Transport{Proxy: proxy, DialContext: dial}, &nethttp.Transport{Proxy: proxy, DialContext: dial},
		} {
			r := requestTo(t, "GET", tt.url, nil)
			got := "nothing"
			if _, err := rt.RoundTrip(r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GetConn: func(addr string) { got = addr },
			}))); !errors.Is(err, errRefused) {
				t.Error(err)
			}
			if first == "" {
				first = got
			} else if got != first {
				t.Errorf("%s by %q: %s, want %s", tt.url, tt.proxy, got, first)
			}
		}
	}
}

// The hooks for connections are not called for the sockets of the resolver, but those for lookups are.
func TestTransportTraceLookup(t *testing.T) {
	servesNoNames(t)
	for which := range transports {
		t.Run(transports[which].name, func(t *testing.T) {
			var mu sync.Mutex
			var log []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, what)
			}
			for _, hooks := range []*httptrace.ClientTrace{
				{
					DNSStart:     func(i httptrace.DNSStartInfo) { note("DNSStart " + i.Host) },
					DNSDone:      func(i httptrace.DNSDoneInfo) { note(fmt.Sprint("DNSDone ", i.Err != nil)) },
					ConnectStart: func(network, addr string) { note("ConnectStart " + network) },
					ConnectDone:  func(network, addr string, err error) { note("ConnectDone " + network) },
				},
				{ConnectStart: func(network, addr string) { note("ConnectStart " + network) }},
			} {
				log = nil
				client := &http.Client{Transport: transports[which].make(nil, nil)}
				r := requestTo(t, "GET", fmt.Sprintf("http://h%p.test", hooks), nil)
				if _, err := client.Do(r.WithContext(httptrace.WithClientTrace(t.Context(), hooks))); err == nil {
					t.Error("no error")
				}
				want := ""
				if hooks.DNSStart != nil {
					want = "DNSStart " + r.URL.Host + ", DNSDone true"
				}
				if got := strings.Join(log, ", "); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

// servesNoNames makes lookups in this process ask a server that knows no name.
func servesNoNames(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for buf := make([]byte, 1500); ; {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			buf[2], buf[3] = 0x81, 0x83 // a response: no such name
			pc.WriteTo(buf[:n], from)
		}
	}()
	usual := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = usual; pc.Close() })
}

// A DialContext that uses package net reports its connections itself, once.
func TestTransportTraceOfDialContext(t *testing.T) {
	s := serveWith(t, func(http.ResponseWriter, *http.Request) {})
	for _, rt := range []http.RoundTripper{
		&http.Transport{DialContext: (&net.Dialer{}).DialContext}, &nethttp.Transport{DialContext: (&net.Dialer{}).DialContext},
	} {
		started := 0
		client := &http.Client{Transport: rt}
		resp, err := client.Do(requestTo(t, "GET", s.URL, nil).WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			ConnectStart: func(string, string) { started++ },
		})))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		client.CloseIdleConnections()
		if started != 1 {
			t.Errorf("%T: ConnectStart was called %d times", rt, started)
		}
	}
}

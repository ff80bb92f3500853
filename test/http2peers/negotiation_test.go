package http2peers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// offers returns what a client offers by ALPN to the server that it dials.
func offers(t *testing.T, call func(dial func(context.Context, string, string) (net.Conn, error)) error) (protos [][]string) {
	t.Helper()
	var mu sync.Mutex
	refused := errors.New("refused")
	cfg := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		protos = append(protos, hello.SupportedProtos)
		return nil, refused
	}}
	err := call(func(context.Context, string, string) (net.Conn, error) {
		client, server := memnet.Pipe()
		go func() {
			defer server.Close()
			tls.Server(server, cfg).Handshake()
		}()
		return client, nil
	})
	if err == nil {
		t.Error("the call was successful")
	}
	mu.Lock()
	defer mu.Unlock()
	return protos
}

// By default, clients offer HTTP/2. Programs can turn that off, and clients that cannot use it do not offer it.
func TestOffers(t *testing.T) {
	both, one := []string{"h2", "http/1.1"}, []string{"http/1.1"}
	const target = "https://example.com/"
	get := func(d gallop.Doer) error {
		var req gallop.Request
		req.SetRequestURI(target)
		return d.DoContext(t.Context(), &req, nil)
	}
	type dialFunc = func(context.Context, string, string) (net.Conn, error)
	host := func(set func(c *gallop.HostClient)) func(dial dialFunc) error {
		return func(dial dialFunc) error {
			c := &gallop.HostClient{Addr: "example.com:443", IsTLS: true, DialContext: dial}
			set(c)
			return get(c)
		}
	}
	for _, tc := range []struct {
		name string
		call func(dial dialFunc) error
		want []string
	}{
		{"Client", func(dial dialFunc) error { return get(&gallop.Client{DialContext: dial}) }, both},
		{"HostClient", host(func(*gallop.HostClient) {}), both},
		{"a TLS configuration", host(func(c *gallop.HostClient) { c.TLSConfig = &tls.Config{InsecureSkipVerify: true} }), both},
		{"Dial without TLS", func(dial dialFunc) error {
			return get(&gallop.HostClient{Addr: "example.com:443", IsTLS: true, Dial: func(addr string) (net.Conn, error) { return dial(nil, "tcp", addr) }})
		}, both},
		{"NextProtos with HTTP/2", host(func(c *gallop.HostClient) { c.TLSConfig = &tls.Config{NextProtos: both} }), both},
		{"NextProtos without HTTP/2", host(func(c *gallop.HostClient) { c.TLSConfig = &tls.Config{NextProtos: []string{"x", "http/1.1"}} }), []string{"x", "http/1.1"}},
		{"HTTP/1", host(func(c *gallop.HostClient) { c.Protocols = protocols(h1) }), one},
		{"HTTP/1, and NextProtos with HTTP/2", host(func(c *gallop.HostClient) {
			c.Protocols, c.TLSConfig = protocols(h1), &tls.Config{NextProtos: both}
		}), one},
		{"HTTP/1 and HTTP/2", host(func(c *gallop.HostClient) { c.Protocols = protocols(h1, h2) }), both},
		{"HTTP/2", host(func(c *gallop.HostClient) { c.Protocols = protocols(h2) }), []string{"h2"}},
		{"HTTP/1 and HTTP/2 without TLS", host(func(c *gallop.HostClient) { c.Protocols = protocols(h1, h2c) }), one},
		{"a forward proxy", host(func(c *gallop.HostClient) { c.IsProxy = true }), one},
		{"a tunnel through a proxy", host(func(c *gallop.HostClient) {
			c.Proxy = func(context.Context, *url.URL) (*url.URL, error) { return url.Parse("https://proxy.example.com") }
		}), one}, // the proxy sees this, and refuses it
		{"AcquireConn", func(dial dialFunc) error {
			_, err := (&gallop.HostClient{Addr: "example.com:443", IsTLS: true, DialContext: dial}).AcquireConn(0, false)
			return err
		}, one},
		{"PipelineClient", func(dial dialFunc) error {
			return get(&gallop.PipelineClient{Addr: "example.com:443", IsTLS: true, DialContext: dial})
		}, one},
		{"an upgrade", func(dial dialFunc) error {
			var req gallop.Request
			req.SetRequestURI(target)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "websocket")
			return (&gallop.Client{DialContext: dial}).Do(&req, nil)
		}, one},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := offers(t, tc.call)
			if len(got) == 0 {
				t.Fatal("no handshake")
			}
			for _, protos := range got {
				if !slices.Equal(protos, tc.want) {
					t.Errorf("offers %q, want %q", protos, tc.want)
				}
			}
		})
	}
}

// The server's choice counts, unless the client permits HTTP/2 only.
func TestNegotiation(t *testing.T) {
	for _, tc := range []struct {
		name   string
		client *gallop.Protocols
		server bool // has HTTP/2
		want   string
		err    string
	}{
		{"default", nil, true, "HTTP/2.0", ""},
		{"default, old server", nil, false, "HTTP/1.1", ""},
		{"both", protocols(h1, h2), true, "HTTP/2.0", ""},
		{"both, old server", protocols(h1, h2), false, "HTTP/1.1", ""},
		{"HTTP/2", protocols(h2), true, "HTTP/2.0", ""},
		{"HTTP/2, old server", protocols(h2), false, "", "no application protocol"},
		{"HTTP/1", protocols(h1), true, "HTTP/1.1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := secured(t, newStd(t, tc.server, echoStd))
			c.Protocols = tc.client
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					var resp gallop.Response
					err := c.Do(request(c, "GET", "/", ""), &resp)
					got := string(resp.Header.Peek("X-Proto"))
					if tc.err == "" && (err != nil || got != tc.want) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			group.Wait()
			if n := c.ConnsCount(); tc.want == "HTTP/2.0" && n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A server without ALPN gets HTTP/1, and nothing if the client permits HTTP/2 only.
func TestNoALPN(t *testing.T) {
	for _, only2 := range []bool{false, true} {
		s := http.Server{Handler: http.HandlerFunc(echoStd), TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
		ln := memnet.NewListener()
		cert, key, _ := gallop.GenerateTestCertificate("example.com")
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}}))
		c := secured(t, "example.com:443")
		c.Protocols = nil
		c.DialContext = func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }
		if only2 {
			c.Protocols = protocols(h2)
		}
		var resp gallop.Response
		err = c.Do(request(c, "GET", "/", ""), &resp)
		switch got := string(resp.Header.Peek("X-Proto")); {
		case !only2 && (err != nil || got != "HTTP/1.1"):
			t.Errorf("%q, %v", got, err)
		case only2 && (err == nil || !strings.Contains(err.Error(), "does not support HTTP/2") || c.ConnsCount() != 0):
			t.Error(err)
		}
		c.CloseIdleConnections()
		s.Close()
	}
}

package server_test

import (
	"crypto/tls"
	"net"
	"slices"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A client that offers HTTP/2 and HTTP/1.1, as browsers do, agrees on HTTP/2 only with a
// server that serves it, whatever the program's configuration lists.
func TestHTTP2IsOfferedIfServed(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	listing := func(protos ...string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protos}
	}
	choosing := func(chosen *tls.Config) *tls.Config {
		return &tls.Config{NextProtos: []string{"h2"}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return chosen, nil
		}}
	}
	autocert := []string{"h2", "http/1.1", "acme-tls/1"}
	chosen := listing(autocert...)
	for name, tt := range map[string]struct {
		config *tls.Config
		served bool
		offer  []string
		want   string
	}{
		"autocert's configuration":              {listing(autocert...), false, autocert[:2], "http/1.1"},
		"autocert's configuration, a challenge": {listing(autocert...), false, autocert[2:], "acme-tls/1"},
		"HTTP/2 alone":                          {listing("h2"), false, autocert[:2], "http/1.1"},
		"HTTP/2 twice":                          {listing("h2", "x", "h2"), false, autocert[:2], "http/1.1"},
		"HTTP/2 behind HTTP/1.1":                {listing("http/1.1", "h2"), false, autocert[:2], "http/1.1"},
		"no ALPN":                               {listing("h2"), false, nil, ""},
		"nothing listed":                        {listing(), false, autocert[:2], "http/1.1"},
		"HTTP/2 is served":                      {listing("h2"), true, autocert[:2], "h2"},
		"chosen for a client":                   {choosing(chosen), false, autocert[:2], "http/1.1"},
		"chosen for a client, HTTP/2 alone":     {choosing(listing("h2")), false, autocert[:2], "http/1.1"},
		"chosen for a client, as listed":        {choosing(listing("y", "http/1.1")), false, []string{"y"}, "y"},
		"chosen for a client, HTTP/2 is served": {choosing(chosen), true, autocert[:2], "h2"},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				before := slices.Clone(tt.config.NextProtos)
				s := &gallop.Server{Engine: over, Handler: servertest.Say, TLSConfig: tt.config}
				if tt.served {
					s.NextProto("h2", func(net.Conn) error { return nil })
				}
				addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, "", "") })
				checkOffer(t, addr, tt.offer, tt.want)
				own := &gallop.Server{Engine: over, Handler: servertest.Say}
				if tt.served {
					own.NextProto("h2", func(net.Conn) error { return nil })
				}
				addr = listen(t, own, func(ln net.Listener) error { return own.Serve(tls.NewListener(ln, tt.config)) })
				want := tt.want
				if name == "nothing listed" {
					want = ""
				}
				checkOffer(t, addr, tt.offer, want)
				if !slices.Equal(tt.config.NextProtos, before) || !slices.Equal(chosen.NextProtos, autocert) {
					t.Errorf("the configuration lists %q now", tt.config.NextProtos)
				}
			})
		})
	}
}

// checkOffer checks what a client that offers protocols agrees on, and that HTTP/1.1 is served then.
func checkOffer(t *testing.T, addr string, offer []string, want string) {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: offer})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.ConnectionState().NegotiatedProtocol; got != want {
		t.Errorf("agreed on %q, want %q", got, want)
	}
	if want == "http/1.1" || want == "" {
		if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
	}
}

// Clients resume their sessions with configurations that are chosen for them.
func TestChosenTLSConfigResumes(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	chosen := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	s := &gallop.Server{Handler: servertest.Say, TLSConfig: &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return chosen, nil
	}}}
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, "", "") })
	sessions := tls.NewLRUClientSessionCache(1)
	for i := range 2 {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}, ClientSessionCache: sessions})
		if err != nil {
			t.Fatal(err)
		}
		if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		if resumed := c.ConnectionState().DidResume; resumed != (i > 0) {
			t.Errorf("connection %d: resumed is %v", i, resumed)
		}
		c.Close()
	}
}

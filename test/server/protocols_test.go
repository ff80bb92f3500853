package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// newListing returns a function whose configurations have a certificate and list protocols for ALPN.
func newListing(t *testing.T) func(protos ...string) *tls.Config {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return func(protos ...string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protos}
	}
}

// A client that offers HTTP/2 and HTTP/1.1, as browsers do, agrees on HTTP/2 only with a
// server that serves it, whatever the program's configuration lists. Without served and native, HTTP/2 is turned off.
func TestHTTP2IsOfferedIfServed(t *testing.T) {
	t.Parallel()
	listing := newListing(t)
	choosing := func(chosen *tls.Config) *tls.Config {
		return &tls.Config{NextProtos: []string{"h2"}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return chosen, nil
		}}
	}
	autocert := []string{"h2", "http/1.1", "acme-tls/1"}
	chosen := listing(autocert...)
	for name, tt := range map[string]struct {
		config *tls.Config
		served bool // by a handler of NextProto
		native bool
		offer  []string
		want   string
	}{
		"autocert's configuration":              {listing(autocert...), false, false, autocert[:2], "http/1.1"},
		"autocert's configuration, a challenge": {listing(autocert...), false, false, autocert[2:], "acme-tls/1"},
		"HTTP/2 alone":                          {listing("h2"), false, false, autocert[:2], "http/1.1"},
		"HTTP/2 twice":                          {listing("h2", "x", "h2"), false, false, autocert[:2], "http/1.1"},
		"HTTP/2 behind HTTP/1.1":                {listing("http/1.1", "h2"), false, false, autocert[:2], "http/1.1"},
		"no ALPN":                               {listing("h2"), false, false, nil, ""},
		"nothing listed":                        {listing(), false, false, autocert[:2], "http/1.1"},
		"HTTP/2 is served":                      {listing("h2"), true, false, autocert[:2], "h2"},
		"chosen for a client":                   {choosing(chosen), false, false, autocert[:2], "http/1.1"},
		"chosen for a client, HTTP/2 alone":     {choosing(listing("h2")), false, false, autocert[:2], "http/1.1"},
		"chosen for a client, as listed":        {choosing(listing("y", "http/1.1")), false, false, []string{"y"}, "y"},
		"chosen for a client, HTTP/2 is served": {choosing(chosen), true, false, autocert[:2], "h2"},
		"nothing listed, native":                {listing(), false, true, autocert[:2], "h2"},
		"HTTP/2 listed, native":                 {listing("h2"), false, true, autocert[:2], "h2"},
		"HTTP/2 behind HTTP/1.1, native":        {listing("http/1.1", "h2"), false, true, autocert[:2], "http/1.1"},
		"chosen for a client, native":           {choosing(chosen), false, true, autocert[:2], "h2"},
		"nothing offered, native":               {listing("h2"), false, true, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				before := slices.Clone(tt.config.NextProtos)
				s := &gallop.Server{Engine: over, Handler: servertest.Say, TLSConfig: tt.config}
				own := &gallop.Server{Engine: over, Handler: servertest.Say}
				switch {
				case tt.served:
					s.NextProto("h2", func(net.Conn) error { return nil })
					own.NextProto("h2", func(net.Conn) error { return nil })
				case !tt.native:
					s.Protocols, own.Protocols = onlyHTTP1(), onlyHTTP1()
				}
				addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, "", "") })
				checkOffer(t, addr, tt.offer, tt.want)
				addr = listen(t, own, func(ln net.Listener) error { return own.Serve(tls.NewListener(ln, tt.config)) })
				want := tt.want
				if strings.HasPrefix(name, "nothing listed") {
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

// A server without HTTP/1 does not offer it either, whatever the program's configuration lists. The same is true of net/http.
func TestHTTP1IsOfferedIfServed(t *testing.T) {
	listing := newListing(t)
	chosen := listing("http/1.1", "h2")
	for name, tt := range map[string]struct {
		config *tls.Config
		offer  []string
		want   string
	}{
		"nothing listed":                     {listing(), []string{"http/1.1", "h2"}, "h2"},
		"HTTP/1.1 before HTTP/2":             {listing("http/1.1", "h2"), []string{"http/1.1", "h2"}, "h2"},
		"HTTP/1.1 alone":                     {listing("http/1.1"), []string{"http/1.1", "h2"}, "h2"},
		"another protocol":                   {listing("http/1.1", "x"), []string{"http/1.1", "x"}, "x"},
		"a client that has only HTTP/1.1":    {listing("http/1.1", "h2"), []string{"http/1.1"}, ""},
		"HTTP/1.1 before, chosen for client": {&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return chosen, nil }}, []string{"http/1.1", "h2"}, "h2"},
	} {
		t.Run(name, func(t *testing.T) {
			var protocols gallop.Protocols
			protocols.SetHTTP2(true)
			var standard http.Protocols
			standard.SetHTTP2(true)
			quiet := log.New(io.Discard, "", 0)
			servers := map[string]func(net.Listener) error{
				"net/http": func(ln net.Listener) error {
					return (&http.Server{TLSConfig: tt.config.Clone(), Protocols: &standard, ErrorLog: quiet}).ServeTLS(ln, "", "")
				},
			}
			for _, over := range []gallop.EngineType{gallop.EngineAuto, gallop.EngineGoroutine} {
				servers[fmt.Sprint("gallop ", over)] = func(ln net.Listener) error {
					return (&gallop.Server{Engine: over, Handler: servertest.Say, Protocols: &protocols, TLSConfig: tt.config, Logger: quiet}).ServeTLS(ln, "", "")
				}
			}
			if strings.Contains(name, "chosen") {
				delete(servers, "net/http") // which does not look at it
			}
			for which, serve := range servers {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer ln.Close()
				go serve(ln)
				got := ""
				c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: tt.offer})
				if err == nil {
					got = c.ConnectionState().NegotiatedProtocol
					c.Close()
				}
				if got != tt.want || err != nil {
					t.Errorf("%s: agreed on %q, %v, want %q", which, got, err, tt.want)
				}
			}
		})
	}
}

// onlyHTTP1 returns a set of protocols without HTTP/2.
func onlyHTTP1() *gallop.Protocols {
	var p gallop.Protocols
	p.SetHTTP1(true)
	return &p
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
	s := &gallop.Server{Handler: servertest.Say, Protocols: onlyHTTP1(), TLSConfig: &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
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

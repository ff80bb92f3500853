package gallop

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// certifiedServer serves on as many addresses as are asked for, with one ticket key, and answers with the name in the client's
// certificate.
func certifiedServer(t *testing.T, version uint16, addresses int) (addrs []string, trusted *x509.CertPool) {
	t.Helper()
	peer := newTLSPeer(t, "host.test")
	s := &Server{
		TLSConfig: &tls.Config{Certificates: peer.cfg.Certificates, ClientAuth: tls.RequestClientCert, MaxVersion: version},
		Handler: func(ctx *RequestCtx) {
			state := ctx.TLSConnectionState()
			name := "nobody"
			if len(state.PeerCertificates) > 0 {
				name = state.PeerCertificates[0].DNSNames[0]
			}
			if state.DidResume {
				name += ", resumed"
			}
			ctx.SetBodyString(name)
		},
	}
	s.TLSConfig.SetSessionTicketKeys([][32]byte{{1}})
	t.Cleanup(func() { s.Close() })
	for range addresses {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.ServeTLS(ln, "", "") }()
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, peer.pool
}

// as returns a configuration whose client certificate is for name.
func as(t *testing.T, name string, roots *x509.CertPool) *tls.Config {
	t.Helper()
	return &tls.Config{ServerName: "host.test", RootCAs: roots, Certificates: newTLSPeer(t, name).cfg.Certificates}
}

// A session counts only under the configuration that it was made with: it stands for the client's certificate, and for
// checks of the server's.
func TestClientResumesSessionsOfTheSameConfigurationOnly(t *testing.T) {
	pinned := errors.New("not the pinned certificate")
	for _, tt := range []struct {
		name    string
		b       func(t *testing.T, a *tls.Config) *tls.Config // the configuration for the second address
		want    string                                        // what its server says
		wantErr string
	}{
		{name: "the same", b: func(_ *testing.T, a *tls.Config) *tls.Config { return a }, want: "alice.test, resumed"},
		{name: "another certificate", b: func(t *testing.T, a *tls.Config) *tls.Config { return as(t, "bob.test", a.RootCAs) }, want: "bob.test"},
		{name: "no certificate", b: func(_ *testing.T, a *tls.Config) *tls.Config {
			return &tls.Config{ServerName: "host.test", RootCAs: a.RootCAs}
		}, want: "nobody"},
		{name: "other roots", b: func(t *testing.T, _ *tls.Config) *tls.Config { return as(t, "alice.test", x509.NewCertPool()) },
			wantErr: "unknown authority"},
		{name: "a pin", b: func(_ *testing.T, a *tls.Config) *tls.Config {
			b := a.Clone()
			b.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { return pinned }
			return b
		}, wantErr: pinned.Error()},
		{name: "the same, changed in place", b: func(t *testing.T, a *tls.Config) *tls.Config {
			a.Certificates = as(t, "bob.test", nil).Certificates
			return a
		}, want: "bob.test"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				addrs, roots := certifiedServer(t, version, 2)
				cfg := as(t, "alice.test", roots)
				c := &Client{ConfigureClient: func(hc *HostClient) error {
					hc.TLSConfig = cfg
					return nil
				}}
				for i, want := range []string{"alice.test", "alice.test, resumed"} {
					if _, got, err := c.Get(nil, "https://"+addrs[0]+"/"); err != nil || string(got) != want {
						t.Fatalf("request %d: %q, %v", i, got, err)
					}
					c.CloseIdleConnections()
				}
				cfg = tt.b(t, cfg)
				_, got, err := c.Get(nil, "https://"+addrs[1]+"/")
				if tt.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
						t.Errorf("%x: %q, %v, want %s", version, got, err, tt.wantErr)
					}
				} else if err != nil || string(got) != tt.want {
					t.Errorf("%x: %q, %v, want %q", version, got, err, tt.want)
				}
			}
		})
	}
}

// VerifyPeerCertificate is not called for a session that is resumed, so a configuration that checks with it alone resumes none.
// With VerifyConnection, which is always called, or with a cache of its own it does.
func TestClientChecksPinsOfEveryConnection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*tls.Config)
		resumes bool
	}{
		{"VerifyPeerCertificate", func(*tls.Config) {}, false},
		{"and VerifyConnection", func(cfg *tls.Config) { cfg.VerifyConnection = func(tls.ConnectionState) error { return nil } }, true},
		{"and a cache", func(cfg *tls.Config) { cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				addrs, roots := certifiedServer(t, version, 1)
				var checks atomic.Int32
				cfg := &tls.Config{ServerName: "host.test", RootCAs: roots}
				cfg.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { checks.Add(1); return nil }
				tt.change(cfg)
				c := &HostClient{Addr: addrs[0], IsTLS: true, TLSConfig: cfg}
				for range 3 {
					if _, _, err := c.Get(nil, "https://"+addrs[0]+"/"); err != nil {
						t.Fatal(err)
					}
					c.CloseIdleConnections()
				}
				if got, want := checks.Load(), map[bool]int32{false: 3, true: 1}[tt.resumes]; got != want {
					t.Errorf("%x: %d checks, want %d", version, got, want)
				}
			}
		})
	}
}

// A client that makes a configuration for each connection holds a bounded number of them.
func TestClientHoldsFewSessionCaches(t *testing.T) {
	var s tlsSessions
	first := &tls.Config{}
	if s.of(first) != s.of(first) {
		t.Error("a configuration has two caches")
	}
	if s.of(nil) == nil || s.of(nil) == s.of(first) {
		t.Error("no configuration has none, or that of another one")
	}
	for range 10 * tlsConfigs {
		s.of(&tls.Config{})
	}
	if n := len(s.caches); n > tlsConfigs {
		t.Errorf("%d caches", n)
	}
}

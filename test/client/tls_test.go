package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// certifiedServer serves on as many addresses as are asked for, with one ticket key, and answers with the name in the client's
// certificate.
func certifiedServer(t *testing.T, version uint16, addresses int) (addrs []string, trusted *x509.CertPool) {
	t.Helper()
	peer := servertest.NewTLSPeer(t, "host.test")
	s := &gallop.Server{
		TLSConfig: &tls.Config{Certificates: peer.Config.Certificates, ClientAuth: tls.RequestClientCert, MaxVersion: version},
		Handler: func(ctx *gallop.RequestCtx) {
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
	return addrs, peer.Pool
}

// as returns a configuration whose client certificate is for name.
func as(t *testing.T, name string, roots *x509.CertPool) *tls.Config {
	t.Helper()
	return &tls.Config{ServerName: "host.test", RootCAs: roots, Certificates: servertest.NewTLSPeer(t, name).Config.Certificates}
}

// A session counts only under the configuration that it was made with: it stands for the client's certificate, and for
// checks of the server's.
func TestClientResumesSessionsOfTheSameConfigurationOnly(t *testing.T) {
	t.Parallel()
	pinned := errors.New("not the pinned certificate")
	for _, tt := range []struct {
		name    string
		a       func(t *testing.T, a *tls.Config)             // changes the configuration before it is used
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
		{name: "the same, with a certificate changed in place", b: func(t *testing.T, a *tls.Config) *tls.Config {
			a.Certificates[0] = as(t, "bob.test", nil).Certificates[0]
			return a
		}, want: "bob.test"},
		{name: "second certificate changed in place", a: func(t *testing.T, a *tls.Config) {
			unfit := as(t, "nobody.test", nil).Certificates[0]
			unfit.SupportedSignatureAlgorithms = []tls.SignatureScheme{tls.PKCS1WithSHA1}
			a.Certificates = []tls.Certificate{unfit, a.Certificates[0]}
		}, b: func(t *testing.T, a *tls.Config) *tls.Config {
			a.Certificates[1] = as(t, "bob.test", nil).Certificates[0]
			return a
		}, want: "bob.test"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				addrs, roots := certifiedServer(t, version, 2)
				cfg := as(t, "alice.test", roots)
				if tt.a != nil {
					tt.a(t, cfg)
				}
				c := &gallop.Client{ConfigureClient: func(hc *gallop.HostClient) error {
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
				c := &gallop.HostClient{Addr: addrs[0], IsTLS: true, TLSConfig: cfg}
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

// certifiedProxy is an https proxy that tells seen the name in the certificate of each client.
func certifiedProxy(t *testing.T, version uint16, seen chan<- string) *url.URL {
	t.Helper()
	cfg := &tls.Config{Certificates: servertest.NewTLSPeer(t, "127.0.0.1").Config.Certificates, ClientAuth: tls.RequestClientCert, MaxVersion: version}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go proxyCertified(c.(*tls.Conn), seen)
		}
	}()
	return &url.URL{Scheme: "https", Host: ln.Addr().String()}
}

func proxyCertified(c *tls.Conn, seen chan<- string) {
	defer c.Close()
	r := bufio.NewReader(c)
	var head gallop.RequestHeader
	if head.Read(r) != nil {
		return
	}
	state := c.ConnectionState()
	name := "nobody"
	if len(state.PeerCertificates) > 0 {
		name = state.PeerCertificates[0].DNSNames[0]
	}
	if state.DidResume {
		name += ", resumed"
	}
	seen <- name
	server, err := net.Dial("tcp", string(head.RequestURI()))
	if err != nil {
		return
	}
	defer server.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(server, r)
		server.Close()
	}()
	io.Copy(c, server)
}

// An https proxy and the server behind it both see the certificate that is for the host, and sessions of that alone.
func TestClientResumesSessionsThroughProxies(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		addrs, _ := certifiedServer(t, version, 2)
		seen := make(chan string, 1)
		proxy := certifiedProxy(t, version, seen)
		var checks atomic.Int32
		pinned := as(t, "alice.test", nil)
		pinned.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { checks.Add(1); return nil }
		configs := map[string]*tls.Config{"alice": as(t, "alice.test", nil), "bob": as(t, "bob.test", nil), "pinned": pinned}
		who := ""
		for _, cfg := range configs {
			cfg.InsecureSkipVerify = true // what is verified is another test's
		}
		c := &gallop.Client{
			Proxy: func(context.Context, *url.URL) (*url.URL, error) { return proxy, nil },
			ConfigureClient: func(hc *gallop.HostClient) error {
				hc.TLSConfig = configs[who]
				return nil
			},
		}
		for _, call := range []struct{ who, host, want string }{
			{"alice", addrs[0], "alice.test"},
			{"alice", addrs[0], "alice.test, resumed"},
			{"bob", addrs[1], "bob.test"},
			{"bob", addrs[1], "bob.test, resumed"},
			{"pinned", "localhost" + strings.TrimPrefix(addrs[0], "127.0.0.1"), "alice.test"},
			{"pinned", "localhost" + strings.TrimPrefix(addrs[0], "127.0.0.1"), "alice.test"},
		} {
			who = call.who
			_, got, err := c.Get(nil, "https://"+call.host+"/")
			if err != nil || string(got) != call.want {
				t.Fatalf("%x: the server says %q, %v, want %q", version, got, err, call.want)
			}
			if name := <-seen; name != call.want {
				t.Errorf("%x: the proxy says %q, want %q", version, name, call.want)
			}
			c.CloseIdleConnections()
		}
		if n := checks.Load(); n != 4 {
			t.Errorf("%x: %d checks of four certificates", version, n)
		}
	}
}

// A body that ends with its connection is whole if TLS says goodbye, and else cut off, be it
// by the server or by somebody on the way (RFC 9112 §9.8).
func TestClientTLSCutOff(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		answer  string
		goodbye bool
		want    error
	}{
		"goodbye":                      {head + "\r\nbody", true, nil},
		"no goodbye":                   {head + "\r\nbody", false, io.ErrUnexpectedEOF},
		"no goodbye, nothing yet":      {head + "\r\n", false, io.ErrUnexpectedEOF},
		"no goodbye, but a length":     {head + "Content-Length: 4\r\n\r\nbody", false, nil},
		"no goodbye, but a last chunk": {head + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", false, nil},
	} {
		p := servertest.NewTLSPeer(t, "host.test")
		connect := wiretest.Dialer(func(nc net.Conn) error {
			defer nc.Close()
			server := tls.Server(nc, p.Config)
			var req gallop.RequestHeader
			if err := req.Read(bufio.NewReader(server)); err != nil {
				return err
			}
			_, err := io.WriteString(server, tc.answer)
			if tc.goodbye {
				err = server.Close()
			}
			return err
		})
		dial := func(string) (net.Conn, error) { return connect() }
		cfg := &tls.Config{RootCAs: p.Pool}
		call := func(do func(*gallop.Request, *gallop.Response) error, stream bool) error {
			var req gallop.Request
			var resp gallop.Response
			req.SetRequestURI("https://host.test/")
			resp.StreamBody = stream
			if err := do(&req, &resp); err != nil || !stream {
				return err
			}
			_, err := io.ReadAll(resp.BodyStream())
			return err
		}
		for kind, do := range map[string]func() error{
			"whole": func() error {
				return call((&gallop.HostClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, false)
			},
			"stream": func() error {
				return call((&gallop.HostClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, true)
			},
			"pipeline": func() error {
				return call((&gallop.PipelineClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, false)
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				if err := do(); !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
			})
		}
	}
}

// A client's WriteTimeout is for the handshake, too.
func TestClientTLSHandshakeLimit(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, 3 * time.Second: 3 * time.Second, time.Minute: 10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			c := &gallop.HostClient{Addr: "host.test", IsTLS: true, WriteTimeout: limit, Dial: func(string) (net.Conn, error) {
				client, server := memnet.Pipe()
				go io.Copy(io.Discard, server)
				return client, nil
			}}
			_, _, err := c.Get(nil, "https://host.test/")
			if took := time.Since(begun); err != gallop.ErrTLSHandshakeTimeout || took != want {
				t.Errorf("WriteTimeout %v: %v after %v", limit, err, took)
			}
		})
	}
}

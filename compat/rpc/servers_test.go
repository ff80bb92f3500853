// Package rpc_test has tests of gRPC and Connect over package nethttp: grpc-go's and connect-go's servers and clients on gallop's
// server and nethttp.Transport, next to net/http and to grpc-go's own server.
package rpc_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/nethttp"
)

// site is the address of a server, and what its clients have to trust.
type site struct {
	addr  string
	roots *x509.CertPool // nil without TLS
}

func (s site) url() string {
	if s.roots != nil {
		return "https://" + s.addr
	}
	return "http://" + s.addr
}

func (s site) tls() *tls.Config {
	if s.roots == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.roots}
}

// secrecy is the ways in which a connection can be made.
var secrecy = map[string]bool{"TLS": true, "h2c": false}

// engine returns a function that serves h on gallop.
func engine(e gallop.EngineType) func(t *testing.T, h http.Handler, secure bool) site {
	return func(t *testing.T, h http.Handler, secure bool) site {
		t.Helper()
		s := nethttp.NewServer(h)
		s.Engine = e
		s.Protocols = new(gallop.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetHTTP2(true)
		s.Protocols.SetUnencryptedHTTP2(true)
		ln := listen(t)
		at := site{addr: ln.Addr().String()}
		serve := s.Serve
		if secure {
			var cert tls.Certificate
			cert, at.roots = galloptest.Certificate("127.0.0.1")
			s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
			serve = func(ln net.Listener) error { return s.ServeTLS(ln, "", "") }
		}
		served := make(chan error, 1)
		go func() { served <- serve(ln) }()
		t.Cleanup(func() {
			if err := errors.Join(s.Close(), <-served); err != nil {
				t.Error(err)
			}
		})
		return at
	}
}

// std serves h on net/http.
func std(t *testing.T, h http.Handler, secure bool) site {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	at := site{addr: s.Listener.Addr().String()}
	if secure {
		s.StartTLS()
		at.roots = x509.NewCertPool()
		at.roots.AddCert(s.Certificate())
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return at
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// handlers are where the handlers of a test run.
var handlers = map[string]func(t *testing.T, h http.Handler, secure bool) site{
	"loop": engine(gallop.EngineLoop), "goroutine": engine(gallop.EngineGoroutine), "net/http": std,
}

// newGRPC returns a server of grpc-go with the service of the interoperability tests.
func newGRPC(options ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(options...)
	testpb.RegisterTestServiceServer(s, interop.NewTestServer())
	return s
}

// grpcOwn serves with grpc-go's own transport.
func grpcOwn(t *testing.T, secure bool) site {
	t.Helper()
	ln := listen(t)
	at := site{addr: ln.Addr().String()}
	var options []grpc.ServerOption
	if secure {
		var cert tls.Certificate
		cert, at.roots = galloptest.Certificate("127.0.0.1")
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	}
	s := newGRPC(options...)
	go s.Serve(ln)
	t.Cleanup(s.Stop)
	return at
}

// transport is an http.RoundTripper of a client.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// transports make the transports that clients use for HTTP/2 at a site.
var transports = map[string]func(at site) transport{
	"gallop": func(at site) transport {
		return &nethttp.Transport{TLSClientConfig: at.tls(), Protocols: onlyHTTP2()}
	},
	"net/http": func(at site) transport {
		return &http.Transport{TLSClientConfig: at.tls(), Protocols: onlyHTTP2()}
	},
}

func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// httpClient returns a client for a site.
func httpClient(t *testing.T, name string, at site) *http.Client {
	tr := transports[name](at)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// dial returns a connection of grpc-go's client.
func dial(t *testing.T, at site) *grpc.ClientConn {
	t.Helper()
	creds := credentials.NewClientTLSFromCert(at.roots, "")
	if at.roots == nil {
		creds = insecure.NewCredentials()
	}
	cc, err := grpc.NewClient("passthrough:///"+at.addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

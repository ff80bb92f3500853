package servertest

import (
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Protocol is what a test's server speaks on its connections.
type Protocol string

// The protocols of [Transport].
const (
	HTTP1 Protocol = ""    // HTTP/1
	H2C   Protocol = "h2c" // HTTP/2 without TLS
	H2    Protocol = "h2"  // HTTP/2 over TLS
)

// HTTP2 reports whether the server of a test speaks HTTP/2.
func (on Transport) HTTP2() bool { return on.Protocol != HTTP1 }

// OnWires runs a test on each of [Transports] with HTTP/1, with HTTP/2, and with HTTP/2 over TLS. The subtests over HTTP/2
// have names such as "loop/h2c". The test sends requests and reads responses as HTTP/1 text in all cases. Over HTTP/2, a
// gateway translates.
func OnWires(t *testing.T, test func(t *testing.T, on Transport)) {
	t.Helper()
	serverTLS()
	OnTransports(t, test)
	for _, on := range Transports {
		for _, p := range []Protocol{H2C, H2} {
			on.Protocol = p
			t.Run(on.Name+"/"+string(p), func(t *testing.T) { test(t, on) })
		}
	}
}

// serverTLS returns the TLS configuration that all servers of a process share.
var serverTLS = sync.OnceValue(func() *tls.Config {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		panic(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
})

// prepare lets s speak the protocol. The transports serve TLS if the server has a configuration for it. A server may serve
// several protocols one after the other.
func (on Transport) prepare(s *gallop.Server) {
	switch ours := s.TLSConfig == serverTLS(); {
	case on.Protocol == H2 && s.TLSConfig == nil:
		s.TLSConfig = serverTLS()
	case on.Protocol != H2 && ours:
		s.TLSConfig = nil
	}
	if s.Protocols == nil && on.HTTP2() {
		s.Protocols = new(gallop.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetHTTP2(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
}

// serveHTTP2 serves a test that speaks HTTP/1, over a connection on which s speaks HTTP/2.
func (on Transport) serveHTTP2(s *gallop.Server, test net.Conn) error {
	client, server := wiretest.Pipe()
	served := make(chan error, 1)
	go func() { served <- on.serveConn(s, server) }()
	if on.Protocol == H2C {
		passOn(test, client, "http")
	} else if c := tls.Client(client, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}); c.Handshake() == nil {
		passOn(test, c, "https")
	} else {
		_ = client.Close()
		_ = test.Close()
	}
	return <-served
}

// http2Listener is a listener whose clients speak HTTP/1, and whose connections HTTP/2.
type http2Listener struct{ Listener }

// Dial returns a connection through a gateway.
func (ln http2Listener) Dial() (net.Conn, error) {
	server, err := ln.Listener.Dial()
	if err != nil {
		return nil, err
	}
	client, test := wiretest.Pipe()
	go passOn(test, server, "http")
	return client, nil
}

// SyscallConn returns the socket of a listener that event loops serve.
func (ln http2Listener) SyscallConn() (syscall.RawConn, error) {
	return ln.Listener.(syscall.Conn).SyscallConn()
}

package wiretest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
)

// TLSPeer is a TLS server with a certificate of its own for one host.
type TLSPeer struct {
	Config *tls.Config
	Pool   *x509.CertPool // trusts the certificate
	SNI    []string       // the names that clients asked for
}

// NewTLSPeer returns a TLSPeer whose certificate comes from generate, which is gallop.GenerateTestCertificate.
func NewTLSPeer(t testing.TB, host string, generate func(host string) (certPEM, keyPEM []byte, err error)) *TLSPeer {
	t.Helper()
	certPEM, keyPEM, err := generate(host)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	p := &TLSPeer{Pool: x509.NewCertPool()}
	p.Pool.AppendCertsFromPEM(certPEM)
	p.Config = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	p.Config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		p.SNI = append(p.SNI, hello.ServerName)
		return nil, nil
	}
	return p
}

// Serve writes "hello" to a client and waits until the client closes the connection.
func (p *TLSPeer) Serve(nc net.Conn) {
	defer nc.Close()
	tc := tls.Server(nc, p.Config)
	if tc.Handshake() == nil {
		io.WriteString(tc, "hello")
	}
	io.Copy(io.Discard, nc)
}

package galloptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"
)

// Certificate returns a new certificate with its private key, and a pool of roots that trusts it. In the server's
// tls.Config, add the certificate to Certificates. In the client's tls.Config, set RootCAs to the pool. The certificate
// also works as a client certificate.
//
// Hosts are IP addresses and host names, which may begin with "*.". Without hosts, the certificate is valid for localhost,
// 127.0.0.1, ::1, and example.com, the host of [Serve].
//
// The certificate is valid from 1990 to 2099, so it also works in a testing/synctest bubble, where time starts in 2000.
func Certificate(hosts ...string) (tls.Certificate, *x509.CertPool) {
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "::1", "example.com"}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	must(err)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"galloptest"}, CommonName: hosts[0]},
		NotBefore:             time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // so that it may stand in a pool of roots
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	leaf, err := x509.ParseCertificate(der)
	must(err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots
}

// must panics on errors, which only happen for hosts that no certificate can contain.
func must(err error) {
	if err != nil {
		panic("galloptest: no certificate: " + err.Error())
	}
}

// Command h2spec serves what the tests of h2spec need: a GET gets a body, and a POST gets its own body back. It prints the ports of
// four servers: on event loops and on goroutines, without TLS and with it.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/gallop-http/gallop"
)

func main() {
	pair, err := newPair()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, engine := range []gallop.EngineType{gallop.EngineLoop, gallop.EngineGoroutine} {
		for _, secure := range []bool{false, true} {
			if err := serve(engine, secure, pair); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	io.Copy(io.Discard, os.Stdin) // until the script closes it
}

func serve(engine gallop.EngineType, secure bool, pair tls.Certificate) error {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var p gallop.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &gallop.Server{Handler: echo, Engine: engine, Protocols: &p, ErrorLog: slog.New(slog.DiscardHandler)}
	kind := "cleartext"
	if secure {
		kind, s.TLSConfig = "tls", &tls.Config{Certificates: []tls.Certificate{pair}}
		go s.ServeTLS(ln, "", "")
	} else {
		go s.Serve(ln)
	}
	fmt.Println(kind, ln.Addr().(*net.TCPAddr).Port)
	return nil
}

func echo(ctx *gallop.RequestCtx) {
	if ctx.Request.Header.IsPost() {
		ctx.SetBody(ctx.PostBody())
		return
	}
	ctx.SetBodyString("Hello, World!")
}

// newPair returns a certificate for 127.0.0.1.
func newPair() (pair tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, err
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

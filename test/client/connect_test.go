package client_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// A 2xx to CONNECT begins a tunnel, whatever its header says about a body; a client has to ignore
// Content-Length and Transfer-Encoding there (RFC 9110 §9.3.6, RFC 9112 §6.3).
func TestClientTunnels(t *testing.T) {
	framings := map[string]string{
		"no body":             "",
		"a length":            "Content-Length: 5\r\n",
		"a length of zero":    "Content-Length: 0\r\n",
		"chunks":              "Transfer-Encoding: chunked\r\n",
		"length and chunks":   "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"an unknown encoding": "Transfer-Encoding: x\r\n",
	}
	certificate, key, err := gallop.GenerateTestCertificate("proxy.test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, secured := range map[string]*tls.Config{"TCP": nil, "TLS": {Certificates: []tls.Certificate{pair}}} {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{200, 201, 204, 226, 299} {
				for name, framing := range framings {
					t.Run(fmt.Sprint(status, " with ", name), func(t *testing.T) {
						answer := fmt.Sprintf("HTTP/1.1 %d x\r\n%s\r\n", status, framing)
						tunnel(t, secured, answer)
						tunnelUnwanted(t, secured, answer)
					})
				}
			}
		})
	}
}

// proxyFor returns a client whose server answers each request with answer, and then says "5\r\nhello\r\n"
// and echoes.
func proxyFor(t *testing.T, secured *tls.Config, answer string) *gallop.HostClient {
	ln := memnet.NewListener()
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if secured != nil {
				c = tls.Server(c, secured)
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				if new(gallop.RequestHeader).Read(r) == nil {
					io.WriteString(c, answer+"5\r\nhello\r\n")
					io.Copy(c, r)
				}
			}()
		}
	}()
	return &gallop.HostClient{
		Addr: "proxy.test:443", IsTLS: secured != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true},
		Dial:        func(string) (net.Conn, error) { return ln.Dial() },
		ReadTimeout: 5 * time.Second, // so that a broken client fails its test instead of hanging
	}
}

func connectRequest() *gallop.Request {
	req := &gallop.Request{}
	req.Header.SetMethod(gallop.MethodConnect)
	req.Header.SetRequestURI("example.com:443")
	req.Header.SetHost("example.com:443")
	return req
}

// tunnel opens a tunnel and checks that each byte behind the head comes out of it.
func tunnel(t *testing.T, secured *tls.Config, answer string) {
	t.Helper()
	c := proxyFor(t, secured, answer)
	resp := &gallop.Response{StreamBody: true}
	if err := c.Do(connectRequest(), resp); err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.BodyStream().(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body is a %T", resp.BodyStream())
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("5\r\nhello\r\nping"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "5\r\nhello\r\nping" {
		t.Errorf("read %q, %v", got, err)
	}
}

// tunnelUnwanted checks that a client that does not read from the tunnel sees no body, and uses the
// connection for nothing else.
func tunnelUnwanted(t *testing.T, secured *tls.Config, answer string) {
	t.Helper()
	c := proxyFor(t, secured, answer)
	var resp gallop.Response
	if err := c.Do(connectRequest(), &resp); err != nil || len(resp.Body()) > 0 {
		t.Errorf("body %q, %v", resp.Body(), err)
	}
	if n := c.ConnsCount(); n > 0 {
		t.Errorf("%d connections are kept", n)
	}
}

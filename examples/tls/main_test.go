package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
	"github.com/gallop-http/gallop/galloptest"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// files are where the certificate and its key are.
type files struct{ cert, key string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

// renew writes a new certificate and returns a client that accepts only this one.
func (f files) renew(t *testing.T) *http.Client {
	t.Helper()
	cert, roots := galloptest.Certificate()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{f.cert: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, f.key: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
}

func start(t *testing.T, f files) (p *program.Process, secure string) {
	t.Helper()
	p = program.Start(t, 2, "-addr", "127.0.0.1:0", "-plain", "127.0.0.1:0", "-cert", f.cert, "-key", f.key, "-host", "example.com")
	// The two servers start at the same time, so either address may come first.
	for _, addr := range append(p.Also, p.Addr) {
		if conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
			conn.Close()
			secure = addr
		} else {
			p.URL = "http://" + addr
		}
	}
	if secure == "" || strings.HasSuffix(p.URL, secure) {
		t.Fatalf("HTTPS %q, HTTP %q", secure, p.URL)
	}
	return p, secure
}

func TestHTTPS(t *testing.T) {
	f := newFiles(t)
	client := f.renew(t)
	p, secure := start(t, f)
	response, err := client.Get("https://" + secure + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != 200 || string(text) != "Hello over https\n" || response.Header.Get("Strict-Transport-Security") != "max-age=63072000" {
		t.Errorf("%s %q %v", response.Status, text, response.Header)
	}

	// Plain HTTP on the port for HTTPS.
	if response, err := http.Get("http://" + secure); err != nil || response.StatusCode != 400 {
		t.Errorf("plain HTTP: %v, %v", response, err)
	}

	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestRedirect(t *testing.T) {
	f := newFiles(t)
	f.renew(t)
	p, _ := start(t, f)
	for path, want := range map[string]string{
		"/":                  "https://example.com/",
		"/a/b?c=d":           "https://example.com/a/b?c=d",
		"//evil.example/":    "https://example.com//evil.example/",
		"/%2e%2e/@evil?x=/y": "https://example.com/@evil?x=/y",
	} {
		for _, method := range []string{"GET", "POST"} {
			response, _ := p.Do(method, path, "")
			if got := response.Header.Get("Location"); response.StatusCode != 308 || got != want {
				t.Errorf("%s %s: %s to %s, want %s", method, path, response.Status, got, want)
			}
			if response.Header.Get("Strict-Transport-Security") != "" {
				t.Error("HSTS over plain HTTP, which browsers ignore (RFC 6797 §7.2)")
			}
		}
	}
}

func TestRenewal(t *testing.T) {
	f := newFiles(t)
	before := f.renew(t)
	_, secure := start(t, f)
	get := func(c *http.Client) error {
		response, err := c.Get("https://" + secure)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := get(before); err != nil {
		t.Fatal(err)
	}
	after := f.renew(t)
	program.Eventually(t, "the server uses the new certificate", func() bool { return get(after) == nil })
	if err := get(before); err == nil {
		t.Error("a client that knows only the old certificate still accepts the server")
	}
}

func TestNoCertificate(t *testing.T) {
	f := newFiles(t)
	f.renew(t)
	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, 0, "-addr", "127.0.0.1:0", "-plain", "127.0.0.1:0", "-cert", f.cert, "-key", f.key)
	if err := p.Wait(); err == nil || !strings.Contains(p.Log(), "key.pem") {
		t.Errorf("%v, log: %s", err, p.Log())
	}
}

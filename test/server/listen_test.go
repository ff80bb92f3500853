package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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

// listen serves a TCP port of the loopback interface until the test ends.
func listen(t *testing.T, s *gallop.Server, serve func(net.Listener) error) string {
	t.Helper()
	if s.Logger == nil {
		s.Logger = servertest.Quiet
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func dialTCP(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// firstLine sends a request, if it is one, and returns the first line that comes back.
func firstLine(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil || b[0] == '\r' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, Handler: servertest.Say, Concurrency: 2}
		addr := listen(t, s, s.Serve)
		for range 2 {
			if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
				t.Fatal(got)
			}
		}
		if n := s.GetOpenConnectionsCount(); n != 2 {
			t.Errorf("%d open connections", n)
		}
		if got := firstLine(t, dialTCP(t, addr), ""); got != "HTTP/1.1 503 Service Unavailable" {
			t.Error(got)
		}
		if n := s.GetRejectedConnectionsCount(); n != 1 {
			t.Errorf("%d rejected connections", n)
		}
	})
}

func TestConnsPerIPLimit(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		var log servertest.Log
		s := &gallop.Server{Engine: over, Handler: servertest.Say, MaxConnsPerIP: 1, Logger: &log}
		addr := listen(t, s, s.Serve)
		first := dialTCP(t, addr)
		if got := firstLine(t, first, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		if got := firstLine(t, dialTCP(t, addr), ""); got != "HTTP/1.1 429 Too Many Requests" {
			t.Error(got)
		}
		first.Close()
		wiretest.Eventually(t, func() bool { return s.GetOpenConnectionsCount() == 0 })
		if got := log.String(); strings.Count(got, "too many") != 1 {
			t.Errorf("logged %q", got)
		}
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
	})
}

// certificate writes a certificate for localhost to dir.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return certFile, keyFile, pool
}

func fetchTLS(addr string, pool *x509.CertPool) (string, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: "localhost"},
		DisableKeepAlives: true,
	}}
	resp, err := client.Post("https://"+addr+"/x", "text/plain", strings.NewReader(strings.Repeat("x", 50_000)))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestTLSWithReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile, pool := certificate(t, dir)
	var log servertest.Log
	s := &gallop.Server{Logger: &log, Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%v %d", ctx.IsTLS(), len(ctx.PostBody()))
	}}
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, certFile, keyFile) })
	if got, err := fetchTLS(addr, pool); got != "true 50000" || err != nil {
		t.Fatal(got, err)
	}
	if got := firstLine(t, dialTCP(t, addr), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); got != "HTTP/1.1 400 Bad Request" {
		t.Errorf("a plain request is answered %q", got)
	}
	_, _, renewed := certificate(t, dir)
	wiretest.Eventually(t, func() bool { _, err := fetchTLS(addr, renewed); return err == nil })
}

// A server looks at the files of its certificate once a second.
func TestTLSWithReloadOfBadFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		certFile, keyFile, pool := certificate(t, dir)
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: servertest.Say}
		ln := memnet.NewListener()
		served := make(chan error, 1)
		go func() { served <- s.ServeTLS(ln, certFile, keyFile) }()
		shake := func(pool *x509.CertPool) error {
			c, err := ln.Dial()
			if err != nil {
				return err
			}
			defer c.Close()
			return tls.Client(c, &tls.Config{RootCAs: pool, ServerName: "localhost"}).Handshake()
		}
		if err := shake(pool); err != nil {
			t.Error(err)
		}
		_, _, renewed := certificate(t, dir)
		time.Sleep(999 * time.Millisecond)
		if err := shake(pool); err != nil {
			t.Errorf("the files were read within a second: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := shake(renewed); err != nil {
			t.Errorf("after a second, the old certificate is in use: %v", err)
		}
		if err := os.WriteFile(certFile, []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := shake(renewed); err != nil {
			t.Errorf("rubbish took the place of the certificate: %v", err)
		}
		if err := os.Remove(certFile); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it is logged once
			time.Sleep(time.Second)
			if err := shake(renewed); err != nil {
				t.Errorf("without its file, the certificate is gone: %v", err)
			}
		}
		if text := log.String(); strings.Count(text, "cannot be used") != 1 || strings.Count(text, "is missing") != 1 {
			t.Errorf("logged %q", text)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestTLSHandshakeTimeout(t *testing.T) {
	t.Parallel()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*gallop.Server{
		{Handler: servertest.Say, TLSHandshakeTimeout: 100 * time.Millisecond},
		{Handler: servertest.Say, ReadTimeout: 100 * time.Millisecond},
		{Handler: servertest.Say, ReadTimeout: time.Hour, TLSHandshakeTimeout: 100 * time.Millisecond},
	} {
		addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
		c := dialTCP(t, addr)
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || isDeadline(err) {
			t.Errorf("read %d, %v", n, err)
		}
	}
}

func isDeadline(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

func TestNextProto(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Handler: servertest.Say}
	s.NextProto("shout/1", func(c net.Conn) error {
		_, err := io.WriteString(c, "HELLO\r")
		return err
	})
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	wantProtos(t, addr, cert)
}

// wantProtos talks to a server that has HTTP and shout/1.
func wantProtos(t *testing.T, addr string, cert []byte) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	for proto, want := range map[string]string{"shout/1": "HELLO", "http/1.1": "HTTP/1.1 200 OK", "": "HTTP/1.1 200 OK"} {
		cfg := &tls.Config{RootCAs: pool, ServerName: "localhost"}
		if proto != "" {
			cfg.NextProtos = []string{proto}
		}
		c, err := tls.Dial("tcp", addr, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := firstLine(t, c, wiretest.Get("/")); got != want {
			t.Errorf("%q: %q", proto, got)
		}
		c.Close()
	}
}

// Certificates of AppendCert are there for all that TLSConfig.GetCertificate has none for, and
// nothing is written to what TLSConfig shares with its copies.
func TestCertificatesBesideGetCertificate(t *testing.T) {
	pair := func(host string) (cert, key []byte, both tls.Certificate) {
		cert, key, err := gallop.GenerateTestCertificate(host)
		if err == nil {
			both, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			t.Fatal(err)
		}
		return cert, key, both
	}
	cert, key, _ := pair("appended.example")
	_, _, asked := pair("asked.example")
	protos := make([]string, 1, 4)
	protos[0] = "shout/1"
	s := &gallop.Server{Handler: servertest.Say, TLSConfig: &tls.Config{
		NextProtos: protos,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			switch hello.ServerName {
			case "asked.example":
				return &asked, nil
			case "refused.example":
				return nil, errors.New("refused on purpose")
			}
			return nil, nil
		},
	}}
	s.NextProto("whisper/1", func(net.Conn) error { return nil })
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	for name, want := range map[string]string{
		"asked.example": "asked.example", "appended.example": "appended.example", "other.example": "appended.example",
		"127.0.0.1": "appended.example", "refused.example": "",
	} {
		c, err := tls.Dial("tcp", addr, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("%s: the certificate of %q", name, got)
		}
		c.Close()
	}
	if got := strings.Join(protos[:4], " "); got != "shout/1   " {
		t.Errorf("the protocols in memory are %q", got)
	}
}

func TestServeTLSWithoutCertificate(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&gallop.Server{Handler: servertest.Say}).ServeTLS(ln, "", ""); err == nil {
		t.Error("served")
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is still open")
	}
	for _, names := range [][2]string{{"cert.pem", ""}, {"", "key.pem"}} {
		err := new(gallop.Server).AppendCert(names[0], names[1])
		if err == nil || !strings.Contains(err.Error(), "one of the names is empty") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows has no permissions on sockets to look at")
		}
		path := filepath.Join(t.TempDir(), "s")
		for range 2 { // the second server finds the socket of the first
			s := &gallop.Server{Engine: over, Handler: servertest.Say}
			ended := make(chan error, 1)
			go func() { ended <- s.ListenAndServeUNIX(path, 0o600) }()
			var c net.Conn
			wiretest.Eventually(t, func() (ok bool) {
				var err error
				c, err = net.Dial("unix", path)
				return err == nil
			})
			if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if err := (&gallop.Server{Engine: over, Handler: servertest.Say}).ListenAndServeUNIX(path, 0o600); err == nil {
				t.Error("two servers on one socket")
			}
			c.Close()
			s.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&gallop.Server{Engine: over, Handler: servertest.Say}).ListenAndServeUNIX(path, 0o600); err == nil {
			t.Error("a file was taken for a socket")
		}
		if b, _ := os.ReadFile(path); string(b) != "precious" {
			t.Errorf("the file became %q", b)
		}
	})
}

func TestShutdownOverTCP(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		begun, finish := make(chan struct{}), make(chan struct{})
		s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				close(begun)
				<-finish
			}
		}}
		addr := listen(t, s, s.Serve)
		idle, busy := dialTCP(t, addr), dialTCP(t, addr)
		if got := firstLine(t, idle, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		io.WriteString(busy, wiretest.Get("/slow"))
		<-begun
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		if _, err := io.ReadAll(idle); err != nil {
			t.Errorf("the idle connection did not end well: %v", err)
		}
		wiretest.Eventually(t, func() bool { // the queue is still emptied for a moment
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v while a request was served", err)
		default:
		}
		close(finish)
		b, err := io.ReadAll(busy)
		if err != nil || !strings.Contains(string(b), "Connection: close") {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		begun := make(chan struct{})
		finish := make(chan struct{})
		s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) { close(begun); <-finish }}
		addr := listen(t, s, s.Serve)
		c := dialTCP(t, addr)
		io.WriteString(c, wiretest.Get("/"))
		<-begun
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		defer close(finish)
		if err := s.ShutdownWithContext(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if b, _ := io.ReadAll(c); len(b) > 0 {
			t.Errorf("got %q", b)
		}
	})
}

func TestLameDuck(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		t.Parallel()
		s := &gallop.Server{Engine: over, Handler: servertest.Say, LameDuck: time.Second}
		addr := listen(t, s, s.Serve)
		idle := dialTCP(t, addr)
		if got := firstLine(t, idle, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		var down atomic.Bool
		go func() { s.Shutdown(); down.Store(true) }()
		wiretest.Eventually(t, func() bool { // until Shutdown has begun, connections stay open
			c := dialTCP(t, addr)
			_, _ = io.WriteString(c, wiretest.Get("/"))
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			return err == nil && resp.Close
		})
		for _, c := range []net.Conn{idle, dialTCP(t, addr)} {
			_, _ = io.WriteString(c, wiretest.Get("/"))
			b, err := io.ReadAll(c)
			if err != nil || !strings.Contains(string(b), "200 OK") || !strings.Contains(string(b), "Connection: close") {
				t.Errorf("%q, %v", b, err)
			}
		}
		wiretest.Eventually(t, down.Load)
	})
}

func TestGoexitInAHandler(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/exit" {
				runtime.Goexit()
			}
		}}
		addr := listen(t, s, s.Serve)
		c := dialTCP(t, addr)
		io.WriteString(c, wiretest.Get("/exit"))
		if b, _ := io.ReadAll(c); len(b) > 0 {
			t.Errorf("got %q", b)
		}
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		wiretest.Eventually(t, func() bool { return s.GetOpenConnectionsCount() <= 1 })
	})
}

func TestPerHandlerLogger(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var l servertest.Log
		s := &gallop.Server{Logger: &l, Handler: func(ctx *gallop.RequestCtx) { ctx.Logger().Printf("n is %d", 3) }}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/a"))
			c.Want(200)
		})
		if got := l.String(); !strings.Contains(got, "GET http://test/a - n is 3") {
			t.Error(got)
		}
	})
}

// embedded is a TLS connection of a listener that has put something around it.
type embedded struct{ *tls.Conn }

type embeddingListener struct{ net.Listener }

func (l embeddingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return embedded{c.(*tls.Conn)}, nil
}

// A connection that embeds a TLS connection counts as TLS: its URIs are https, and its protocol is the negotiated one.
func TestEmbeddedTLS(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if !ctx.IsTLS() || string(ctx.URI().Scheme()) != "https" {
			t.Errorf("IsTLS %v, %s", ctx.IsTLS(), ctx.URI())
		}
	}}
	s.NextProto("shout/1", func(c net.Conn) error {
		_, err := io.WriteString(c, "HELLO\r")
		return err
	})
	addr := listen(t, s, func(ln net.Listener) error {
		return s.Serve(embeddingListener{tls.NewListener(ln, &tls.Config{
			Certificates: []tls.Certificate{pair}, NextProtos: []string{"shout/1", "http/1.1"},
		})})
	})
	wantProtos(t, addr, cert)
}

// Clients of a unix socket have the address that package net gives them.
func TestUnixSocketAddresses(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		if runtime.GOOS == "windows" {
			t.Skip("clients of unix sockets have no names on Windows")
		}
		dir := t.TempDir()
		ln, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetBodyString(ctx.RemoteAddr().Network() + " " + ctx.RemoteAddr().String())
		}}
		go s.Serve(ln)
		defer s.Close()
		named := filepath.Join(dir, "client")
		for _, tt := range []struct {
			from *net.UnixAddr
			want string
		}{{nil, "unix @"}, {&net.UnixAddr{Net: "unix", Name: named}, "unix " + named}} {
			c, err := net.DialUnix("unix", tt.from, ln.Addr().(*net.UnixAddr))
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, wiretest.Get("/", "Connection: close"))
			if b, _ := io.ReadAll(c); runtime.GOOS == "linux" && !strings.HasSuffix(string(b), "\r\n\r\n"+tt.want) {
				t.Errorf("%q, want %q", b, tt.want)
			}
			c.Close()
		}
	})
}

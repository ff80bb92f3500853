package client_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// nginxConf is filled with a directory and the addresses for http and https. The result names the request, the
// connection, and the number of requests that the connection has carried.
const nginxConf = wiretest.NginxHead + `
	default_type text/plain;
	keepalive_requests 100;
	if_modified_since before;
	gzip on;
	gzip_min_length 100;
	gzip_types text/plain;
	server {
		listen %[2]s;
		listen %[3]s ssl;
		ssl_certificate %[1]s/cert.pem;
		ssl_certificate_key %[1]s/key.pem;
		root %[1]s/www;
		location /id { return 200 "$arg_id $connection $connection_requests"; }
		location /brief { keepalive_timeout 30ms; return 200 "$arg_id $connection $connection_requests"; }
		location /once { keepalive_timeout 0; return 200 "$arg_id $connection $connection_requests"; }
		location /chunked { alias %[1]s/www; sub_filter_types *; sub_filter nowhere x; }
		location /limited { client_max_body_size 1k; proxy_pass http://127.0.0.1:1; }
		location /put { client_max_body_size 10m; client_body_buffer_size 8k; dav_methods PUT; create_full_put_path on; }
	}
}
`

// nginx is a running server.
type nginx struct {
	plain, tls string // addresses
	roots      *x509.CertPool
	file       []byte // what /file and /chunked/file are
}

// startNginx runs nginx until the test ends, and skips the test where there is none.
func startNginx(t *testing.T) *nginx {
	t.Helper()
	path := wiretest.Nginx(t)
	n := &nginx{roots: x509.NewCertPool(), file: bytes.Repeat([]byte("0123456789abcdef\n"), 20_000)}
	dir := t.TempDir()
	cert, key, err := gallop.GenerateTestCertificate("h1.test")
	if err != nil {
		t.Fatal(err)
	}
	n.roots.AppendCertsFromPEM(cert)
	n.plain, n.tls = wiretest.FreeAddress(t), wiretest.FreeAddress(t)
	for name, content := range map[string][]byte{
		"cert.pem": cert, "key.pem": key, "www/file": n.file,
		"nginx.conf": fmt.Appendf(nil, nginxConf, dir, n.plain, n.tls),
	} {
		_ = os.Mkdir(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("nginx: %v\n%s", err, &log)
		}
	})
	wiretest.Eventually(t, func() bool {
		c, err := net.Dial("tcp4", n.tls)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return n
}

// client returns a client for the server, over TLS if secure.
func (n *nginx) client(t *testing.T, secure, stream bool) *gallop.HostClient {
	t.Helper()
	address := n.plain
	if secure {
		address = n.tls
	}
	c := hostClient(func() (net.Conn, error) { return net.Dial("tcp4", address) }, stream)
	if c.IsTLS = secure; secure {
		c.TLSConfig = &tls.Config{RootCAs: n.roots, ServerName: "h1.test"}
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestClientAndNginx needs nginx.
func TestClientAndNginx(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	n := startNginx(t)
	for name, secure := range map[string]bool{"http": false, "https": true} {
		for mode, stream := range clientModes {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				c := n.client(t, secure, stream)
				t.Run("100 requests a connection", func(t *testing.T) { n.countRequests(t, c) })
				t.Run("many callers", func(t *testing.T) { n.manyCallers(t, c) })
				t.Run("idle connections end", func(t *testing.T) { n.idleEnds(t, c) })
				t.Run("bodies", func(t *testing.T) { n.bodies(t, c) })
				t.Run("uploads", func(t *testing.T) { n.uploads(t, c) })
			})
		}
	}
}

// want makes a call, and the response must have that status.
func want(t *testing.T, c *gallop.HostClient, status int, call *wiretest.Call) *wiretest.Result {
	t.Helper()
	r, err := fetchWith(t.Context(), over(c), call)
	if err != nil {
		t.Fatalf("%s %s: %v", call.Method, call.Path, err)
	}
	if r.Status != status {
		t.Fatalf("%s %s: status %d, want %d; %.80q", call.Method, call.Path, r.Status, status, r.Body)
	}
	return r
}

func (n *nginx) countRequests(t *testing.T, c *gallop.HostClient) {
	conns := map[int]int{}
	for i := range 350 {
		method := []string{"GET", "POST"}[i%2]
		r := want(t, c, 200, &wiretest.Call{Method: method, Path: fmt.Sprintf("/id?id=%d", i), Body: []byte(method[:i%2])})
		var id, conn, requests int
		if _, err := fmt.Sscan(string(r.Body), &id, &conn, &requests); err != nil || id != i {
			t.Fatalf("request %d is answered %q", i, r.Body)
		}
		conns[conn]++
	}
	if len(conns) > 4 {
		t.Errorf("350 requests on %d connections", len(conns))
	}
}

func (n *nginx) manyCallers(t *testing.T, c *gallop.HostClient) {
	var group sync.WaitGroup
	for caller := range 20 {
		group.Go(func() {
			for i := range 30 {
				path := []string{"/id", "/once"}[i%2]
				r, err := fetchWith(t.Context(), over(c), &wiretest.Call{Method: "POST", Path: fmt.Sprintf("%s?id=%d-%d", path, caller, i)})
				if err != nil || !strings.HasPrefix(string(r.Body), fmt.Sprintf("%d-%d ", caller, i)) {
					t.Errorf("%s: %v, %v", path, r, err)
				}
			}
		})
	}
	group.Wait()
}

// idleEnds posts on connections that nginx has closed while they were idle. On a busy machine, nginx may be late and close a connection
// at the moment of the next request, which then fails. A client that does not notice closed connections fails each second time.
func (n *nginx) idleEnds(t *testing.T, c *gallop.HostClient) {
	post := func() error {
		time.Sleep(60 * time.Millisecond)
		r, err := fetchWith(t.Context(), over(c), &wiretest.Call{Method: "POST", Path: "/brief", Body: []byte("x")})
		if err == nil && r.Status != 200 {
			t.Fatalf("status %d", r.Status)
		}
		return err
	}
	for try := 0; ; try++ {
		err := errors.Join(post(), post(), post(), post())
		if err == nil {
			return
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

func (n *nginx) bodies(t *testing.T, c *gallop.HostClient) {
	for range 3 {
		for _, path := range []string{"/file", "/chunked/file"} {
			if r := want(t, c, 200, &wiretest.Call{Method: "GET", Path: path}); !bytes.Equal(r.Body, n.file) {
				t.Errorf("%s: %d octets, want %d", path, len(r.Body), len(n.file))
			}
		}
		if r := want(t, c, 200, &wiretest.Call{Method: "HEAD", Path: "/file"}); len(r.Body) > 0 {
			t.Errorf("HEAD: %d octets", len(r.Body))
		}
		r := want(t, c, 206, &wiretest.Call{Method: "GET", Path: "/file", Fields: []wiretest.Pair{{"Range", "bytes=17-33"}}})
		if string(r.Body) != string(n.file[:17]) {
			t.Errorf("range: %q", r.Body)
		}
		want(t, c, 304, &wiretest.Call{Method: "GET", Path: "/file", Fields: []wiretest.Pair{{"If-Modified-Since", time.Now().UTC().Format(time.RFC1123[:len(time.RFC1123)-3] + "GMT")}}})
		want(t, c, 404, &wiretest.Call{Method: "GET", Path: "/none"})
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("http://h1.test/file")
		req.Header.Set("Accept-Encoding", "gzip")
		if err := over(c)(t.Context(), &req, &resp); err != nil {
			t.Fatal(err)
		}
		b, err := resp.BodyUncompressed()
		if err != nil || !bytes.Equal(b, n.file) || string(resp.Header.ContentEncoding()) != "gzip" {
			t.Errorf("gzip: %d octets, %v, %q", len(b), err, resp.Header.ContentEncoding())
		}
		_ = resp.CloseBodyStream()
	}
}

func (n *nginx) uploads(t *testing.T, c *gallop.HostClient) {
	big := bytes.Repeat([]byte("gallop "), 300_000)
	want(t, c, 413, &wiretest.Call{Method: "POST", Path: "/limited", Body: big})
	want(t, c, 413, &wiretest.Call{Method: "POST", Path: "/limited", Body: big, Fields: []wiretest.Pair{{"Expect", "100-continue"}}})
	for i, prepare := range []func(*gallop.Request){
		func(r *gallop.Request) { r.SetBody(big) },
		func(r *gallop.Request) { r.SetBody(big); r.Header.Set("Expect", "100-continue") },
		func(r *gallop.Request) { r.SetBodyStream(bytes.NewReader(big), len(big)) },
		func(r *gallop.Request) { r.SetBodyStream(io.MultiReader(bytes.NewReader(big)), -1) },
	} {
		var req gallop.Request
		var resp gallop.Response
		path := fmt.Sprintf("/put/%d-%d", time.Now().UnixNano(), i)
		req.SetRequestURI("http://h1.test" + path)
		req.Header.SetMethod("PUT")
		prepare(&req)
		if err := over(c)(t.Context(), &req, &resp); err != nil || resp.StatusCode() != 201 {
			t.Fatalf("upload %d: %d, %v", i, resp.StatusCode(), err)
		}
		_ = resp.CloseBodyStream()
		if r := want(t, c, 200, &wiretest.Call{Method: "GET", Path: path}); !bytes.Equal(r.Body, big) {
			t.Errorf("upload %d: %d octets came back, want %d", i, len(r.Body), len(big))
		}
	}
}

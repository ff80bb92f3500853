package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestMain lets the test binary act as gallop, so the tests run a separate process with signals, outputs and an exit
// status.
func TestMain(m *testing.M) {
	if os.Getenv("GALLOP_TEST_COMMAND") != "" {
		main()
	}
	wiretest.RunWaiting(m)
}

// process is a running gallop.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	url, addr      string
	stdout, stderr output
	ended          chan struct{}
}

// output holds what a process has written so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// serve starts "gallop serve" on a free port of this machine and waits until it accepts requests.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, nil, append([]string{"--addr", "127.0.0.1:0"}, args...)...)
}

// start starts "gallop serve" with these flags and environment variables and waits until it accepts requests.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startCommand(t, env, append([]string{os.Args[0], "serve"}, args...)...)
}

// startCommand does the same with a command that ends in "gallop serve" and its flags.
func startCommand(t *testing.T, env []string, command ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	p.cmd.Env = append(append(os.Environ(), "GALLOP_TEST_COMMAND=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.ended
	})
	line := regexp.MustCompile(` at (https?://(\S+)/)[ \n]`)
	p.until("it serves", func() bool { return line.MatchString(p.stderr.String()) })
	m := line.FindStringSubmatch(p.stderr.String())
	p.url, p.addr = m[1], m[2]
	return p
}

// until waits until ok returns true, for ten seconds.
func (p *process) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited too long until %s\nstdout:\n%s\nstderr:\n%s", what, p.stdout.String(), p.stderr.String())
		}
	}
}

// get sends a request with headers ("Name: value") and returns the response and its body. It does not follow
// redirects.
func (p *process) get(method, path string, fields ...string) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, p.url+strings.TrimPrefix(path, "/"), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range fields {
		if name, value, ok := strings.Cut(f, ": "); ok {
			req.Header.Set(name, value)
		}
	}
	resp, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(body)
}

func (p *process) dial() net.Conn {
	p.t.Helper()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(30 * time.Second))
	p.t.Cleanup(func() { c.Close() })
	return c
}

// raw sends a GET request with exactly this target, and returns the response.
func (p *process) raw(target string, fields ...string) string {
	p.t.Helper()
	c := p.dial()
	defer c.Close() // before it ends, the server waits for that
	fields = append(fields, "Host: x", "Connection: close")
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\n%s\r\n\r\n", target, strings.Join(fields, "\r\n"))
	b, _ := io.ReadAll(c)
	return string(b)
}

// interrupt sends the signal of Ctrl-C, or of a service manager.
func (p *process) interrupt(s os.Signal) {
	p.t.Helper()
	if runtime.GOOS == "windows" {
		p.t.Skip("a process cannot be interrupted from another one on Windows")
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the process to end, and returns its exit status.
func (p *process) wait() int {
	p.t.Helper()
	p.until("it ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

// site creates a directory to serve. Its parent directory contains a secret.
func site(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "www")
	for name, content := range map[string]string{
		"secret.txt": "the secret", "www/hello.txt": "hello, world\n", "www/.env": "the secret", "www/.git/config": "the secret",
		"www/sub/a.txt": "a", "www/page/index.html": "<h1>page</h1>", "www/page/.hidden": "the secret", "www/big.bin": strings.Repeat("x", 3<<20),
	} {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	os.Chtimes(filepath.Join(dir, "hello.txt"), old, old)
	os.Symlink("../secret.txt", filepath.Join(dir, "outside"))
	os.Symlink(top, filepath.Join(dir, "outsidedir"))
	os.Symlink("hello.txt", filepath.Join(dir, "inside"))
	return dir
}

func TestServeFiles(t *testing.T) {
	t.Parallel()
	p := serve(t, site(t))
	first, _ := p.get("GET", "/hello.txt")
	tag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
	if tag == "" || modified == "" {
		t.Fatalf("no validators: %v", first.Header)
	}
	for _, tc := range []struct {
		name, method, path, field string
		status                    int
		body                      string
	}{
		{"file", "GET", "/hello.txt", "", 200, "hello, world\n"},
		{"head", "HEAD", "/hello.txt", "", 200, ""},
		{"post", "POST", "/hello.txt", "", 405, "Method Not Allowed"},
		{"range", "GET", "/hello.txt", "Range: bytes=7-11", 206, "world"},
		{"unsatisfiable range", "GET", "/hello.txt", "Range: bytes=99-", 416, "Requested Range Not Satisfiable"},
		{"not modified by tag", "GET", "/hello.txt", "If-None-Match: " + tag, 304, ""},
		{"not modified by date", "GET", "/hello.txt", "If-Modified-Since: " + modified, 304, ""},
		{"failed", "GET", "/hello.txt", `If-Match: "other"`, 412, "Precondition Failed"},
		{"large", "GET", "/big.bin", "", 200, strings.Repeat("x", 3<<20)},
		{"nothing", "GET", "/nothing", "", 404, "Not Found"},
		{"directory without slash", "GET", "/sub", "", 301, "Moved Permanently"},
		{"index", "GET", "/page/", "", 200, "<h1>page</h1>"},
		{"link inside", "GET", "/inside", "", 200, "hello, world\n"},
		{"link outside", "GET", "/outside", "", 404, "Not Found"},
		{"through a link outside", "GET", "/outsidedir/secret.txt", "", 404, "Not Found"},
		{"dot file", "GET", "/.env", "", 404, "Not Found"},
		{"dot file below", "GET", "/page/.hidden", "", 404, "Not Found"},
		{"below a dot directory", "GET", "/.git/config", "", 404, "Not Found"},
		{"escaped dot", "GET", "/%2eenv", "", 404, "Not Found"},
		{"echo is off", "GET", "/_gallop/echo", "", 404, "Not Found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := p.get(tc.method, tc.path, tc.field)
			if resp.StatusCode != tc.status || body != tc.body {
				t.Errorf("%d %.60q, want %d %.60q", resp.StatusCode, body, tc.status, tc.body)
			}
			if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options: %q", got)
			}
			if tc.method == "HEAD" && resp.ContentLength != 13 {
				t.Errorf("Content-Length: %d", resp.ContentLength)
			}
		})
	}
	for _, target := range []string{"//.env", "/x/..//.env", "///.git/config", "/.git//config", "//page//.hidden"} {
		t.Run("dot file behind slashes "+target, func(t *testing.T) {
			if answer := p.raw(target); !strings.HasPrefix(answer, "HTTP/1.1 404 ") || strings.Contains(answer, "the secret") {
				t.Errorf("%.200q", answer)
			}
		})
	}
	t.Run("list", func(t *testing.T) {
		resp, page := p.get("GET", "/")
		if resp.StatusCode != 200 || !strings.Contains(page, `href="./hello.txt"`) || !strings.Contains(page, `href="./sub/"`) {
			t.Errorf("%d %s", resp.StatusCode, page)
		}
		for _, hidden := range []string{".env", ".git", "outside"} {
			if strings.Contains(page, hidden) {
				t.Errorf("%s is listed", hidden)
			}
		}
	})
}

func TestServeStaysInside(t *testing.T) {
	t.Parallel()
	p := serve(t, site(t), "--hidden")
	for _, target := range []string{
		"/../secret.txt", "/../../../../../../etc/passwd", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/%2E%2E%2Fsecret.txt",
		"/.%2e/secret.txt", "/..%2fsecret.txt", "/..%5csecret.txt", "/sub/..%5c..%5csecret.txt", "/%5c..%5csecret.txt", "//../secret.txt",
		"/.//..//../secret.txt", "//etc/passwd", "/%2fetc/passwd", "/etc/passwd", "/....//secret.txt", "/%252e%252e/secret.txt",
		"/%c0%ae%c0%ae/secret.txt", "/..%00/secret.txt", "/hello.txt%00", "/..;/secret.txt", "/outside", "/outsidedir/secret.txt",
		"http://x/../secret.txt", "http://x/%2e%2e/secret.txt", "/sub/..%c0%af../secret.txt", "/..\\secret.txt", "/file:///etc/passwd",
	} {
		answer := p.raw(target)
		if strings.Contains(answer, "the secret") || strings.Contains(answer, "root:") {
			t.Errorf("%s: %s", target, answer)
		}
		if !strings.HasPrefix(answer, "HTTP/1.1 404 ") && !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
			t.Errorf("%s: %.40q", target, answer)
		}
	}
	if answer := p.raw("/.env"); !strings.Contains(answer, "the secret") { // --hidden shows it
		t.Errorf("%.60q", answer)
	}
}

func TestServeNeverRedirectsElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "example.org", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := serve(t, dir)
	for _, target := range []string{"//example.org", "/example.org", "///example.org", "//example.org/x", "/./example.org", "http://x//example.org"} {
		_, location, found := strings.Cut(p.raw(target), "\r\nLocation: ")
		if !found || !strings.HasPrefix(location, "./") {
			t.Errorf("%s: %.40q", target, location)
		}
	}
}

func TestServeEcho(t *testing.T) {
	t.Parallel()
	p := serve(t, site(t), "--echo")
	for _, path := range []string{"/_gallop/echo", "/_gallop/echo/below/%C3%A4?q=1"} {
		_, body := p.get("POST", path, "X-Odd: \"\\\xe4")
		e := wiretest.ParseEcho([]byte(body))
		if e == nil {
			t.Fatalf("%s: %q", path, body)
		}
		if e.Method != "POST" || e.URI != path || e.Host != p.addr || !strings.Contains(fmt.Sprint(e.Headers), "[X-Odd \"\\ä]") {
			t.Errorf("%+v", e)
		}
	}
	if resp, _ := p.get("GET", "/_gallop/echoes"); resp.StatusCode != 404 {
		t.Errorf("another path: %d", resp.StatusCode)
	}
	if _, body := p.get("GET", "/hello.txt"); body != "hello, world\n" {
		t.Errorf("a file: %q", body)
	}
}

func TestServeEchoAll(t *testing.T) {
	t.Parallel()
	p := serve(t, "--echo-all")
	if _, body := p.get("PUT", "/hello.txt"); wiretest.ParseEcho([]byte(body)) == nil {
		t.Errorf("no echo: %q", body)
	}
	if resp, body := p.get("GET", "/_/status/418"); resp.StatusCode != 418 || body != "xbody" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if resp, body := p.get("GET", "/_/stream"); resp.ContentLength != -1 || body != "part1,part2" {
		t.Errorf("%d %q", resp.ContentLength, body)
	}
}

// certificate writes a certificate for 127.0.0.1 and its key to files. roots has the certificate.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return certFile, keyFile, roots
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, roots := certificate(t)
	p := serve(t, site(t), "--tls-cert", certFile, "--tls-key", keyFile)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	resp, err := client.Get(p.url + "big.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 3<<20 || err != nil || !strings.HasPrefix(p.url, "https://") {
		t.Errorf("%s: %d bytes, %v", p.url, n, err)
	}
}

// HTTP/2 is served over TLS unless --http1 is given, and without TLS if --h2c is given.
func TestServeHTTP2(t *testing.T) {
	t.Parallel()
	certFile, keyFile, roots := certificate(t)
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: &protocols}}
	defer client.CloseIdleConnections()
	for _, tt := range []struct {
		flags []string
		fails bool
	}{{[]string{"--tls-cert", certFile, "--tls-key", keyFile}, false}, {[]string{"--h2c"}, false}, {nil, true},
		{[]string{"--tls-cert", certFile, "--tls-key", keyFile, "--http1"}, true}} {
		p := serve(t, append([]string{site(t)}, tt.flags...)...)
		resp, err := client.Get(p.url + "big.bin")
		if err != nil {
			if !tt.fails {
				t.Errorf("%q: %v", tt.flags, err)
			}
			continue
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n != 3<<20 || err != nil || resp.ProtoMajor != 2 || tt.fails {
			t.Errorf("%q: %d bytes over %s, %v", tt.flags, n, resp.Proto, err)
		}
	}
}

func TestServeLogs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "off"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := serve(t, site(t), "--log", format)
			p.get("GET", "/hello.txt?a=b")
			p.get("HEAD", "/hello.txt", "User-Agent: \"quoted\" \\ \xff")
			p.raw("/a%0d%0aGET%20/forged%20200")
			p.raw("/\x1b[31mred")
			p.raw("/nothing", "X: y", "User-Agent: a\tb", "Referer: {\"x\":1}")
			if format == "off" {
				p.interrupt(os.Interrupt)
				if status := p.wait(); status != 0 || p.stdout.String() != "" {
					t.Errorf("status %d, %q", status, p.stdout.String())
				}
				return
			}
			p.until("five lines are there", func() bool { return strings.Count(p.stdout.String(), "\n") >= 5 })
			lines := strings.Split(strings.TrimSuffix(p.stdout.String(), "\n"), "\n")
			if len(lines) != 5 {
				t.Fatalf("%d lines:\n%s", len(lines), p.stdout.String())
			}
			if format == "json" {
				checkJSONLog(t, lines)
				return
			}
			for i, want := range []string{
				`^[-\d]{10} [:\d]{8} 200 GET          13 B +[\d.]+[µm]?s  127.0.0.1       /hello.txt\?a=b$`,
				` 200 HEAD          0 B .* /hello.txt$`,
				` 404 GET           9 B .* /a%0d%0aGET%20/forged%20200$`,
				` 400 `,
				` 404 GET .* /nothing$`,
			} {
				if !regexp.MustCompile(want).MatchString(lines[i]) {
					t.Errorf("%q is not %s", lines[i], want)
				}
			}
		})
	}
}

func checkJSONLog(t *testing.T, lines []string) {
	t.Helper()
	for i, want := range []struct {
		method, uri, agent string
		status, bytes      int
	}{
		{"GET", "/hello.txt?a=b", "Go-http-client/1.1", 200, 13},
		{"HEAD", "/hello.txt", "\"quoted\" \\ \ufffd", 200, 0},
		{"GET", "/a%0d%0aGET%20/forged%20200", "", 404, 9},
		{"", "", "", 400, -1},
		{"GET", "/nothing", "a\tb", 404, 9},
	} {
		var got struct {
			Time, Remote, Method, URI, Host string
			Agent                           string `json:"user_agent"`
			Status, Bytes                   int
			Millis                          float64 `json:"duration_ms"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatalf("%v: %s", err, lines[i])
		}
		if _, err := time.Parse(time.RFC3339, got.Time); err != nil || got.Remote == "" || got.Millis < 0 || got.Status != want.status {
			t.Errorf("%s", lines[i])
		}
		if want.bytes >= 0 && (got.Method != want.method || got.URI != want.uri || got.Agent != want.agent || got.Bytes != want.bytes) {
			t.Errorf("%s, want %+v", lines[i], want)
		}
	}
}

// slowRequest sends a request whose body lacks one byte, and returns a function that sends it. The server has asked for the body
// when slowRequest returns.
func (p *process) slowRequest() (finish func() (status string)) {
	p.t.Helper()
	c := p.dial()
	r := textproto.NewReader(bufio.NewReader(c))
	io.WriteString(c, "POST /_gallop/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if line, err := r.ReadLine(); line != "HTTP/1.1 100 Continue" || err != nil {
		p.t.Fatalf("%q, %v", line, err)
	}
	r.ReadLine() // the empty one
	io.WriteString(c, "hell")
	return func() string {
		defer c.Close()
		io.WriteString(c, "o")
		status, _ := r.ReadLine()
		return status
	}
}

func TestServeStopsGracefully(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := serve(t, "--echo", site(t))
			p.get("GET", "/hello.txt")
			idle := p.dial()
			finish := p.slowRequest()
			p.interrupt(s)
			p.until("it stops", func() bool { return strings.Contains(p.stderr.String(), "stopping") })
			if n, err := idle.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("an idle connection stays: %v", err)
			}
			if got := finish(); got != "HTTP/1.1 200 OK" {
				t.Errorf("the request under way got %q", got)
			}
			if status := p.wait(); status != 0 {
				t.Errorf("status %d", status)
			}
			if want := ", 2 requests served\n"; !strings.HasSuffix(p.stderr.String(), want) {
				t.Errorf("%q does not end in %q", p.stderr.String(), want)
			}
			if n := strings.Count(p.stdout.String(), "\n"); n != 2 {
				t.Errorf("%d lines of log:\n%s", n, p.stdout.String())
			}
		})
	}
}

func TestServeStopsAtOnceWhenToldTwice(t *testing.T) {
	t.Parallel()
	p := serve(t, "--echo", site(t))
	p.slowRequest()
	p.interrupt(syscall.SIGTERM)
	p.until("it stops", func() bool { return strings.Contains(p.stderr.String(), "stopping") })
	began := time.Now()
	p.interrupt(syscall.SIGTERM)
	if status := p.wait(); status != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("status %d after %v", status, time.Since(began))
	}
}

func TestServeStopsWhenGraceIsOver(t *testing.T) {
	t.Parallel()
	p := serve(t, "--echo", "--grace", "50ms", site(t))
	p.slowRequest()
	p.interrupt(syscall.SIGTERM)
	if status := p.wait(); status != 1 || !strings.Contains(p.stderr.String(), "did not finish in time and were cut off") {
		t.Errorf("status %d: %s", status, p.stderr.String())
	}
}

func TestServeNeedsAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd := exec.Command(os.Args[0], "serve", "--addr", ln.Addr().String())
	cmd.Env = append(os.Environ(), "GALLOP_TEST_COMMAND=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another program already does") {
		t.Errorf("%v: %s", err, out)
	}
}

package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	p := serve(t, "--cors", "--echo", site(t))
	const origin = "Origin: https://example.com"
	for _, path := range []string{"/hello.txt", "/", "/nothing", "/_gallop/echo"} {
		resp, _ := p.get("GET", path, origin)
		if h := resp.Header; h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Expose-Headers") != "*" {
			t.Errorf("%s: %v", path, h)
		}
	}
	resp, body := p.get("OPTIONS", "/hello.txt", origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range")
	if h := resp.Header; resp.StatusCode != 204 || body != "" || h.Get("Access-Control-Allow-Origin") != "*" ||
		h.Get("Access-Control-Allow-Methods") != "*" || h.Get("Access-Control-Allow-Headers") != "*, Authorization" {
		t.Errorf("preflight: %d %v", resp.StatusCode, h)
	}
	if resp, _ := p.get("OPTIONS", "/hello.txt", origin); resp.StatusCode != 405 {
		t.Errorf("OPTIONS that is no preflight: %d", resp.StatusCode)
	}
	private := serve(t, site(t))
	for _, method := range []string{"GET", "OPTIONS"} {
		if resp, _ := private.get(method, "/hello.txt", origin, "Access-Control-Request-Method: GET"); resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s without --cors: %v", method, resp.Header)
		}
	}
}

func TestPort(t *testing.T) {
	t.Parallel()
	_, port, _ := net.SplitHostPort(wiretest.FreeAddress(t))
	for _, flags := range [][]string{{"-p", port}, {"--port", port}, {"--port=" + port}} {
		p := start(t, nil, append(flags, "--addr", "127.0.0.1", site(t))...)
		if _, body := p.get("GET", "/hello.txt"); p.addr != "127.0.0.1:"+port || body != "hello, world\n" {
			t.Errorf("%v: %s %q", flags, p.addr, body)
		}
		p.cmd.Process.Kill()
		p.wait()
	}
}

// TestFirstLinesSayWhoReachesTheServer reads the first lines and checks whether they are true.
func TestFirstLinesSayWhoReachesTheServer(t *testing.T) {
	t.Parallel()
	dir := site(t)
	public := start(t, nil, "-p", "0", dir)
	lines := strings.SplitN(public.stderr.String(), "\n", 3)
	if want := "gallop: serving " + dir + " at http://localhost:"; !strings.HasPrefix(lines[0], want) {
		t.Errorf("the first line is %q, want %q", lines[0], want)
	}
	if want := "gallop: every machine on your network can reach this server; to keep it to this machine, use --addr localhost:0"; len(lines) < 2 || lines[1] != want {
		t.Errorf("the second line is %q, want %q", lines[1:], want)
	}
	if _, body := public.get("GET", "/hello.txt"); body != "hello, world\n" {
		t.Errorf("%q", body)
	}
	for _, url := range strings.Fields(lines[0])[5:] {
		resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(url + "hello.txt")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.Body.Close(); string(body) != "hello, world\n" {
			t.Errorf("%s: %q", url, body)
		}
	}
	private := start(t, nil, "--addr", "localhost:0", dir)
	if _, body := private.get("GET", "/hello.txt"); body != "hello, world\n" || strings.Contains(private.stderr.String(), "network") || strings.Count(private.stderr.String(), "\n") != 1 {
		t.Errorf("%q, %s", body, private.stderr.String())
	}
}

// TestOpen replaces the program that starts a browser.
func TestOpen(t *testing.T) {
	t.Parallel()
	program := map[bool]string{true: "open", false: "xdg-open"}[runtime.GOOS == "darwin"]
	if runtime.GOOS == "windows" {
		t.Skip("the program on Windows is found in the system's directory")
	}
	bin, told := t.TempDir(), filepath.Join(t.TempDir(), "told")
	script := "#!/bin/sh\necho \"$1\" >'" + told + "'\n"
	if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := start(t, []string{"PATH=" + bin}, "--open", "--addr", "127.0.0.1:0", site(t))
	var url string
	p.until("the browser is started", func() bool {
		b, _ := os.ReadFile(told)
		url = strings.TrimSpace(string(b))
		return url != ""
	})
	if url != p.url {
		t.Errorf("the browser opens %q, want %q", url, p.url)
	}
	if _, body := p.get("GET", "/hello.txt"); body != "hello, world\n" {
		t.Errorf("%q", body)
	}
	none := start(t, []string{"PATH=" + t.TempDir()}, "--open", "--addr", "127.0.0.1:0", site(t))
	none.until("the failure is reported", func() bool {
		return strings.Contains(none.stderr.String(), "gallop: --open: cannot start a browser: ") && strings.Contains(none.stderr.String(), "; open "+none.url+" yourself\n")
	})
	if _, body := none.get("GET", "/hello.txt"); body != "hello, world\n" {
		t.Errorf("%q", body)
	}
}

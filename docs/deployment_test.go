package docs_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// The first program of deployment.md responds to probes, drains after SIGTERM, and ends with status 0.
func TestDeploymentProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Parallel()
	addr, admin := freeAddress(t), freeAddress(t)
	cmd, output := runProgram(t, addr, program{page: "deployment.md", n: 0}, "-addr", addr, "-admin", admin, "-lame-duck", "1s")
	awaitListening(t, admin)
	for url, want := range map[string]string{
		"http://" + addr + "/livez":           "200 ok",
		"http://" + addr + "/readyz":          "200 ok",
		"http://" + addr + "/":                "200 hello",
		"http://" + admin + "/metrics":        "200 http_requests_total ",
		"http://" + admin + "/debug/pprof/":   "200 ",
		"http://" + admin + "/something/else": "404 ",
	} {
		if got := statusAndBody(t, url); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for tries := 0; statusAndBody(t, "http://"+addr+"/readyz") != "503 draining"; tries++ {
		if tries == 20 {
			t.Fatal("the program is ready although it drains")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := statusAndBody(t, "http://"+addr+"/"); got != "200 hello" {
		t.Errorf("got %s during LameDuck", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// The second program of deployment.md believes its proxies and nobody else.
func TestProxyProgram(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]string{
		"127.0.0.0/8": "192.0.2.7 asked for https://shop.example.com/",
		"10.1.0.0/24": "127.0.0.1 asked for http://example.com/",
	} {
		addr := freeAddress(t)
		runProgram(t, addr, program{"deployment.md", 1, []string{":8080", addr, "10.1.0.0/24", network}})
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("http://" + addr + "/")
		req.SetHost("example.com")
		req.UseHostHeader = true
		req.Header.Set("X-Forwarded-For", "203.0.113.9, 192.0.2.7")
		req.Header.Set("X-Forwarded-Proto", "https")
		req.Header.Set("X-Forwarded-Host", "shop.example.com")
		client := gallop.HostClient{Addr: addr}
		if err := client.DoContext(t.Context(), &req, &resp); err != nil || string(resp.Body()) != want {
			t.Errorf("%s: got %q, %v, want %q", network, resp.Body(), err, want)
		}
		client.CloseIdleConnections()
	}
}

// The programs of from-nethttp.md serve and call.
func TestNetHTTPPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Parallel()
	addr := freeAddress(t)
	server, output := runProgram(t, addr, program{"from-nethttp.md", 0, []string{":8080", addr}})
	if got := statusAndBody(t, "http://"+addr+"/hello/gopher"); got != "200 hello, gopher" {
		t.Errorf("got %s", got)
	}
	client := program{"from-nethttp.md", 1, []string{"localhost:8080", addr}}
	if got, err := client.command(t, t.Context()).CombinedOutput(); err != nil || string(got) != "200 OK\n" {
		t.Errorf("got %q, %v", got, err)
	}
	server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

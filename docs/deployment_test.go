package docs_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// The first program of deployment.md responds to probes. After SIGTERM it drains, and serves requests meanwhile.
func TestDeploymentProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Parallel()
	addr, admin := wiretest.FreeAddress(t), wiretest.FreeAddress(t)
	cmd, _ := runProgram(t, addr, program{page: "deployment.md", n: 0}, "-addr", addr, "-admin", admin, "-lame-duck", "1h")
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
		if tries == 150 {
			t.Fatal("the program is ready although it drains")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := statusAndBody(t, "http://"+addr+"/"); got != "200 hello" {
		t.Errorf("got %s during LameDuck", got)
	}
}

// The program serves until LameDuck has passed after SIGTERM, and ends with status 0.
func TestDeploymentProgramEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Parallel()
	const lameDuck = 300 * time.Millisecond
	addr := wiretest.FreeAddress(t)
	cmd, output := runProgram(t, addr, program{page: "deployment.md", n: 0}, "-addr", addr, "-admin", wiretest.FreeAddress(t), "-lame-duck", lameDuck.String())
	begun := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		status, body, err := gallop.GetTimeout(nil, "http://"+addr+"/", 20*time.Second)
		if err != nil { // it has ended
			break
		}
		if status != 200 || string(body) != "hello" {
			t.Errorf("got %d %s during the shutdown", status, body)
		}
	}
	if err := cmd.Wait(); err != nil || time.Since(begun) < lameDuck {
		t.Errorf("%v after %v\n%s", err, time.Since(begun), output)
	}
}

// The second program of deployment.md believes its proxies and nobody else.
func TestProxyProgram(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]string{
		"127.0.0.0/8": "192.0.2.7 asked for https://shop.example.com/",
		"10.1.0.0/24": "127.0.0.1 asked for http://example.com/",
	} {
		addr := wiretest.FreeAddress(t)
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
	addr := wiretest.FreeAddress(t)
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

// HTTP/2 is on over TLS, off without TLS, and can be turned off and on.
func TestTurnHTTP2OnOrOff(t *testing.T) {
	t.Parallel()
	handler := func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }
	if got := protocolOf(t, &gallop.Server{Handler: handler}, true); got != "HTTP/2.0" {
		t.Errorf("%s over TLS by default", got)
	}
	if got := protocolOf(t, &gallop.Server{Handler: handler}, false); got != "" {
		t.Errorf("%s without TLS by default", got)
	}

	var protocols gallop.Protocols
	protocols.SetHTTP1(true)
	s := &gallop.Server{Handler: handler, Protocols: &protocols}

	if got := protocolOf(t, s, true); got != "HTTP/1.1" {
		t.Errorf("%s over TLS although HTTP/2 is off", got)
	}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	for _, secure := range []bool{true, false} {
		if got := protocolOf(t, &gallop.Server{Handler: handler, Protocols: &protocols}, secure); got != "HTTP/2.0" {
			t.Errorf("%s with TLS: %v", got, secure)
		}
	}
}

// protocolOf returns the version of a response to a client that wants HTTP/2, or "" if there is none. Without TLS, the client knows
// no other version.
func protocolOf(t *testing.T, s *gallop.Server, secure bool) string {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http"
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	if secure {
		scheme = "https"
		transport.Protocols.SetHTTP1(true)
		go s.ServeTLSEmbed(ln, cert, key)
	} else {
		transport.Protocols.SetUnencryptedHTTP2(true)
		go s.Serve(ln)
	}
	defer s.Close()
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	resp, err := client.Get(scheme + "://" + ln.Addr().String())
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	return resp.Proto
}

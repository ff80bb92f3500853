package main

import (
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/gallop-http/gallop/examples/internal/program"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// startRedis starts a redis-server, which stops when the test ends. It skips the test if Redis is not installed.
func startRedis(t *testing.T) (addr string, stop func()) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("there is no redis-server: install redis-server to test with it")
	}
	addr = wiretest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(addr)
	server := exec.Command(binary, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "no")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		server.Process.Kill()
		server.Wait()
	}
	t.Cleanup(stop)
	program.Eventually(t, "redis-server listens", func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return addr, stop
}

// expect sends a request, and fails the test unless the response has this status.
func expect(t *testing.T, p *program.Process, method, path, body string, status int) *http.Response {
	t.Helper()
	response, text := p.Do(method, path, body)
	if response.StatusCode != status {
		t.Errorf("%s %s: %d %s, want %d", method, path, response.StatusCode, text, status)
	}
	return response
}

func TestTwoProcessesCountTogether(t *testing.T) {
	redis, stop := startRedis(t)
	one, two := program.Start(t, 1, "-addr", "127.0.0.1:0", "-redis", redis), program.Start(t, 1, "-addr", "127.0.0.1:0", "-redis", redis)
	if policy := expect(t, one, "GET", "/", "", 200).Header.Get("RateLimit-Policy"); policy != `"default";q=100;w=1, "daily";q=100000;w=86400` {
		t.Errorf("RateLimit-Policy: %s", policy)
	}

	expect(t, one, "GET", "/reports/ada", "", 200)
	expect(t, two, "GET", "/reports/ada", "", 200)
	expect(t, one, "GET", "/reports/ada", "", 200)
	for _, p := range []*program.Process{one, two} {
		if r := expect(t, p, "GET", "/reports/ada", "", 429); r.Header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
	}
	expect(t, two, "GET", "/reports/bob", "", 200)

	for range 5 {
		expect(t, one, "POST", "/code", "1234", 200)
	}
	expect(t, one, "POST", "/code", "0000", 401)
	expect(t, two, "POST", "/code", "0001", 401)
	expect(t, two, "POST", "/code", "0002", 401)
	expect(t, one, "POST", "/code", "1234", 429)

	stop()
	expect(t, one, "GET", "/reports/eve", "", 200) // counts in the process
}

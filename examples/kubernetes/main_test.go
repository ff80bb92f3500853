package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

const sumOfHello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

// begin sends a request without the end of its body, and returns a function that sends the rest and reads the response.
func begin(t *testing.T, p *program.Process) (finish func() (*http.Response, string, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// The handler asks for the body by 100 (Continue), so the request is in flight once that has arrived.
	fmt.Fprint(conn, "POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	lines := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	return func() (*http.Response, string, error) {
		fmt.Fprint(conn, "hello")
		response, err := http.ReadResponse(lines, nil)
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(response.Body)
		return response, strings.TrimSpace(string(text)), err
	}
}

// probe returns the status of a probe over a connection of its own, as the kubelet makes one, and 0 if it is refused.
func probe(t *testing.T, p *program.Process, path string) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(p.URL + path)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

func TestNoRequestIsLost(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0", "-lameduck", "3s")
	if live, ready := probe(t, p, "/livez"), probe(t, p, "/readyz"); live != 200 || ready != 200 {
		t.Errorf("before SIGTERM: /livez %d, /readyz %d", live, ready)
	}
	finish := begin(t, p)

	p.Signal(syscall.SIGTERM)
	program.Eventually(t, "/readyz is 503", func() bool { return probe(t, p, "/readyz") == 503 })
	if live := probe(t, p, "/livez"); live != 200 {
		t.Errorf("/livez after SIGTERM: %d", live)
	}
	// Balancers that have not noticed yet are still served, and told to use another connection for the next request.
	response, sum := p.Do("POST", "/sum", "hello")
	if strings.TrimSpace(sum) != sumOfHello || !response.Close {
		t.Errorf("after SIGTERM: %s %s, Connection: close: %t", response.Status, sum, response.Close)
	}

	program.Eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", p.Addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if response, sum, err := finish(); err != nil || response.StatusCode != 200 || sum != sumOfHello {
		t.Errorf("the request in flight: %v %s %v", response, sum, err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
}

// A request that takes longer than the timeout is cut off, and the program says so.
func TestTimeout(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0", "-lameduck", "1ms", "-timeout", "1ms")
	finish := begin(t, p)
	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err == nil || !strings.Contains(p.Log(), "deadline exceeded") {
		t.Errorf("the program: %v, log: %s", err, p.Log())
	}
	if response, sum, err := finish(); err == nil {
		t.Errorf("the request was served: %s %s", response.Status, sum)
	}
}

package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// shouting is a target that switches to a protocol in which it returns each line in capitals, and "bye" at the end.
func shouting(t testing.TB, protocol string, ended chan<- error) string {
	return scripted(t, func(c net.Conn, r *bufio.Reader) {
		head := readHead(r)
		if len(head) == 0 {
			return
		}
		if text := strings.Join(head, "\n"); !strings.Contains(text, "Connection: Upgrade") || !strings.Contains(text, "Sec-WebSocket-Key: ") || !strings.HasPrefix(text, "GET ") {
			fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Accept: x\r\nX-A: 1\r\n\r\nhello\n", protocol)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				io.WriteString(c, "bye\n")
				if ended != nil {
					ended <- err
				}
				return
			}
			io.WriteString(c, strings.ToUpper(line))
		}
	})
}

const upgrade = "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// dialTunnel upgrades a connection. The client sends its first line together with the request.
func dialTunnel(t *testing.T, f front) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(soon))
	io.WriteString(c, upgrade+"first\n")
	r := bufio.NewReader(c)
	head := strings.Join(readHead(r), "\n")
	if !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "Connection: Upgrade") || !strings.Contains(head, "Upgrade: websocket") || !strings.Contains(head, "Sec-WebSocket-Accept: x") || !strings.Contains(head, "X-A: 1") {
		t.Fatal(head)
	}
	wantLines(t, r, "hello", "FIRST")
	return c, r
}

func wantLines(t *testing.T, r *bufio.Reader, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if line, err := r.ReadString('\n'); line != want+"\n" {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
	}
}

func TestProxyTunnel(t *testing.T) {
	for _, kind := range []string{"loops", "goroutines"} {
		ended := make(chan error, 1)
		f := startFront(t, kind, middleware.Proxy{Targets: []string{shouting(t, "websocket", ended)}})
		c, r := dialTunnel(t, f)
		for i := range 100 {
			fmt.Fprintf(c, "line %d\n", i)
			wantLines(t, r, fmt.Sprintf("LINE %d", i))
		}
		if kind == "loops" { // half-close: the target still responds
			c.(*net.TCPConn).CloseWrite()
			wantLines(t, r, "bye")
		} else {
			c.Close()
		}
		within(t, ended, "the end of the target's connection")
		if _, err := r.ReadByte(); err == nil {
			t.Error("more bytes")
		}
	}
}

// The end of the target's connection is the end of the client's.
func TestProxyTunnelTargetEnds(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\nbye\n")
	})
	for _, kind := range []string{"loops", "goroutines"} {
		f := startFront(t, kind, middleware.Proxy{Targets: []string{upstream}})
		c, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(soon))
		io.WriteString(c, upgrade)
		r := bufio.NewReader(c)
		readHead(r)
		wantLines(t, r, "bye")
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestProxyTunnelIdle(t *testing.T) {
	t.Parallel()
	for limit := range wiretest.LongerLimits(500 * time.Millisecond) {
		if tunnelIsIdle(t, limit) {
			return
		}
	}
	t.Error("tunnels that are in use end")
}

// tunnelIsIdle uses a tunnel for longer than IdleTimeout, and then not. It returns false if the tunnel has ended before, which it may do if
// the machine stops this test.
func tunnelIsIdle(t *testing.T, limit time.Duration) bool {
	ended := make(chan error, 1)
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{shouting(t, "websocket", ended)}, IdleTimeout: limit})
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(soon + 3*limit))
	io.WriteString(c, upgrade)
	r := bufio.NewReader(c)
	readHead(r)
	for n, want := range []string{"hello\n", "A\n", "A\n", "A\n", "A\n", "A\n"} {
		if n > 0 {
			time.Sleep(limit * 3 / 10)
			io.WriteString(c, "a\n")
		}
		if line, err := r.ReadString('\n'); line != want {
			t.Logf("%q, %v within %v", line, err, limit)
			return false
		}
	}
	within(t, ended, "the end of an idle tunnel")
	if _, err := r.ReadByte(); err == nil {
		t.Error("the client's connection is open")
	}
	return true
}

// Shutdown ends tunnels.
func TestProxyTunnelShutdown(t *testing.T) {
	for _, kind := range []string{"loops", "goroutines"} {
		ended := make(chan error, 1)
		app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}})
		app.All("/{path...}", middleware.Proxy{Targets: []string{shouting(t, "websocket", ended)}}.Handler())
		f := serveFront(t, kind, app, app.Serve)
		_, r := dialTunnel(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		if err := app.Shutdown(ctx); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		within(t, ended, "the end of the tunnel")
		r.WriteTo(io.Discard)
	}
}

// Only a protocol that is allowed, that the client asks for, and that the target accepts, opens a tunnel.
func TestProxyTunnelRefused(t *testing.T) {
	other := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nno")
		rest, _ := io.ReadAll(r)
		if len(rest) > 0 {
			t.Errorf("the target got %q behind a refused upgrade", rest)
		}
	})
	for _, tc := range []struct {
		rule   string
		proxy  middleware.Proxy
		status string
	}{
		{"the target refuses", middleware.Proxy{Targets: []string{other}}, "426"},
		{"the target switches to something else", middleware.Proxy{Targets: []string{shouting(t, "h2c", nil)}}, "502"},
		{"no upgrade is allowed", middleware.Proxy{Targets: []string{shouting(t, "websocket", nil)}, Upgrades: []string{}}, "400"},
		{"another one is allowed", middleware.Proxy{Targets: []string{shouting(t, "websocket", nil)}, Upgrades: []string{"tcp"}}, "400"},
	} {
		f := startFront(t, "loops", tc.proxy)
		request := strings.Replace(upgrade, "Connection: Upgrade", "Connection: Upgrade, close", 1)
		text := f.raw(t, request+"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
		if got := strings.Fields(text)[1]; got != tc.status || strings.Count(text, "HTTP/1.1 ") > 1+strings.Count(text, "GET /chat") {
			t.Errorf("%s: %s", tc.rule, text)
		}
	}
}

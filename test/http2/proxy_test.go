package http2_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// upgrades accepts one connection, upgrades it, and returns each line in capitals, and "bye" behind the last one.
func upgrades(t *testing.T, ln net.Listener) {
	c, err := ln.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	r := bufio.NewReader(c)
	request, err := http.ReadRequest(r)
	if err != nil {
		t.Error(err)
		return
	}
	if h := request.Header; request.Method != "GET" || request.URL.Path != "/chat" || h.Get("Upgrade") != "websocket" || len(h.Get("Sec-Websocket-Key")) != 24 {
		t.Errorf("%s %s %v", request.Method, request.URL, h)
	}
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nX-A: 1\r\n\r\nhello\n")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			io.WriteString(c, "bye\n")
			return
		}
		fmt.Fprint(c, strings.ToUpper(line))
	}
}

// A WebSocket over HTTP/2 becomes an upgrade over HTTP/1 behind middleware.Proxy (RFC 8441 §5).
func TestProxyExtendedConnect(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	go upgrades(t, target)
	app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{ExtendedConnect: true}})
	app.All("/{path...}", middleware.Proxy{Targets: []string{"http://" + target.Addr().String()}}.Handler())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certificate, pool := galloptest.Certificate("127.0.0.1")
	go app.Serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}))
	t.Cleanup(func() { app.Close() })

	transport := &http2.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	body, write := io.Pipe()
	r, _ := http.NewRequest("CONNECT", "https://"+ln.Addr().String()+"/chat", body)
	r.Header[":protocol"] = []string{"websocket"}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if h := response.Header; response.StatusCode != 200 || h.Get("X-A") != "1" || h.Get("Sec-Websocket-Accept") != "" || h.Get("Upgrade") != "" {
		t.Errorf("%d %v", response.StatusCode, h)
	}
	defer time.AfterFunc(20*time.Second, func() { response.Body.Close() }).Stop()
	lines := bufio.NewReader(response.Body)
	for _, step := range []struct{ send, want string }{{"", "hello\n"}, {"first\n", "FIRST\n"}, {"", "bye\n"}} {
		if io.WriteString(write, step.send); step.want == "bye\n" {
			write.Close()
		}
		if line, err := lines.ReadString('\n'); line != step.want {
			t.Fatalf("%q, %v, want %q", line, err, step.want)
		}
	}
}

package main

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func start(t *testing.T) *program.Process { return program.Start(t, 1, "-addr", "127.0.0.1:0") }

func join(t *testing.T, p *program.Process) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), p.URL+"/chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func send(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, got, err := conn.Read(ctx); err != nil || string(got) != text {
		t.Fatalf("%q, %v, want %q", got, err, text)
	}
}

func wantClose(t *testing.T, conn *websocket.Conn, status websocket.StatusCode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, text, err := conn.Read(ctx); websocket.CloseStatus(err) != status {
		t.Errorf("%q, %v, want a close with status %d", text, err, status)
	}
}

func TestChat(t *testing.T) {
	p := start(t)
	ada, bob := join(t, p), join(t, p)
	// A member is in the chat once it gets its own messages, so that what follows reaches both.
	send(t, bob, "I am here")
	want(t, bob, "I am here")
	send(t, ada, "hello")
	want(t, bob, "hello")
	for {
		if _, text, err := ada.Read(t.Context()); err != nil {
			t.Fatal(err)
		} else if string(text) == "hello" {
			break // Bob's message may have come first
		}
	}
	send(t, ada, strings.Repeat("x", 5<<10))
	wantClose(t, ada, websocket.StatusMessageTooBig)
	send(t, bob, "still here")
	want(t, bob, "still here")
	bob.Close(websocket.StatusNormalClosure, "")

	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestShutdownSaysGoodbye(t *testing.T) {
	p := start(t)
	ada := join(t, p)
	send(t, ada, "hello")
	want(t, ada, "hello")
	p.Signal(syscall.SIGTERM)
	wantClose(t, ada, websocket.StatusGoingAway)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	p := start(t)
	response, text := p.Do("GET", "/chat", "")
	if response.StatusCode != http.StatusUpgradeRequired || response.Header.Get("Upgrade") != "websocket" {
		t.Errorf("no upgrade: %s, Upgrade: %s, %s", response.Status, response.Header.Get("Upgrade"), text)
	}
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	response, text = p.Do("GET", "/chat", "", append(upgrade, "Sec-WebSocket-Version", "12")...)
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("another version: %s %s", response.Status, text)
	}
	response, text = p.Do("GET", "/chat", "", append(upgrade, "Sec-WebSocket-Version", "13", "Origin", "https://evil.example")...)
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("page of another origin: %s %s", response.Status, text)
	}
}

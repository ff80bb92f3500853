package conn

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// The buffer becomes larger only if a read has filled it and all of it was used.
func TestWiden(t *testing.T) {
	for _, tt := range []struct {
		name   string
		length int // of 4,096 bytes of room
		used   int
		held   bool
		want   int
	}{
		{"full and used", 4096, 4096, false, wideInput},
		{"not full", 4095, 4095, false, 4096},
		{"empty", 0, 0, false, 4096},
		{"not used", 4096, 4095, false, 4096},
		{"held", 4096, 4096, true, 4096},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{buf: bufpool.Get(4096)[:tt.length], R: tt.used, HeadAt: tt.used, Held: tt.held}
			if in.Widen(); cap(in.buf) != tt.want {
				t.Errorf("room for %d bytes, want %d", cap(in.buf), tt.want)
			}
			if got := tt.length - tt.used; len(in.Unread()) != got {
				t.Errorf("%d unread bytes, want %d", len(in.Unread()), got)
			}
		})
	}
	in := Input{buf: bufpool.Get(wideInput)[:wideInput], R: wideInput, HeadAt: wideInput}
	if in.Widen(); cap(in.buf) != wideInput {
		t.Errorf("a wide buffer has grown to %d bytes", cap(in.buf))
	}
	var none Input
	if none.Widen(); none.buf != nil {
		t.Error("a buffer for a connection that has none")
	}
}

// Arrived knows what a socket has without reading it, and nothing about other connections.
func TestArrived(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Arrived never knows")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var in, secret Input
	in.raw.init(server)
	secret.raw.init(tls.Server(server, nil))
	if in.Arrived() {
		t.Error("something has arrived before it was sent")
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !in.Arrived() {
			t.Error("nothing has arrived")
		}
	}
	if secret.Arrived() {
		t.Error("the socket below TLS was looked at")
	}
	if _, err := server.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if in.Arrived() {
		t.Error("what was read has arrived again")
	}
	client.Close()
	if _, err := server.Read(make([]byte, 10)); err != io.EOF || !in.Arrived() {
		t.Errorf("error %v, or the end has not arrived", err)
	}
}

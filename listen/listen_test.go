package listen_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/listen"
)

func TestListen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config listen.TCP
	}{
		{"defaults", listen.TCP{}},
		{"all options", listen.TCP{ReusePort: true, DeferAccept: true, FastOpen: true, Backlog: 16}},
		{"backlog", listen.TCP{Backlog: 1}},
	} {
		for _, network := range []string{"tcp", "tcp4"} {
			t.Run(tt.name+"/"+network, func(t *testing.T) {
				ln, err := tt.config.NewListener(network, "127.0.0.1:0")
				if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
					t.Skipf("an option that this system does not have: %v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer ln.Close()
				talk(t, ln)
			})
		}
	}
}

// talk says something to what ln accepts.
func talk(t *testing.T, ln net.Listener) {
	t.Helper()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	ln.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	got := make([]byte, 5)
	if _, err := io.ReadFull(server, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReusePort(t *testing.T) {
	shared := listen.TCP{ReusePort: true}
	first, err := shared.NewListener("tcp4", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		t.Skipf("an option that this system does not have: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	addr := first.Addr().String()
	second, err := shared.NewListener("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if runtime.GOOS == "windows" {
		return
	}
	if ln, err := (&listen.TCP{}).NewListener("tcp4", addr); err == nil {
		ln.Close()
		t.Error("an address that is taken was taken again without ReusePort")
	}
}

func TestListenRefuses(t *testing.T) {
	for _, network := range []string{"udp", "unix", "tcp5", ""} {
		ln, err := new(listen.TCP).NewListener(network, "127.0.0.1:0")
		if err == nil {
			ln.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "unknown network") {
			t.Errorf("%q: %v", network, err)
		}
	}
	if ln, err := new(listen.TCP).NewListener("tcp", "127.0.0.1:no-such-port"); err == nil {
		ln.Close()
		t.Error("a port that is none")
	}
}

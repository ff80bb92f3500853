package listen_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
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
				ln, err := tt.config.Listen(t.Context(), network, "127.0.0.1:0")
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
	first, err := shared.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		t.Skipf("an option that this system does not have: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	addr := first.Addr().String()
	second, err := shared.Listen(t.Context(), "tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if runtime.GOOS == "windows" {
		return
	}
	if ln, err := (&listen.TCP{}).Listen(t.Context(), "tcp4", addr); err == nil {
		ln.Close()
		t.Error("an address that is taken was taken again without ReusePort")
	}
}

func TestListenRefuses(t *testing.T) {
	for _, network := range []string{"udp", "unix", "tcp5", ""} {
		ln, err := new(listen.TCP).Listen(t.Context(), network, "127.0.0.1:0")
		if err == nil {
			ln.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "unknown network") {
			t.Errorf("%q: %v", network, err)
		}
	}
	if ln, err := new(listen.TCP).Listen(t.Context(), "tcp", "127.0.0.1:no-such-port"); err == nil {
		ln.Close()
		t.Error("a port that is none")
	}
}

// Control sees the socket before it has an address, and its error is the listener's.
func TestControl(t *testing.T) {
	var called []string
	config := listen.TCP{Control: func(network, address string, c syscall.RawConn) error {
		called = append(called, network+" "+address)
		return c.Control(func(uintptr) {})
	}}
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if len(called) != 1 || called[0] != "tcp4 127.0.0.1:0" {
		t.Errorf("called with %q", called)
	}
	failed := errors.New("not this socket")
	config.Control = func(string, string, syscall.RawConn) error { return failed }
	if ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0"); !errors.Is(err, failed) {
		t.Errorf("got %v, %v", ln, err)
	}
}

// A context that has ended makes no listener, and one that ends later closes none.
func TestListenContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := new(listen.TCP).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cancel()
	talk(t, ln)
	if ln, err := new(listen.TCP).Listen(ctx, "tcp", "host.invalid:0"); !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v, %v", ln, err)
	}
}

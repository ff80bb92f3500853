package framing_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerCases plays testdata/cases against sockets. Cases that pass strictly pass normally as well, so the normal
// form is played in long tests only.
func TestServerCases(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	wiretest.CheckLeaks(t)
	cases := wiretest.ServerCases(t, nil)
	for _, tt := range []struct {
		name, network  string
		stream, strict bool
		long           bool
		over           gallop.EngineType
	}{
		{name: "TCP, strict", network: "tcp", strict: true},
		{name: "TCP, strict, goroutines", network: "tcp", strict: true, over: gallop.EngineGoroutine},
		{name: "TCP", network: "tcp", long: true},
		{name: "TCP, streamed bodies, strict", network: "tcp", stream: true, strict: true, long: true},
		{name: "unix, strict", network: "unix", strict: true, long: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && !wiretest.Long() {
				t.Skip("it takes long, and others like it run: set GALLOP_LONG, as CI does, to run it")
			}
			t.Parallel() // it mostly waits
			s := servertest.NewEchoServer(tt.stream)
			s.Engine = tt.over
			dial := listenAndServe(t, &s.Server, tt.network)
			wiretest.Report(t, wiretest.PlayAll(t.Context(), dial, cases, tt.strict, 64))
			s.Log.WantNoPanic(t)
		})
	}
}

// TestServerCasesInMemory plays them in virtual time.
func TestServerCasesInMemory(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		cases := wiretest.ServerCases(t, nil)
		for name, stream := range map[string]bool{"whole bodies": false, "streamed bodies": true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := servertest.NewEchoServer(stream)
					wiretest.Report(t, wiretest.PlayAll(t.Context(), wiretest.Dialer(on.Serve(&s.Server)), cases, true, 8))
					s.Log.WantNoPanic(t)
				})
			})
		}
	})
}

// listenAndServe serves on a socket of its own until the test ends, when the server
// must shut down in time, and returns how to reach it.
func listenAndServe(t *testing.T, s *gallop.Server, network string) func() (net.Conn, error) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return func() (net.Conn, error) { return net.Dial(network, ln.Addr().String()) }
}

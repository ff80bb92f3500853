package http2_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// busyServer is a server on a loop that can be busy for a while, with a client that is connected to it.
type busyServer struct {
	*timedClient
	busy atomic.Bool // the next time that the loop reads, that takes 15 seconds
}

// onBusyServer runs f with a server in virtual time.
func onBusyServer(t *testing.T, s *gallop.Server, f func(b *busyServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := new(busyServer)
		s.Logger, s.Protocols = servertest.Quiet, new(gallop.Protocols)
		s.Protocols.SetUnencryptedHTTP2(true)
		ln := servertest.ListenOnLoop(s)
		servertest.Kernel(s).Step = func(call string, _ int) {
			if call == "read" && b.busy.CompareAndSwap(true, false) {
				time.Sleep(15 * time.Second)
			}
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		nc, server := wiretest.Pipe()
		ln.Connect(server)
		b.timedClient = newTimedClient(t, nc)
		f(b)
		nc.Close()
		_ = s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// wantFrames checks whether some text is among the frames that have come, and returns them.
func (b *busyServer) wantFrames(text string, want bool) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := strings.Join(b.got, "\n"); strings.Contains(got, text) != want {
		b.t.Errorf("%q is expected: %v; got %s", text, want, got)
	}
}

// A client is not late if its bytes have arrived, and the server was too busy to read them.
func TestBusyServerDoesNotBlameItsClients(t *testing.T) {
	for name, acked := range map[string]bool{"acknowledged": true, "not acknowledged": false} {
		t.Run(name, func(t *testing.T) {
			onBusyServer(t, &gallop.Server{Handler: func(*gallop.RequestCtx) {}}, func(b *busyServer) {
				b.silent = true
				b.begin()
				time.Sleep(5 * time.Second)
				b.busy.Store(true)
				if acked {
					_ = b.WriteSettingsAck()
				}
				_ = b.WritePing(false, [8]byte{1})
				time.Sleep(25 * time.Second)
				b.wantFrames("SETTINGS_TIMEOUT", !acked)
			})
		})
	}
}

// A PING is not lost if its acknowledgment has arrived, and the server was too busy to read it.
func TestBusyServerLosesNoPing(t *testing.T) {
	for name, acked := range map[string]bool{"acknowledged": true, "not acknowledged": false} {
		t.Run(name, func(t *testing.T) {
			s := &gallop.Server{Handler: func(*gallop.RequestCtx) {}, HTTP2: &gallop.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}}
			onBusyServer(t, s, func(b *busyServer) {
				b.deaf = !acked
				b.begin()
				time.Sleep(9 * time.Second)
				b.busy.Store(true) // when the acknowledgment arrives
				if !acked {
					time.AfterFunc(2*time.Second, func() { _ = b.WritePing(false, [8]byte{1}) })
				}
				time.Sleep(20 * time.Second)
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.pings) == 0 || b.ended.IsZero() != acked {
					b.t.Errorf("%d PING frames; the connection ended at %v", len(b.pings), b.ended)
				}
			})
		})
	}
}

// A request body is not too slow if its bytes have arrived, and the server was too busy to read them.
func TestBusyServerDoesNotBlameUploads(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, sent := range []bool{true, false} {
			t.Run(fmt.Sprintf("StreamRequestBody=%v/sent=%v", streaming, sent), func(t *testing.T) {
				onBusyServer(t, &gallop.Server{StreamRequestBody: streaming, Handler: echoBody}, func(b *busyServer) {
					b.begin()
					id := b.open("POST", "/", false)
					time.Sleep(4 * time.Second)
					b.busy.Store(true)
					b.data(id, "some", false)
					if sent {
						b.data(id, "body", true)
					}
					time.Sleep(25 * time.Second)
					b.wantFrames(":status=200", sent)
					b.wantFrames(":status=408", !sent)
				})
			})
		}
	}
}

// A response is not stalled if its client has opened the window, and the server was too busy to read that.
func TestBusyServerDoesNotResetResponses(t *testing.T) {
	for _, path := range []string{"/bytes", "/stream"} {
		for _, sent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/sent=%v", path[1:], sent), func(t *testing.T) {
				s, ends := &gallop.Server{}, make(chan error, 1)
				serveBig(s, ends)
				onBusyServer(t, s, func(b *busyServer) {
					b.credits = false
					b.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
					id := b.open("GET", path, true)
					time.Sleep(20 * time.Second)
					b.busy.Store(true)
					if sent {
						b.credit(id, 200_000)
					} else {
						_ = b.WritePing(false, [8]byte{1})
					}
					time.Sleep(25 * time.Second)
					b.wantFrames("1 reset", !sent)
					b.wantFrames("1 end after 200000 bytes", sent)
				})
				if path == "/stream" {
					if err := <-ends; errors.Is(err, os.ErrDeadlineExceeded) == sent {
						t.Error(err)
					}
				}
			})
		}
	}
}

// echoBody sends the body back, or 408 if it cannot be read.
func echoBody(ctx *gallop.RequestCtx) {
	if r := ctx.RequestBodyStream(); r == nil {
		ctx.SetBody(ctx.PostBody())
	} else if body, err := io.ReadAll(r); err == nil {
		ctx.SetBody(body)
	} else {
		ctx.Error(err.Error(), 408)
	}
}

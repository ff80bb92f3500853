package http2_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A client that sends without a pause does not keep the loop from other connections. Without shares, they would wait until the
// watchdog makes another worker lead the loop, which takes a millisecond or two.
func TestShares(t *testing.T) {
	certificate()
	for name, overTLS := range map[string]bool{"h2c": false, "h2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testShares(&site{t: t, on: servertest.Transports[1], tls: overTLS}) })
		})
	}
}

func testShares(w *site) {
	const bodies, size = 4, 1 << 20
	s := &gallop.Server{Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBody(ctx.PostBody()[:min(10, len(ctx.PostBody()))]) }}
	s.HTTP2 = &gallop.HTTP2Config{MaxReceiveBufferPerConnection: bodies * size, MaxReceiveBufferPerStream: size}
	var slow atomic.Bool
	servertest.Kernel(s).Step = func(call string, _ int) {
		if call == "read" && slow.Load() {
			time.Sleep(20 * time.Microsecond)
		}
	}
	w.serve(s)
	busy, other := w.dial(), w.dial()
	other.want(other.do("GET", "/", ""), 200, "")
	busy.want(busy.do("GET", "/", ""), 200, "")
	slow.Store(true)
	begun := time.Now()
	var ids []uint32
	for range bodies {
		ids = append(ids, busy.open("POST", "/", false))
	}
	for _, id := range ids {
		busy.data(id, strings.Repeat("x", size), true)
	}
	other.want(other.do("GET", "/", ""), 200, "")
	if took := time.Since(begun); took > 600*time.Microsecond {
		w.t.Errorf("another connection has waited for %v", took)
	}
	for _, id := range ids {
		busy.want(busy.await(id), 200, strings.Repeat("x", 10))
	}
	if took := time.Since(begun); took < time.Millisecond {
		w.t.Errorf("all was served after %v, so the test shows nothing", took)
	}
}

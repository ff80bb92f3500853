package http2_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// latencies sends n requests one after the other, a millisecond apart, and returns how long each took, in order.
func latencies(c *client, n int) (took []time.Duration) {
	c.t.Helper()
	for range n {
		time.Sleep(time.Millisecond)
		start := time.Now()
		c.want(c.get("/fast"), 200, "fast")
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took
}

// wantNoDelay fails the test unless the median and the 99th percentile exceed those of an idle connection by less than a
// millisecond and by less than limit.
func wantNoDelay(w *site, took, alone []time.Duration, limit time.Duration) {
	w.t.Helper()
	half, most := len(took)/2, len(took)*99/100
	if took[half] >= alone[half]+time.Millisecond || took[most] >= alone[most]+limit {
		w.t.Errorf("median %v, p99 %v; without other streams %v, %v", took[half], took[most], alone[half], alone[most])
	}
}

// Handlers that sleep do not delay the other streams of their connection. If the program has them called on the event loop, each
// of them delays the others until another worker takes over the loop.
func TestSlowHandlersBesideFastOnes(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				time.Sleep(10 * time.Millisecond)
			}
			ctx.WriteString(strings.TrimPrefix(string(ctx.Path()), "/"))
		})
		alone := latencies(w.dial(), 200)
		c := w.dial()
		var slow []uint32
		took := []time.Duration{}
		for range 20 {
			for range 20 {
				slow = append(slow, c.open("GET", "/slow", true))
			}
			took = append(took, latencies(c, 10)...)
		}
		slices.Sort(took)
		for _, id := range slow {
			c.want(c.await(id), 200, "slow")
		}
		limit := time.Millisecond
		if w.on.Name == "inline" {
			limit = 30 * time.Millisecond // 20 handlers that sleep for 200 ms in all
		}
		wantNoDelay(w, took, alone, limit)
	})
}

// A client that does not read one response gets the others without delay.
func TestUnreadStreamBesideFastOnes(t *testing.T) {
	onSites(t, func(w *site) {
		big := strings.Repeat("x", 1<<20)
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/big" {
				ctx.SetBodyString(big)
				return
			}
			ctx.WriteString("fast")
		})
		alone := latencies(w.dial(), 200)
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000})
		c.unread = c.next
		id := c.open("GET", "/big", true)
		c.awaitBody(id, 10_000)
		took := latencies(c, 200)
		wantNoDelay(w, took, alone, time.Millisecond)
		if n := len(c.awaitBody(id, 10_000).body); n != 10_000 {
			w.t.Errorf("%d bytes were sent, beyond the window", n)
		}
	})
}

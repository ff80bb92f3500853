package http2_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// Bytes of a request body that arrive while the response waits for its window do not get into the response.
func TestBodyArrivesDuringResponse(t *testing.T) {
	onSites(t, func(w *site) {
		want := strings.Repeat("response", 20_000)
		w.serve(&gallop.Server{StreamRequestBody: true, PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/large" {
				ctx.SetBodyString(want)
			}
		}})
		c := w.dial()
		c.hold = true
		id := c.open("POST", "/large", false)
		c.awaitBody(id, 65535)
		for range 4 {
			c.data(id, strings.Repeat("request ", 4_000), false)
			c.wantAlive()
		}
		c.credit(id, 1<<20)
		c.want(c.await(id), 200, want)
	})
}

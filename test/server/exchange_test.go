package server_test

import (
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A program can keep some results of a RequestCtx's methods beyond the request. The server then serves the next request on
// the connection with another RequestCtx. After other requests, the server uses the same RequestCtx again.
func TestContextsThatAreNotReused(t *testing.T) {
	for name, tt := range map[string]struct {
		use    func(t *testing.T, ctx *gallop.RequestCtx)
		reused bool
	}{
		"nothing":    {func(t *testing.T, ctx *gallop.RequestCtx) { ctx.SetBodyString("hello") }, true},
		"user value": {func(t *testing.T, ctx *gallop.RequestCtx) { ctx.SetUserValue("a", "b") }, true},
		"Err":        {func(t *testing.T, ctx *gallop.RequestCtx) { _ = ctx.Err() }, true},
		"Done":       {func(t *testing.T, ctx *gallop.RequestCtx) { ctx.Done() }, false},
		"OnDisconnect": {func(t *testing.T, ctx *gallop.RequestCtx) {
			ctx.OnDisconnect(func(error) { t.Error("nobody has disconnected") })
		}, false},
		"StreamResponse": {func(t *testing.T, ctx *gallop.RequestCtx) {
			if _, err := ctx.StreamResponse(); err != nil {
				t.Error(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				var seen []*gallop.RequestCtx
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					seen = append(seen, ctx)
					tt.use(t, ctx)
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(wiretest.Get("/"), wiretest.Get("/"))
					c.Want(200)
					c.Want(200)
				})
				if len(seen) != 2 || (seen[0] == seen[1]) != tt.reused {
					t.Errorf("contexts %p, reused: %v", seen, tt.reused)
				}
			})
		})
	}
}

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
		}, true},
		"StreamResponse": {func(t *testing.T, ctx *gallop.RequestCtx) {
			if _, err := ctx.StreamResponse(); err != nil {
				t.Error(err)
			}
		}, true},
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

// A program keeps the ResponseStream of the first request. The server uses the RequestCtx again, but not the ResponseStream.
func TestResponseStreamThatIsKept(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var kept *gallop.ResponseStream
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			stream, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
				return
			}
			if kept == nil {
				kept = stream
			} else if n, err := kept.Write([]byte("of the first")); n > 0 || err == nil {
				t.Errorf("the first ResponseStream writes %d bytes of the second response, %v", n, err)
			}
			if err := kept.Flush(); (err == nil) != (kept == stream) {
				t.Errorf("Flush returns %v", err)
			}
			stream.WriteString("hello")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 2 {
				c.Send(wiretest.Get("/"))
				if r := c.Want(200); string(r.Body) != "hello" {
					t.Errorf("body %q", r.Body)
				}
			}
		})
	})
}

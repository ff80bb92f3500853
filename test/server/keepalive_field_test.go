package server_test

import (
	"bufio"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A handler that says keep-alive, as those of server-sent events do, is taken at its word as long as the connection goes on.
func TestKeepAliveOfHandlers(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, handle := range map[string]gallop.RequestHandler{
			"/body":   func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") },
			"/stream": func(ctx *gallop.RequestCtx) { ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x") }) },
			"/at once": func(ctx *gallop.RequestCtx) {
				if w, err := ctx.StreamResponse(); err == nil {
					w.Write([]byte("x"))
				}
			},
		} {
			s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.Set("Connection", "keep-alive")
				if ctx.QueryArgs().Has("close") {
					ctx.SetConnectionClose()
				}
				handle(ctx)
			}}
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send(wiretest.Get("/")).Want(200)
				c.WantField("Connection", "keep-alive").WantBody("x")
				c.Send(wiretest.Get("/?close")).Want(200)
				c.WantField("Connection", "close").WantBody("x")
				c.WantEOF()
			})
		}
	})
}

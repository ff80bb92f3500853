package server_test

import (
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A response that echoes the request's body is preceded by 100 before its own head, or not at all.
func TestContinueComesBeforeAStreamedAnswer(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/echo":
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
			case "/wrapped":
				ctx.SetBodyStream(io.LimitReader(ctx.RequestBodyStream(), 100), 4)
			case "/other":
				ctx.SetBodyStream(strings.NewReader("other"), -1)
			}
		}}
		post := func(path string) string {
			return wiretest.Request("POST", path, "Content-Length: 4", "Expect: 100-continue")
		}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for _, path := range []string{"/echo", "/wrapped"} {
				c.Send(post(path)).Want(100)
				c.Send("body").Want(200)
				c.WantBody("body")
			}
			c.Send(post("/other")).Want(200)
			c.WantBody("other").WantField("Connection", "close").WantEnd()
		})
	})
}

// A body whose length is too large is not asked for, even if a handler allows it.
func TestContinueIsNotSaidToABodyTooLarge(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, s := range map[string]*gallop.Server{
			"nobody":          {},
			"ContinueHandler": {ContinueHandler: func(*gallop.RequestHeader) bool { return true }},
			"ExpectHandler":   {ExpectHandler: func(*gallop.RequestCtx) int { return 100 }},
		} {
			t.Run(name, func(t *testing.T) {
				s.MaxRequestBodySize, s.Handler = 4, servertest.Say
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(wiretest.Post("Expect: 100-continue\r\nContent-Length: 5", "")).Want(413)
				})
			})
		}
	})
}

package server_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Every view that a handler can get shows when it is kept, wherever its bytes lie: in the connection's buffer, in the
// header, in the URI, among arguments, in a body of its own.
func TestPoisonReleased(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var kept map[string][]byte
		handler := func(ctx *gallop.RequestCtx) {
			ctx.Response.SetBodyString("a response of some length")
			ctx.Response.Header.Set("X-Answer", "answer")
			kept = map[string][]byte{
				"method":        ctx.Method(),
				"target":        ctx.RequestURI(),
				"field":         ctx.Request.Header.Peek("X-Field"),
				"cookie":        ctx.Request.Header.Cookie("session"),
				"path":          ctx.Path(),
				"original path": ctx.URI().PathOriginal(),
				"host":          ctx.Host(),
				"query":         ctx.URI().QueryString(),
				"URI":           ctx.URI().FullURI(),
				"query arg":     ctx.QueryArgs().Peek("key"),
				"form arg":      ctx.PostArgs().Peek("name"),
				"body":          ctx.PostBody(),
				"answer field":  ctx.Response.Header.Peek("X-Answer"),
				"answer body":   ctx.Response.Body(),
			}
		}
		const head = "Host: example.com\r\nX-Field: value\r\nCookie: session=4f3a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
		const length, chunked = "Content-Length: 11\r\n\r\nname=gopher", "Transfer-Encoding: chunked\r\n\r\n5\r\nname=\r\n6\r\ngopher\r\n0\r\n\r\n"
		for _, tt := range []struct{ name, request string }{
			{"body in the buffer", "POST /plain?key=word HTTP/1.1\r\n" + head + length},
			{"body in chunks", "POST /plain?key=word HTTP/1.1\r\n" + head + chunked},
			{"path that is decoded", "POST /a/../b%20c?key=w%6frd HTTP/1.1\r\n" + head + length},
			{"end of the connection", "POST /plain?key=word HTTP/1.1\r\nConnection: close\r\n" + head + length},
		} {
			t.Run(tt.name, func(t *testing.T) {
				client, server := wiretest.Pipe()
				if _, err := io.WriteString(client, tt.request); err != nil {
					t.Fatal(err)
				}
				client.Close()
				s := &gallop.Server{PoisonReleased: true, Handler: handler}
				on.Serve(s)(server)
				for name, view := range kept {
					if want := bytes.Repeat([]byte{0xDB}, len(view)); len(view) == 0 || !bytes.Equal(view, want) {
						t.Errorf("%s: %q", name, view)
					}
				}
				kept = nil
			})
		}
	})
}

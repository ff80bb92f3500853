package http2_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
)

// Every view that a handler keeps shows that it was kept, wherever its bytes lie.
func TestPoisonedViews(t *testing.T) {
	onSites(t, func(w *site) {
		var kept map[string][]byte
		w.serve(&gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			ctx.Response.SetBodyString("a response of some length")
			ctx.Response.Header.Set("X-Answer", "answer")
			kept = map[string][]byte{
				"target":       ctx.RequestURI(),
				"field":        ctx.Request.Header.Peek("X-Field"),
				"cookie":       ctx.Request.Header.Cookie("session"),
				"path":         ctx.Path(),
				"host":         ctx.Host(),
				"query":        ctx.URI().QueryString(),
				"query arg":    ctx.QueryArgs().Peek("key"),
				"form arg":     ctx.PostArgs().Peek("name"),
				"body":         ctx.PostBody(),
				"trailer":      ctx.Request.Header.PeekTrailer("Checksum"),
				"answer field": ctx.Response.Header.Peek("X-Answer"),
				"answer body":  ctx.Response.Body(),
			}
		}})
		c := w.dial()
		for _, path := range []string{"/plain?key=word", "/a/../b%20c?key=w%6frd"} {
			id := c.open("POST", path, false, "x-field: value", "cookie: session=4f3a", "content-type: application/x-www-form-urlencoded", "trailer: checksum")
			c.data(id, "name=gopher", false)
			c.headers(id, true, "checksum: abc")
			c.want(c.await(id), 200, "a response of some length")
			synctest.Wait()
			for name, view := range kept {
				if want := bytes.Repeat([]byte{0xDB}, len(view)); len(view) == 0 || !bytes.Equal(view, want) {
					w.t.Errorf("%s, %s: %q", path, name, view)
				}
			}
			c.wantAlive()
		}
	})
}

// Objects of a request that a handler keeps lead to no other request, on the same stream object or another.
func TestKeptObjects(t *testing.T) {
	onSites(t, func(w *site) {
		var body io.Reader
		var stream *gallop.ResponseStream
		var done <-chan struct{}
		var kept *gallop.RequestCtx
		told := make(chan error, 1)
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/keeps":
				kept, body, done = ctx, ctx.RequestBodyStream(), ctx.Done()
				ctx.OnDisconnect(func(err error) { told <- err })
				stream, _ = ctx.StreamResponse()
				io.WriteString(stream, "kept")
			case "/next":
				if n, err := body.Read(make([]byte, 10)); n != 0 || err == nil {
					w.t.Errorf("a kept body reads %d bytes, %v", n, err)
				}
				if _, err := io.WriteString(stream, "late"); err == nil {
					w.t.Error("a kept stream can be written to")
				}
				if err := stream.Flush(); err == nil {
					w.t.Error("a kept stream can be flushed")
				}
				_ = kept.WriteInterim(103)
				kept.SetBodyString("late")
				if err := kept.SetReadDeadline(time.Unix(1, 0)); err == nil {
					w.t.Error("a kept RequestCtx sets deadlines")
				}
				b, err := io.ReadAll(ctx.RequestBodyStream())
				fmt.Fprintf(ctx, "%s %v", b, err)
			}
		}})
		c := w.dial()
		for range 3 {
			c.want(c.do("POST", "/keeps", "body"), 200, "kept")
			synctest.Wait() // until the server has ended the request
			select {
			case <-done:
			default:
				w.t.Error("the request has not ended")
			}
			id := c.open("POST", "/next", false)
			c.data(id, "next", false)
			time.Sleep(time.Second)
			c.data(id, "", true)
			if st := c.want(c.await(id), 200, "next <nil>"); len(st.interims) > 0 {
				w.t.Errorf("a kept RequestCtx has sent %v", st.interims)
			}
		}
		c.reset(1) // which has ended long ago
		c.wantAlive()
		if len(told) > 0 {
			w.t.Errorf("OnDisconnect after the request: %v", <-told)
		}
	})
}

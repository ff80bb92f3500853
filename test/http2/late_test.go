package http2_test

import (
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A handler that times out in the middle of its response keeps its request. Other requests get other memory.
func TestTimeoutInResponse(t *testing.T) {
	onSites(t, func(w *site) {
		done := make(chan string)
		w.serve(&gallop.Server{PoisonReleased: true, Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/late" {
				return
			}
			s, err := ctx.StreamResponse()
			if err != nil {
				w.t.Error(err)
				return
			}
			io.WriteString(s, "begun")
			s.Flush()
			for range 60 {
				time.Sleep(time.Second)
				ctx.Response.Header.Set("X-Late", "yes")
				ctx.SetBodyString("late")
			}
			done <- string(ctx.Path())
		}, time.Second, "too late")})
		c := w.dial()
		id := c.open("GET", "/late", true)
		if st := c.awaitReset(id, http2.ErrCodeCancel); string(st.body) != "begun" || st.ended {
			w.t.Errorf("body %q, ended %v", st.body, st.ended)
		}
		for range 10 {
			c.wantAlive()
		}
		if path := await(w, done); path != "/late" {
			w.t.Errorf("the handler sees the path %q", path)
		}
	})
}

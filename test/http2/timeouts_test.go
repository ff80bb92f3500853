package http2_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A handler can end its request with a timeout itself. It may go on to use its RequestCtx.
func TestTimeoutErrors(t *testing.T) {
	onSites(t, func(w *site) {
		late := make(chan bool, 3)
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			path := string(ctx.Path())
			switch path {
			case "/msg":
				ctx.TimeoutError("msg")
			case "/code":
				ctx.TimeoutErrorWithCode("code", 504)
			case "/response":
				var resp gallop.Response
				resp.SetStatusCode(503)
				resp.Header.Set("Retry-After", "5")
				resp.SetBodyString("response")
				ctx.TimeoutErrorWithResponse(&resp)
			}
			ctx.SetBodyString("not sent")
			go func() {
				time.Sleep(10 * time.Second)
				ctx.SetBodyString("late")
				ctx.Response.Header.Set("X-Late", "yes")
				late <- string(ctx.Path()) == path
			}()
		})
		c := w.dial()
		for path, status := range map[string]int{"/msg": 408, "/code": 504, "/response": 503} {
			st := c.want(c.get(path), status, path[1:])
			if got := st.head.get("retry-after"); (path == "/response") != (got == "5") || st.head.has("connection") {
				w.t.Errorf("%s: %v", path, st.head)
			}
			c.wantAlive()
		}
		for range 3 {
			if !await(w, late) {
				w.t.Error("a handler sees another request")
			}
		}
		c.wantAlive()
	})
}

// Panics of a handler under TimeoutHandler are those of the handler, in time or late.
func TestPanicsUnderTimeoutHandler(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/panic":
				panic("in time")
			case "/abort":
				panic(gallop.ErrAbortHandler)
			case "/late":
				time.Sleep(20 * time.Second)
				panic("too late")
			}
		}, 10*time.Second, "timed out"))
		c := w.dial()
		c.want(c.get("/panic"), 500, "Internal Server Error")
		c.awaitReset(c.open("GET", "/abort", true), http2.ErrCodeInternal)
		c.want(c.get("/late"), 408, "timed out")
		time.Sleep(time.Minute)
		for _, want := range []string{"in time", "too late"} {
			if !strings.Contains(w.log.String(), want) {
				w.t.Errorf("%q is not in the log: %s", want, w.log.String())
			}
		}
		c.wantAlive()
	})
}

// TimeoutHandler calls no more handlers than Concurrency permits, and has no limit of time if its timeout is 0.
func TestLimitsOfTimeoutHandler(t *testing.T) {
	onSites(t, func(w *site) {
		slow := func(ctx *gallop.RequestCtx) {
			time.Sleep(10 * time.Second)
			ctx.SetBodyString("slow")
		}
		limited, unlimited := gallop.TimeoutHandler(slow, time.Minute, "timed out"), gallop.TimeoutHandler(slow, 0, "timed out")
		w.serve(&gallop.Server{Concurrency: 2, MaxConcurrentHandlers: -1, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/limited" {
				limited(ctx)
			} else {
				unlimited(ctx)
			}
		}})
		c := w.dial()
		var ids []uint32
		for range 3 {
			ids = append(ids, c.open("GET", "/limited", true))
			time.Sleep(time.Second)
		}
		got := ""
		for _, id := range ids {
			st := c.await(id)
			got += fmt.Sprintf("%d %s, ", st.head.status(), st.body)
		}
		if want := "200 slow, 200 slow, 429 Too Many Requests, "; got != want {
			w.t.Errorf("%s, want %s", got, want)
		}
		c.want(c.get("/unlimited"), 200, "slow")
	})
}

package http2_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

func TestTrailersOfRequests(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("StreamRequestBody=%v", streaming), func(t *testing.T) {
			onSites(t, func(w *site) {
				w.serve(&gallop.Server{StreamRequestBody: streaming, Handler: func(ctx *gallop.RequestCtx) {
					body := ctx.PostBody()
					fmt.Fprintf(ctx, "%s %s", body, ctx.Request.Header.PeekTrailer("Checksum"))
				}})
				c := w.dial()
				for _, pause := range []time.Duration{0, time.Second} {
					id := c.open("POST", "/", false, "trailer: checksum")
					c.data(id, "body", false)
					time.Sleep(pause)
					c.headers(id, true, "checksum: abc")
					c.want(c.await(id), 200, "body abc")
				}
				only := c.open("POST", "/", false)
				time.Sleep(time.Second)
				c.headers(only, true, "checksum: only")
				c.want(c.await(only), 200, " only")
				for _, length := range [][]string{nil, {"content-length: 0"}} {
					c.together(func() {
						only = c.open("POST", "/", false, length...)
						c.headers(only, true, "checksum: at once")
					})
					c.want(c.await(only), 200, " at once")
				}
			})
		})
	}
}

// Trailers beyond a limit are refused, as they are over HTTP/1. The handler must not see only a part of them.
func TestTrailersThatAreTooLarge(t *testing.T) {
	many := strings.Split(strings.Repeat("x-many: 1,", 30)+"x-last: 1", ",")
	large := []string{"x-large: " + strings.Repeat("x", 8<<10)}
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("StreamRequestBody=%v", streaming), func(t *testing.T) {
			onSites(t, func(w *site) {
				errs := make(chan error, 1)
				w.serve(&gallop.Server{StreamRequestBody: streaming, MaxHeaderFields: 20, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/alive" {
						return
					}
					r := ctx.RequestBodyStream()
					if r == nil {
						w.t.Errorf("the handler was called, with %d bytes", len(ctx.PostBody()))
						return
					}
					_, err := io.Copy(io.Discard, r)
					for name := range ctx.Request.Header.AllTrailers() {
						w.t.Errorf("the handler sees %s", name)
					}
					errs <- err
				}})
				c := w.dial()
				check := func(id uint32) {
					st := c.await(id)
					if st.head.status() == 431 {
						return
					}
					if err := await(w, errs); !streaming || err == nil || !strings.Contains(err.Error(), "trailer section is too large") {
						w.t.Errorf("stream %d: status %d; the handler gets %v", id, st.head.status(), err)
					}
				}
				for _, trailers := range [][]string{many, large} {
					for _, body := range []string{"", "body"} {
						for _, pause := range []time.Duration{0, time.Second} {
							id := c.open("POST", "/", false)
							if body != "" {
								c.data(id, body, false)
							}
							time.Sleep(pause)
							c.headers(id, true, trailers...)
							check(id)
						}
					}
					c.together(func() { c.headers(c.open("POST", "/", false), true, trailers...) })
					check(c.next - 2)
				}
				c.wantAlive()
			})
		})
	}
}

func TestTrailersOfResponses(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			h := &ctx.Response.Header
			if string(ctx.Path()) == "/unannounced" {
				h.AppendTrailer("Checksum", "abc")
				ctx.SetBodyString("body")
				return
			}
			if err := h.AddTrailer("Checksum"); err != nil {
				w.t.Error(err)
			}
			switch string(ctx.Path()) {
			case "/body":
				ctx.SetBodyString("body")
				h.Set("Checksum", "abc")
			case "/only":
				h.Set("Checksum", "abc")
			case "/reader":
				ctx.SetBodyStream(&setsTrailer{ctx: ctx}, -1)
			case "/stream":
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "body")
				s.Flush()
				h.Set("Checksum", "abc")
			case "/stream-only":
				ctx.StreamResponse()
				h.Set("Checksum", "abc")
			case "/stream-304":
				ctx.SetStatusCode(304)
				ctx.StreamResponse()
				h.Set("Checksum", "abc")
			}
		})
		c := w.dial()
		for path, body := range map[string]string{"/body": "body", "/only": "", "/reader": "body", "/stream": "body", "/stream-only": "", "/unannounced": "body"} {
			st := c.want(c.get(path), 200, body)
			if got := st.head.get("trailer") != ""; got != (path != "/unannounced") {
				w.t.Errorf("%s: head %v", path, st.head)
			}
			if got := st.trailers.get("checksum"); got != "abc" || len(st.trailers) != 1 {
				w.t.Errorf("%s: trailers %v", path, st.trailers)
			}
		}
		for _, st := range []*stream{ // that have no body
			c.want(c.do("HEAD", "/body", ""), 200, ""),
			c.want(c.do("HEAD", "/stream", ""), 200, ""),
			c.want(c.get("/stream-304"), 304, ""),
		} {
			if st.trailers != nil {
				w.t.Errorf("stream %d: trailers %v", st.id, st.trailers)
			}
		}
	})
}

// setsTrailer is a body that sets a trailer at its end.
type setsTrailer struct {
	ctx  *gallop.RequestCtx
	done bool
}

func (b *setsTrailer) Read(p []byte) (int, error) {
	if b.done {
		b.ctx.Response.Header.Set("Checksum", "abc")
		return 0, io.EOF
	}
	b.done = true
	return copy(p, "body"), nil
}

func TestInterimResponses(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Set("Link", "</a.css>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				w.t.Error(err)
			}
			ctx.Response.Header.Set("X-Progress", "50")
			if err := ctx.WriteInterim(102); err != nil {
				w.t.Error(err)
			}
			if err := ctx.WriteInterim(200); err == nil {
				w.t.Error("a final status was accepted")
			}
			time.Sleep(time.Second)
			ctx.SetBodyString("final")
		})
		c := w.dial()
		id := c.open("GET", "/", true)
		st := c.streams[id]
		c.until("interim responses", func() bool { return len(st.interims) == 2 && st.head == nil })
		if st.interims[0].status() != 103 || st.interims[0].get("link") == "" || st.interims[1].status() != 102 || st.interims[1].get("x-progress") != "50" {
			w.t.Errorf("interim responses %v", st.interims)
		}
		c.want(c.await(id), 200, "final")
	})
}

func TestExpectContinue(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/reads":
				time.Sleep(time.Second)
				ctx.SetBody(ctx.PostBody())
			default:
				ctx.SetBodyString("unread")
			}
		}})
		c := w.dial()
		id := c.open("POST", "/reads", false, "expect: 100-continue", "content-length: 4")
		st := c.streams[id]
		c.until("100", func() bool { return len(st.interims) == 1 && st.interims[0].status() == 100 })
		c.data(id, "body", true)
		c.want(c.await(id), 200, "body")

		id = c.open("POST", "/ignores", false, "expect: 100-continue", "content-length: 4")
		if st := c.want(c.awaitReset(id, http2.ErrCodeNo), 200, "unread"); len(st.interims) > 0 {
			w.t.Errorf("unread body: %v", st.interims)
		}

		id = c.open("POST", "/reads", false, "expect: 100-continue", "content-length: 4")
		c.data(id, "body", true) // without waiting
		c.want(c.await(id), 200, "body")
		if st := c.get("/", "expect: something"); st.head.status() != 417 {
			w.t.Errorf("another expectation: %v", st.head)
		}
		c.wantAlive()
	})
}

func TestExpectHandlers(t *testing.T) {
	onSites(t, func(w *site) {
		called := 0
		w.serve(&gallop.Server{
			ExpectHandler: func(ctx *gallop.RequestCtx) int {
				if string(ctx.Path()) == "/yes" {
					return 100
				}
				ctx.SetBodyString("refused")
				return 403
			},
			Handler: func(ctx *gallop.RequestCtx) {
				called++
				ctx.SetBody(ctx.PostBody())
			},
		})
		c := w.dial()
		id := c.open("POST", "/yes", false, "expect: 100-continue")
		st := c.streams[id]
		c.until("100", func() bool { return len(st.interims) == 1 })
		c.data(id, "body", true)
		c.want(c.await(id), 200, "body")
		id = c.open("POST", "/no", false, "expect: 100-continue")
		c.want(c.awaitReset(id, http2.ErrCodeNo), 403, "refused")
		if called != 1 {
			w.t.Errorf("%d calls of the handler", called)
		}
		c.wantAlive()
	})
}

func TestContinueHandler(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{
			ContinueHandler: func(h *gallop.RequestHeader) bool { return string(h.RequestURI()) == "/yes" },
			Handler:         echo,
		})
		c := w.dial()
		id := c.open("POST", "/yes", false, "expect: 100-continue")
		st := c.streams[id]
		c.until("100", func() bool { return len(st.interims) == 1 })
		c.data(id, "body", true)
		c.want(c.await(id), 200, "body")
		id = c.open("POST", "/no", false, "expect: 100-continue")
		if st := c.awaitReset(id, http2.ErrCodeNo); st.head.status() != 417 {
			w.t.Errorf("refused: %v", st.head)
		}
		c.wantAlive()
	})
}

// Hijack cannot work, and says so.
func TestHijack(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/hijack":
				ctx.Hijack(func(net.Conn) { w.t.Error("hijacked") })
			case "/conn":
				if _, err := ctx.HijackConn(); !errors.Is(err, errors.ErrUnsupported) {
					w.t.Errorf("HijackConn: %v", err)
				}
			}
		})
		c := w.dial()
		for range 3 {
			if st := c.get("/hijack"); st.head.status() != 501 {
				w.t.Errorf("status %d, want 501", st.head.status())
			}
		}
		c.want(c.get("/conn"), 200, "")
		if n := strings.Count(w.log.String(), "called Hijack"); n != 1 {
			w.t.Errorf("logged %d times:\n%s", n, w.log.String())
		}
	})
}

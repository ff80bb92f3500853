package http2_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// echo responds with the body of the request.
func echo(ctx *gallop.RequestCtx) { ctx.SetBody(ctx.PostBody()) }

// echoStream responds with the body of the request, which it reads as a stream.
func echoStream(ctx *gallop.RequestCtx) {
	body, err := io.ReadAll(ctx.RequestBodyStream())
	if err != nil {
		ctx.Error(err.Error(), gallop.StatusTeapot)
		return
	}
	ctx.SetBody(body)
}

func TestBodiesOfRequests(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: echo, MaxRequestBodySize: 200_000})
		c := w.dial()
		small, atLimit := "hello", strings.Repeat("0123456789", 20_000)
		c.want(c.do("POST", "/", small), 200, small)
		c.want(c.do("POST", "/", small, "content-length: 5"), 200, small)
		c.want(c.do("POST", "/", "", "content-length: 0"), 200, "")
		c.want(c.do("POST", "/", ""), 200, "")
		empty := c.open("POST", "/", false)
		c.data(empty, "", true)
		c.want(c.await(empty), 200, "")

		slow := c.open("POST", "/", false)
		for _, part := range []string{"a", "b", "c"} {
			time.Sleep(time.Second)
			c.data(slow, part, part == "c")
		}
		c.want(c.await(slow), 200, "abc")

		for _, announced := range []bool{false, true} {
			var lines []string
			if announced {
				lines = append(lines, fmt.Sprintf("content-length: %d", len(atLimit)))
			}
			id := c.open("POST", "/", false, lines...)
			c.trickle(id, atLimit, true)
			c.want(c.await(id), 200, atLimit)
		}
		c.wantAlive()
	})
}

// trickle sends a body in parts of 10 kB, so that the server can give credit.
func (c *client) trickle(id uint32, body string, end bool) {
	for len(body) > 10_000 {
		c.data(id, body[:10_000], false)
		body = body[10_000:]
		time.Sleep(time.Millisecond)
	}
	c.data(id, body, end)
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	onSites(t, func(w *site) {
		called := make(chan bool, 10)
		w.serve(&gallop.Server{MaxRequestBodySize: 1000, Handler: func(ctx *gallop.RequestCtx) {
			called <- string(ctx.Path()) == "/alive"
		}})
		c := w.dial()
		tooLarge := strings.Repeat("x", 1001)
		announced := c.open("POST", "/", false, "content-length: 1001")
		if st := c.awaitReset(announced, http2.ErrCodeNo); st.head.status() != 413 || !st.ended {
			w.t.Errorf("announced: %+v", st)
		}
		found := c.open("POST", "/", false)
		c.data(found, tooLarge, false)
		if st := c.awaitReset(found, http2.ErrCodeNo); st.head.status() != 413 || !st.ended {
			w.t.Errorf("found: %+v", st)
		}
		if st := c.do("POST", "/", tooLarge); st.head.status() != 413 {
			w.t.Errorf("complete: %+v", st)
		}
		c.wantAlive()
		if alive := <-called; !alive || len(called) > 0 {
			w.t.Error("the handler was called")
		}
	})
}

func TestBodiesThatTheHandlerReads(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: echoStream, StreamRequestBody: true, MaxRequestBodySize: 10})
		c := w.dial()
		c.want(c.do("POST", "/", "hello"), 200, "hello")
		id := c.open("POST", "/", false)
		for i := range 10 {
			time.Sleep(time.Second)
			c.data(id, strings.Repeat("x", 1000), i == 9)
		}
		c.want(c.await(id), 200, strings.Repeat("x", 10_000))
		large := strings.Repeat("0123456789", 50_000)
		id = c.open("POST", "/", false)
		c.trickle(id, large, true)
		c.want(c.await(id), 200, large)
		c.wantAlive()
	})
}

// The read that returns the last bytes also reports the end, if the request is complete, and then the trailers are there.
func TestLastBytesEndTheBody(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			body, buf := ctx.RequestBodyStream(), make([]byte, 4)
			time.Sleep(time.Second) // until the request is complete
			for range 4 {
				n, err := body.Read(buf)
				fmt.Fprintf(ctx, "%q %v %q; ", buf[:n], err, ctx.Request.Header.PeekTrailer("X-Sum"))
			}
		}})
		c := w.dial()
		id := c.open("POST", "/", false)
		c.data(id, "hello", false)
		c.headers(id, true, "x-sum: 1")
		c.want(c.await(id), 200, `"hell" <nil> ""; "o" EOF "1"; "" EOF "1"; "" EOF "1"; `)
	})
}

// A client that has used up the window gets credit only when the handler reads.
func TestCreditComesWhenTheHandlerReads(t *testing.T) {
	onSites(t, func(w *site) {
		read, started := make(chan bool), make(chan bool, 1)
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			started <- true
			<-read
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n, err)
		}})
		c := w.dial()
		id := c.open("POST", "/", false)
		c.data(id, strings.Repeat("x", 65_535), false)
		await(w, started)
		time.Sleep(time.Second)
		if c.creditOf(id) != 0 {
			w.t.Error("credit before the handler reads")
		}
		close(read)
		c.until("credit", func() bool { return c.windows[id] > 0 })
		c.data(id, "more", true)
		c.want(c.await(id), 200, fmt.Sprint(65_535+4, error(nil)))
	})
}

// A response that does not wait for the body is followed by a reset without an error.
func TestBodiesThatTheHandlerDoesNotRead(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("StreamResponse=%v", streaming), func(t *testing.T) {
			onSites(t, func(w *site) {
				w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
					if !streaming {
						ctx.SetBodyString("unread")
						return
					}
					s, err := ctx.StreamResponse()
					if err != nil {
						w.t.Error(err)
					}
					io.WriteString(s, "unread")
				}})
				c := w.dial()
				id := c.open("POST", "/", false)
				c.data(id, "some", false)
				c.want(c.awaitReset(id, http2.ErrCodeNo), 200, "unread")
				c.data(id, "late", true) // which the server ignores
				c.wantAlive()
			})
		})
	}
}

// A body that is cut off by its client is an error of the handler's reads.
func TestBodiesThatAreCutOff(t *testing.T) {
	onSites(t, func(w *site) {
		errs := make(chan error, 1)
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/cut" {
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				errs <- err
			}
		}})
		c := w.dial()
		id := c.open("POST", "/cut", false)
		c.data(id, "some", false)
		time.Sleep(time.Second)
		c.reset(id)
		if err := await(w, errs); !errors.Is(err, io.ErrUnexpectedEOF) {
			w.t.Errorf("after a reset: %v", err)
		}
		c.wantAlive()
		id = c.open("POST", "/cut", false)
		c.data(id, "some", false)
		time.Sleep(time.Second)
		c.nc.Close()
		if err := await(w, errs); !errors.Is(err, io.ErrUnexpectedEOF) {
			w.t.Errorf("after the end of the connection: %v", err)
		}
	})
}

// A body that is shorter or longer than its Content-Length resets its stream.
func TestBodiesThatDoNotMatchContentLength(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: echo})
		c := w.dial()
		for _, body := range []string{"four", "sixsix"} {
			id := c.open("POST", "/", false, "content-length: 5")
			c.data(id, body, true)
			c.awaitReset(id, http2.ErrCodeProtocol)
		}
		c.wantAlive()
	})
}

// A handler may begin its response while another goroutine reads the body. The race detector looks on.
func TestBeginResponseWhileReading(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			body, read := ctx.RequestBodyStream(), make(chan string)
			go func() {
				all, _ := io.ReadAll(body)
				read <- string(all)
			}()
			time.Sleep(time.Second) // until that goroutine waits
			s, _ := ctx.StreamResponse()
			io.WriteString(s, <-read)
		}})
		c := w.dial()
		id := c.open("POST", "/", false)
		time.Sleep(2 * time.Second)
		c.data(id, "body", true)
		c.want(c.await(id), 200, "body")
	})
}

// If a handler replaces the body by a stream that reads it, the limit of the body applies to that stream.
func TestStreamsThatReplaceBodies(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxRequestBodySize: 10, Handler: func(ctx *gallop.RequestCtx) {
			body := ctx.RequestBodyStream() // not read yet, because of Expect
			if body == nil {
				return
			}
			longer := io.MultiReader(body, strings.NewReader("-tail"))
			if string(ctx.Path()) == "/reader" { // one that cannot write itself
				longer = struct{ io.Reader }{longer}
			}
			ctx.Request.SetBodyStream(longer, -1)
			ctx.SetBody(ctx.PostBody())
			ctx.SetBodyString(fmt.Sprint(string(ctx.Response.Body()), " ", ctx.Request.BodyErr()))
		}})
		c := w.dial()
		for _, path := range []string{"/reader", "/writer"} {
			for body, want := range map[string]string{"1234": "1234-tail <nil>", "12345678": " " + gallop.ErrBodyTooLarge.Error()} {
				id := c.open("POST", path, false, "expect: 100-continue")
				time.Sleep(time.Second)
				c.data(id, body, true)
				c.want(c.await(id), 200, want)
			}
		}
		c.wantAlive()
	})
}

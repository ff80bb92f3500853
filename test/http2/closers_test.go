package http2_test

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// endless is a body of n bytes that counts how often it is closed.
type endless struct {
	left   int
	closed *atomic.Int32
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	e.left -= n
	return n, nil
}

// Close implements io.Closer. It is also what user values do at the end of a request.
func (e *endless) Close() error {
	e.closed.Add(1)
	return nil
}

// The server closes body streams and user values once, however the stream ends.
func TestClosedOnce(t *testing.T) {
	onSites(t, func(w *site) {
		var bodies, values, disconnects atomic.Int32
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			ctx.OnDisconnect(func(error) { disconnects.Add(1) })
			ctx.SetUserValue("value", &endless{closed: &values})
			body := &endless{left: 100_000, closed: &bodies}
			switch string(ctx.Path()) {
			case "/short":
				ctx.SetBodyStream(body, 200_000)
			case "/no-content":
				ctx.SetBodyStream(body, -1)
				ctx.SetStatusCode(204)
			case "/panic":
				ctx.SetBodyStream(body, -1)
				panic("on purpose")
			case "/replaced":
				ctx.SetBodyStream(body, -1)
				ctx.SetBodyString("replaced")
			default:
				ctx.SetBodyStream(body, 100_000)
			}
		})
		for _, tt := range []struct {
			path, method string
			end          func(c *client, id uint32) // nil if the response ends by itself
			told         int32                      // calls of OnDisconnect's function
		}{
			{path: "/whole"},
			{path: "/whole", method: "HEAD"},
			{path: "/no-content"},
			{path: "/panic"},
			{path: "/replaced"},
			{path: "/short"},
			{path: "/reset", end: func(c *client, id uint32) { c.reset(id) }, told: 1},
			{path: "/stalled", end: func(*client, uint32) { time.Sleep(33 * time.Minute) }}, // 30 s for each KiB without credit
			{path: "/lost", end: func(c *client, _ uint32) { c.nc.Close() }, told: 1},
		} {
			c := w.dial()
			c.hold = tt.end != nil
			method := tt.method
			if method == "" {
				method = "GET"
			}
			id := c.open(method, tt.path, true)
			if tt.end == nil {
				c.await(id)
			} else {
				c.awaitBody(id, 65_535)
				tt.end(c, id)
			}
			time.Sleep(time.Minute)
			if b, v, d := bodies.Swap(0), values.Swap(0), disconnects.Swap(0); b != 1 || v != 1 || d != tt.told {
				w.t.Errorf("%s %s: body closed %d times, user value %d times, disconnect told %d times", method, tt.path, b, v, d)
			}
			c.nc.Close()
		}
	})
}

// A handler in the middle of a response can be left behind: its stream is reset, and its writes fail.
func TestTimeoutOfAStartedResponse(t *testing.T) {
	onSites(t, func(w *site) {
		errs := make(chan error, 1)
		w.handle(gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/late" {
				return
			}
			s, err := ctx.StreamResponse()
			if err != nil {
				w.t.Error(err)
			}
			for err == nil {
				time.Sleep(time.Second)
				if _, err = s.Write(make([]byte, 30_000)); err == nil {
					err = s.Flush()
				}
			}
			errs <- err
		}, 10500*time.Millisecond, "timed out"))
		c := w.dial()
		c.hold = true // so that the handler waits in a write when its time is over
		begun := time.Now()
		id := c.open("GET", "/late", true)
		if st := c.awaitReset(id, http2.ErrCodeCancel); st.head.status() != 200 || st.ended || len(st.body) != 65_535 {
			w.t.Errorf("%v, %d bytes, ended %v", st.head, len(st.body), st.ended)
		}
		if err := await(w, errs); err == nil || time.Since(begun) > 12*time.Second {
			w.t.Errorf("%v after %v", err, time.Since(begun))
		}
		c.credit(0, 65_535)
		c.wantAlive()
	})
}

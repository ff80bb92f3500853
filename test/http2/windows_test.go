package http2_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A large response goes through a tiny window, in frames that fit.
func TestTinyWindows(t *testing.T) {
	const window = 1000
	large := bytes.Repeat([]byte("0123456789abcdef"), 3_000_000/16)
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/body":
				ctx.SetBody(large)
				ctx.Response.Header.SetTrailer("Checksum")
				ctx.Response.Header.Set("Checksum", "abc")
			case "/reader":
				ctx.SetBodyStream(bytes.NewReader(large), -1)
			case "/stream":
				s, _ := ctx.StreamResponse()
				io.Copy(s, bytes.NewReader(large))
			}
		})
		for _, path := range []string{"/body", "/reader", "/stream"} {
			c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
			st := c.get(path)
			if !st.ended || st.code != nil || !bytes.Equal(st.body, large) || st.frames < len(large)/window {
				w.t.Errorf("%s: %d bytes in %d frames, ended %v, code %v", path, len(st.body), st.frames, st.ended, st.code)
			}
			if got := st.trailers.get("checksum"); path == "/body" && got != "abc" {
				w.t.Errorf("trailer %q", got)
			}
			c.wantAlive()
		}
	})
}

// A client changes the windows of responses that wait, by SETTINGS. They can become negative.
func TestWindowsThatSettingsChange(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) { ctx.SetBodyString("0123456789") })
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4})
		c.hold = true
		id := c.open("GET", "/", true)
		c.awaitBody(id, 4)
		set := func(n uint32) {
			c.send(func() error { return c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n}) })
		}
		set(0) // four bytes less than nothing
		c.credit(id, 5)
		c.awaitBody(id, 5)
		set(3)
		if st := c.awaitBody(id, 8); string(st.body) != "01234567" || st.ended {
			w.t.Errorf("%q, ended %v", st.body, st.ended)
		}
		set(100)
		c.want(c.await(id), 200, "0123456789")
	})
}

// The connection's window is shared: a stream that waits for it goes on when there is credit for the connection alone.
func TestWindowOfTheConnection(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) { ctx.SetBody(make([]byte, 40_000)) })
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		c.hold = true
		first, second := c.open("GET", "/", true), c.open("GET", "/", true)
		c.until("a full window", func() bool { return len(c.streams[first].body)+len(c.streams[second].body) == 65_535 })
		c.send(func() error { return c.fr.WriteWindowUpdate(0, 80_000) })
		for _, id := range []uint32{first, second} {
			c.want(c.await(id), 200, string(make([]byte, 40_000)))
		}
		c.want(c.get("/"), 200, string(make([]byte, 40_000)))
	})
}

// The window of a body grows while its handler reads as fast as the body arrives, up to 1 MiB. A handler that does not read gets
// no more than the first window.
func TestWindowsOfStreamedBodies(t *testing.T) {
	const first, most, total = 65_535, 1 << 20, 3 << 20
	piece := strings.Repeat("0123456789abcdef", 1000)
	onSites(t, func(w *site) {
		stop := make(chan struct{})
		w.serve(&gallop.Server{StreamRequestBody: true, PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/stopped" {
				<-stop
			}
			body, err := io.ReadAll(ctx.RequestBodyStream())
			if want := strings.Repeat(piece, len(body)/len(piece)); err != nil || string(body) != want {
				w.t.Errorf("read %d bytes, %v", len(body), err)
			}
			fmt.Fprint(ctx, len(body))
		}})
		c := w.dial()
		id, sent, open := c.open("POST", "/read", false), 0, 0
		for sent+len(piece) <= total {
			c.until("credit", func() bool {
				open = max(open, first+int(c.windows[id])-sent)
				return sent+len(piece) <= first+int(c.windows[id])
			})
			c.data(id, piece, false)
			sent += len(piece)
		}
		c.data(id, "", true)
		c.want(c.await(id), 200, fmt.Sprint(sent))
		if open < most/2 || open > most {
			w.t.Errorf("the window was %d bytes at most", open)
		}
		id = c.open("POST", "/stopped", false)
		for range first / len(piece) {
			c.data(id, piece, false)
		}
		c.wantAlive()
		if n := c.creditOf(id); n != 0 {
			w.t.Errorf("%d bytes of credit for a body that nobody reads", n)
		}
		close(stop)
		c.data(id, "", true)
		c.want(c.await(id), 200, fmt.Sprint(first/len(piece)*len(piece)))
	})
}

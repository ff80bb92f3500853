package http2_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Each path is a way to make a response. The client learns its body, and its length if that is known beforehand.
func TestWaysToRespond(t *testing.T) {
	dir := t.TempDir()
	file := strings.Repeat("0123456789", 10_000)
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := &gallop.FS{Root: dir, AcceptByteRange: true}
	handlers := map[string]gallop.RequestHandler{
		"/body":  func(ctx *gallop.RequestCtx) { ctx.SetBodyString("body") },
		"/empty": func(ctx *gallop.RequestCtx) {},
		"/stream": func(ctx *gallop.RequestCtx) {
			s, err := ctx.StreamResponse()
			if err != nil {
				panic(err)
			}
			for range 3 {
				io.WriteString(s, "part,")
				s.Flush()
				time.Sleep(time.Second)
			}
		},
		"/stream-sized": func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.SetContentLength(5)
			s, _ := ctx.StreamResponse()
			io.WriteString(s, "sized")
		},
		"/stream-empty": func(ctx *gallop.RequestCtx) { ctx.StreamResponse() },
		"/writer": func(ctx *gallop.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 3 {
					io.WriteString(w, "part,")
					w.Flush()
					time.Sleep(time.Second)
				}
			})
		},
		"/reader":       func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader(file), -1) },
		"/reader-sized": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader(file), len(file)) },
		"/echo":         func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(bytes.NewReader(ctx.PostBody()), len(ctx.PostBody())) },
		"/serve-file":   func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, filepath.Join(dir, "file.txt")) },
		"/file.txt":     fs.NewRequestHandler(),
	}
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) { handlers[string(ctx.Path())](ctx) })
		c := w.dial()
		for _, tt := range []struct {
			path, body, length string
			lines              []string
			status             int
		}{
			{path: "/body", body: "body", length: "4"},
			{path: "/empty", length: "0"},
			{path: "/stream", body: "part,part,part,"},
			{path: "/stream-sized", body: "sized", length: "5"},
			{path: "/stream-empty"},
			{path: "/writer", body: "part,part,part,"},
			{path: "/reader", body: file},
			{path: "/reader-sized", body: file, length: "100000"},
			{path: "/serve-file", body: file, length: "100000"},
			{path: "/file.txt", body: file, length: "100000"},
			{path: "/file.txt", body: file[50:60], length: "10", lines: []string{"range: bytes=50-59"}, status: 206},
			{path: "/file.txt", body: file[99_990:], length: "10", lines: []string{"range: bytes=-10"}, status: 206},
		} {
			status := max(tt.status, 200)
			if got := c.want(c.get(tt.path, tt.lines...), status, tt.body).head.get("content-length"); got != tt.length {
				w.t.Errorf("%s: content-length %q, want %q", tt.path, got, tt.length)
			}
			if tt.status == 206 { // only of GET
				continue
			}
			head := c.want(c.do("HEAD", tt.path, ""), status, "")
			if got := head.head.get("content-length"); got != tt.length && tt.path != "/empty" {
				w.t.Errorf("HEAD %s: content-length %q, want %q", tt.path, got, tt.length)
			}
			if head.frames > 1 || head.head.has("transfer-encoding") {
				w.t.Errorf("HEAD %s: %d frames of DATA, %v", tt.path, head.frames, head.head)
			}
		}
		c.want(c.do("POST", "/echo", "echoed"), 200, "echoed")
	})
}

// A stream's parts arrive when they are flushed, not at the end.
func TestStreamedPartsArriveAtOnce(t *testing.T) {
	onSites(t, func(w *site) {
		next := make(chan bool)
		w.handle(func(ctx *gallop.RequestCtx) {
			s, _ := ctx.StreamResponse()
			for range 3 {
				io.WriteString(s, "part")
				s.Flush()
				<-next
			}
		})
		c := w.dial()
		id := c.open("GET", "/", true)
		for i := range 3 {
			c.awaitBody(id, 4*(i+1))
			next <- true
		}
		c.want(c.await(id), 200, "partpartpart")
	})
}

// A body that does not have its announced length is an error that the client sees.
func TestBodiesOfTheWrongLength(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/stream":
				ctx.Response.Header.SetContentLength(10)
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "short")
			case "/reader":
				ctx.SetBodyStream(strings.NewReader("short"), 10)
			case "/fails":
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("some"), failing{}), -1)
			case "/long":
				ctx.Response.Header.SetContentLength(3)
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "long")
				if err := s.Flush(); err == nil {
					w.t.Error("too long a body was accepted")
				}
			}
		})
		c := w.dial()
		for _, path := range []string{"/stream", "/reader", "/fails", "/long"} {
			if st := c.awaitReset(c.open("GET", path, true), http2.ErrCodeInternal); st.ended {
				w.t.Errorf("%s has ended well", path)
			}
		}
		c.wantAlive()
	})
}

// If a body fails before its first byte, the client gets a 500, as over HTTP/1. A head that was sent cannot be taken back.
func TestBodiesThatFailAtOnce(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Set("X-Of", "the response")
			switch string(ctx.Path()) {
			case "/reader":
				ctx.SetBodyStream(failing{}, -1)
			case "/short":
				ctx.SetBodyStream(strings.NewReader(""), 10)
			case "/writer":
				ctx.SetBodyStreamWriter(func(*bufio.Writer) { panic("on purpose") })
			case "/sent":
				ctx.Response.ImmediateHeaderFlush = true
				ctx.SetBodyStream(failing{}, -1)
			case "/echo":
				ctx.SetBodyStream(io.MultiReader(ctx.RequestBodyStream(), failing{}), -1)
			}
		}})
		c := w.dial()
		for _, path := range []string{"/reader", "/short", "/writer"} {
			st := c.want(c.get(path), 500, "Internal Server Error")
			if st.head.has("x-of") {
				w.t.Errorf("%s: a header of the response that failed: %v", path, st.head)
			}
		}
		if st := c.awaitReset(c.open("GET", "/sent", true), http2.ErrCodeInternal); st.head.status() != 200 {
			w.t.Errorf("head %v", st.head)
		}
		id := c.open("POST", "/echo", false) // the client may wait for the head before it sends the body
		c.until("the head", func() bool { return c.streams[id].head != nil })
		c.data(id, "body", true)
		if st := c.awaitReset(id, http2.ErrCodeInternal); string(st.body) != "body" || st.head.status() != 200 {
			w.t.Errorf("%v, body %q", st.head, st.body)
		}
		c.wantAlive()
	})
}

// failing is a Reader that fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("broken on purpose") }

// Large responses fit through small windows, and others of the connection go on meanwhile.
func TestLargeResponses(t *testing.T) {
	size := 2 << 20 // which takes as many windows as a test needs
	if wiretest.Full() && !servertest.RaceEnabled {
		size = 20 << 20
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/body":
				ctx.SetBody(large)
			case "/reader":
				ctx.SetBodyStream(bytes.NewReader(large), len(large))
			case "/stream":
				s, _ := ctx.StreamResponse()
				s.Write(large)
			}
		})
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 60_000})
		var ids []uint32
		for _, path := range []string{"/body", "/reader", "/stream"} {
			ids = append(ids, c.open("GET", path, true))
		}
		c.wantAlive()
		for _, id := range ids {
			if st := c.await(id); !bytes.Equal(st.body, large) {
				w.t.Errorf("stream %d: %d bytes, want %d, code %v", id, len(st.body), len(large), st.code)
			}
		}
	})
}

// Without credit from the client, a response of each kind waits. It goes on when there is credit.
func TestResponsesThatWaitForCredit(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/body":
				ctx.SetBodyString("0123456789")
			case "/reader":
				ctx.SetBodyStream(strings.NewReader("0123456789"), -1)
			case "/stream":
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "0123456789")
			case "/trailers":
				ctx.SetBodyString("0123456789")
				if err := ctx.Response.Header.SetTrailer("Checksum"); err != nil {
					w.t.Error(err)
				}
				ctx.Response.Header.Set("Checksum", "abc")
			}
		})
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4})
		c.hold = true
		for _, path := range []string{"/body", "/reader", "/stream", "/trailers"} {
			id := c.open("GET", path, true)
			c.awaitBody(id, 4)
			time.Sleep(10 * time.Second)
			if st := c.awaitBody(id, 4); string(st.body) != "0123" || st.ended {
				w.t.Errorf("%s: %q, ended %v", path, st.body, st.ended)
			}
			c.credit(id, 1)
			c.awaitBody(id, 5)
			c.credit(id, 100)
			if st := c.want(c.await(id), 200, "0123456789"); path == "/trailers" && st.trailers.get("checksum") != "abc" {
				w.t.Errorf("trailers %v", st.trailers)
			}
		}
	})
}

// Responses that have no content have none on a stream either.
func TestResponsesWithoutContent(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/204":
				ctx.SetStatusCode(204)
				ctx.SetBodyString("body")
			case "/304":
				ctx.SetStatusCode(304)
				ctx.SetBodyString("body")
			case "/205":
				ctx.SetStatusCode(205)
				ctx.SetBodyString("body")
			case "/204-stream":
				ctx.SetStatusCode(204)
				s, _ := ctx.StreamResponse()
				s.Flush()
			}
		})
		c := w.dial()
		for path, status := range map[string]int{"/204": 204, "/304": 304, "/205": 205, "/204-stream": 204} {
			st := c.want(c.get(path), status, "")
			if status == 204 && st.head.has("content-length") {
				w.t.Errorf("%s: %v", path, st.head)
			}
		}
	})
}

// Headers that belong to a connection of HTTP/1 are left out.
func TestHeadersOfResponses(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			h := &ctx.Response.Header
			h.Set("Keep-Alive", "timeout=5")
			h.Set("Proxy-Connection", "keep-alive")
			h.Set("Transfer-Encoding", "chunked")
			h.Set("Upgrade", "websocket")
			h.Set("X-Own", "value")
			h.Add("X-Twice", "1")
			h.Add("X-Twice", "2")
			var cookie gallop.Cookie
			cookie.SetKey("name")
			cookie.SetValue("value")
			h.SetCookie(&cookie)
		})
		c := w.dial()
		st := c.want(c.get("/"), 200, "")
		for _, name := range []string{"keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "connection"} {
			if st.head.has(name) {
				w.t.Errorf("%s was sent", name)
			}
		}
		for name, want := range map[string]string{"x-own": "value", "set-cookie": "name=value", "server": "gallop", "x-twice": "1"} {
			if got := st.head.get(name); got != want {
				w.t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if !st.head.has("date") {
			w.t.Error("no date")
		}
	})
}

// Responses are compressed as over HTTP/1.
func TestCompressedResponses(t *testing.T) {
	text := strings.Repeat("compress me ", 1000)
	onSites(t, func(w *site) {
		w.handle(gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				ctx.SetBodyStream(strings.NewReader(text), -1)
				return
			}
			ctx.SetBodyString(text)
		}))
		c := w.dial()
		for _, path := range []string{"/", "/stream"} {
			st := c.get(path, "accept-encoding: gzip")
			body, err := gallop.AppendGunzipBytes(nil, st.body)
			if st.head.get("content-encoding") != "gzip" || string(body) != text || err != nil {
				w.t.Errorf("%s: %v, %d bytes, %v", path, st.head, len(body), err)
			}
		}
	})
}

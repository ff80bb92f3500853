package http2_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A response that would mislead the client is replaced, whether the handler streams it or not.
func TestMisleadingResponses(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/interim":
				ctx.SetStatusCode(103)
			case "/skip":
				ctx.SetBodyString("skipped")
				ctx.Response.SkipBody = true
			}
			if ctx.QueryArgs().Has("stream") {
				s, err := ctx.StreamResponse()
				if err != nil || !ctx.Streaming() {
					w.t.Errorf("%v, streaming %v", err, ctx.Streaming())
				}
				if again, err := ctx.StreamResponse(); again != s || err != nil {
					w.t.Errorf("another stream, or %v", err)
				}
				io.WriteString(s, "streamed")
			}
		})
		c := w.dial()
		for path, want := range map[string]string{
			"/interim": "500 Internal Server Error", "/interim?stream": "500 Internal Server Error", "/skip": "200 ", "/skip?stream": "200 streamed", "/?stream": "200 streamed",
		} {
			if st := c.get(path); fmt.Sprintf("%d %s", st.head.status(), st.body) != want || st.code != nil {
				w.t.Errorf("%s: %d %s, code %v, want %s", path, st.head.status(), st.body, st.code, want)
			}
		}
		if st := c.await(c.openRaw(true, ":method: CONNECT", ":authority: example.com:443")); st.head.status() != 501 {
			w.t.Errorf("CONNECT: %v, code %v", st.head, st.code)
		}
		synctest.Wait()
		if n := strings.Count(w.log.String(), "answered 103"); n != 2 {
			w.t.Errorf("logged %d times: %s", n, w.log.String())
		}
		c.wantAlive()
	})
}

// Settings of the server for headers and time apply.
func TestUnusualSettings(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{
			NoDefaultContentType: true, NoDefaultDate: true, NoDefaultServerHeader: true,
			HeaderReceived: func(*gallop.RequestHeader) gallop.RequestConfig {
				return gallop.RequestConfig{WriteTimeout: 5 * time.Second}
			},
			Handler: func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) == "/" {
					ctx.SetBody(make([]byte, 100))
				}
			},
		})
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		c.hold = true
		begun := time.Now()
		id := c.open("GET", "/", true)
		c.until("a reset", func() bool { return c.streams[id].code != nil })
		w.between(begun, "the reset", 5*time.Second, 8*time.Second)
		if head := c.streams[id].head; head.has("content-type") || head.has("date") || head.has("server") {
			w.t.Errorf("%v", head)
		}
		c.wantAlive()
	})
}

// More requests than MaxConcurrentRequests get the response of the ErrorHandler. If that panics, they get 500.
func TestErrorHandlerOfManyRequests(t *testing.T) {
	for panics, want := range map[bool]string{false: "503 own", true: "500 Internal Server Error"} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			onSites(t, func(w *site) {
				release := make(chan bool)
				w.serve(&gallop.Server{MaxConcurrentRequests: 1,
					Handler: func(*gallop.RequestCtx) { <-release },
					ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
						if !errors.Is(err, gallop.ErrRequestLimit) {
							w.t.Error(err)
						}
						if ctx.SetBodyString("own"); panics {
							panic("on purpose")
						}
					},
				})
				c := w.dial()
				first := c.open("GET", "/", true)
				time.Sleep(time.Second)
				st := c.get("/")
				close(release)
				if got := fmt.Sprintf("%d %s", st.head.status(), st.body); got != want {
					w.t.Errorf("%s, want %s", got, want)
				}
				c.want(c.await(first), 200, "")
			})
		})
	}
}

// A client that waits for 100 learns of it before the handler is called if the program decides. If the body is missing anyway, the
// request is refused.
func TestExpectations(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxRequestBodySize: 10,
			ExpectHandler: func(ctx *gallop.RequestCtx) int {
				if string(ctx.Path()) == "/streams" {
					s, err := ctx.StreamResponse()
					if err != nil {
						w.t.Error(err)
					}
					io.WriteString(s, "streamed")
				}
				return 100
			},
			Handler: echo,
		})
		c := w.dial()
		c.want(c.get("/", "expect: 100-continue"), 200, "") // there is no body
		for path, want := range map[string]string{"/streams": "200 streamed", "/": "413 Request Entity Too Large"} {
			st := c.awaitReset(c.open("POST", path, false, "expect: 100-continue", "content-length: 11"), http2.ErrCodeNo)
			if got := fmt.Sprintf("%d %s", st.head.status(), st.body); got != want || len(st.interims) > 0 {
				w.t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		c.wantAlive()
	})
}

// If the handler asks for a body that does not come, or is too large, it sees none, and the request is refused.
func TestBodiesThatNeverCome(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxRequestBodySize: 10, Handler: func(ctx *gallop.RequestCtx) {
			if len(ctx.PostBody()) > 0 {
				w.t.Errorf("body %q", ctx.PostBody())
			}
		}})
		c := w.dial()
		id := c.open("POST", "/", false, "expect: 100-continue")
		c.until("100", func() bool { return len(c.streams[id].interims) == 1 })
		c.data(id, "more than ten bytes", true)
		if st := c.await(id); st.head.status() != 413 {
			w.t.Errorf("too large: %v", st.head)
		}
		id = c.open("POST", "/", false, "expect: 100-continue")
		if st := c.awaitReset(id, http2.ErrCodeNo); st.head.status() != 408 {
			w.t.Errorf("too slow: %v", st.head)
		}
		c.wantAlive()
	})
}

// A TRACE request with content is refused, even if TRACE is allowed.
func TestTraceWithContent(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{AllowTrace: true, Handler: func(*gallop.RequestCtx) { w.t.Error("the handler was called") }})
		c := w.dial()
		if st := c.do("TRACE", "/", "body"); st.head.status() != 400 {
			w.t.Errorf("%v", st.head)
		}
	})
}

// A stream is copied from a reader, from a file, and from a part of a file.
func TestCopiesToStreams(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	text := strings.Repeat("0123456789", 10_000)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			file, err := os.Open(name)
			if err != nil {
				panic(err)
			}
			defer file.Close()
			if string(ctx.Path()) == "/sized" {
				ctx.Response.Header.SetContentLength(len(text))
			}
			s, err := ctx.StreamResponse()
			if err != nil {
				w.t.Error(err)
			}
			var from io.Reader
			switch string(ctx.Path()) {
			case "/reader":
				from = struct{ io.Reader }{strings.NewReader(text)}
			case "/file", "/sized":
				from = file
			case "/part":
				from = io.LimitReader(file, 10)
			case "/fails":
				from = io.MultiReader(strings.NewReader("some"), failing{})
			case "/idles":
				from = bored{}
			}
			n, err := s.ReadFrom(from)
			if failed := string(ctx.Path()) == "/fails" || string(ctx.Path()) == "/idles"; failed != (err != nil) {
				w.t.Errorf("%s: %d bytes, %v", ctx.Path(), n, err)
			}
			if n, err := s.Write(nil); n != 0 || err != nil {
				w.t.Errorf("an empty write: %d, %v", n, err)
			}
		})
		c := w.dial()
		for path, want := range map[string]string{"/reader": text, "/file": text, "/sized": text, "/part": text[:10], "/fails": "some", "/idles": ""} {
			c.want(c.get(path), 200, want)
		}
	})
}

// bored is a Reader that never has anything.
type bored struct{}

func (bored) Read([]byte) (int, error) { return 0, nil }

// A body stream that writes itself, that never has bytes, or whose client has no room does what its reader does.
func TestBodyStreamsThatMisbehave(t *testing.T) {
	onSites(t, func(w *site) {
		var kept io.Writer
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/bored":
				ctx.SetBodyStream(bored{}, -1)
			case "/panics":
				ctx.SetBodyStream(panicking{}, -1)
			case "/writes":
				ctx.SetBodyStream(&writesItself{&kept}, -1)
			case "/bytes":
				ctx.SetBodyStream(iotest.OneByteReader(strings.NewReader("one by one")), -1)
			case "/fails":
				ctx.SetBodyStreamWriter(func(b *bufio.Writer) {
					io.WriteString(b, "some")
					b.Flush()
					panic("on purpose")
				})
			}
		})
		c := w.dial()
		c.want(c.get("/panics"), 500, "Internal Server Error")
		for _, path := range []string{"/bored", "/fails"} {
			c.awaitReset(c.open("GET", path, true), http2.ErrCodeInternal)
		}
		c.want(c.get("/writes"), 200, "written")
		if _, err := kept.Write([]byte("late")); err == nil {
			w.t.Error("a body can be written to after its end")
		}
		c.want(c.get("/bytes"), 200, "one by one")
		c.wantAlive()
	})
}

// panicking is a Reader that panics.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("on purpose") }

// writesItself is a body that the server has write itself. It keeps the Writer.
type writesItself struct{ kept *io.Writer }

func (*writesItself) Read([]byte) (int, error)  { panic("read") }
func (*writesItself) SupportsBodyWriteTo() bool { return true }
func (b *writesItself) WriteTo(w io.Writer) (int64, error) {
	*b.kept = w
	return io.Copy(w, bytes.NewReader([]byte("written")))
}

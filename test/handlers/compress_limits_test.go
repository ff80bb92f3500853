package handlers_test

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestCompressionSwitchedOff sets each switch before a handler of FS runs, inside and outside CompressHandler.
func TestCompressionSwitchedOff(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, "page"+strconv.Itoa(i)+".html"), longText)
	}
	files := (&gallop.FS{Root: dir, GenerateIndexPages: true, Compress: true}).NewRequestHandler()
	plain := (&gallop.FS{Root: dir, GenerateIndexPages: true}).NewRequestHandler()
	for _, off := range [][2]string{
		{"Content-Encoding", "identity"}, {"Content-Encoding", "Identity"},
		{"Cache-Control", "no-transform"}, {"Cache-Control", "private, No-Transform, max-age=0"},
	} {
		for name, wrap := range map[string]func(before gallop.RequestHandler) gallop.RequestHandler{
			"FS": func(before gallop.RequestHandler) gallop.RequestHandler { return inTurn(before, files) },
			"CompressHandler": func(before gallop.RequestHandler) gallop.RequestHandler {
				return gallop.CompressHandler(inTurn(before, plain))
			},
			"both": func(before gallop.RequestHandler) gallop.RequestHandler {
				return gallop.CompressHandler(inTurn(before, files))
			},
		} {
			for _, path := range []string{"/", "/page1.html"} {
				for _, body := range []string{"", "a body that is replaced"} {
					t.Run(name+path+off[1]+body, func(t *testing.T) {
						before := func(ctx *gallop.RequestCtx) {
							ctx.SetBodyString(body)
							ctx.Response.Header.Set(off[0], off[1])
						}
						resp := serveOnce(t, wrap(before), "GET", path, "Accept-Encoding: gzip, br, zstd")
						if got := peek(resp, "Content-Encoding"); got != "" && !strings.EqualFold(got, "identity") {
							t.Errorf("Content-Encoding %q, Cache-Control %q", got, peek(resp, "Cache-Control"))
						}
						if !bytes.Contains(resp.Body(), []byte("gallop")) && !bytes.Contains(resp.Body(), []byte("page49.html")) {
							t.Errorf("body of %d bytes", len(resp.Body()))
						}
					})
				}
			}
		}
	}
}

func inTurn(first, second gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) { first(ctx); second(ctx) }
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCompressionHostileAcceptEncoding(t *testing.T) {
	many := strings.Repeat("x-unknown;q=0.5,", 1500)
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		on.Talk(t, &gallop.Server{Handler: gallop.CompressHandler(compressPages), ReadBufferSize: 64 << 10}, func(c *wiretest.Conversation) {
			for _, tc := range []struct{ accept, want string }{
				{many, ""}, {many + "gzip", "gzip"}, {"gzip," + many, "gzip"},
				{strings.Repeat("gzip,", 4000) + "gzip;q=0", ""},
				{strings.Repeat(",", 20000) + "gzip", "gzip"},
				{"gzip" + strings.Repeat(";", 20000) + "q=0", ""},
				{"gzip;" + strings.Repeat("a=b;", 5000) + "q=0.5", "gzip"},
				{"identity;q=0, *;q=0", ""}, {"*;q=0, identity;q=0, gzip", "gzip"},
				{"gzip;q=1e1", ""}, {"gzip;q=0x1", ""}, {"gzip;q=+1", ""}, {"gzip;q=NaN", ""}, {"gzip;q=-0", ""},
				{"gzip;q=99999999999999999999", ""}, {"gzip;q=\"1\"", ""}, {"gzip;q=.5", ""}, {"gzip;q=1;q=0", "gzip"},
				{"gzip=1", ""}, {"gz ip", ""}, {"*/*", ""}, {"\"gzip\"", ""}, {";q=1", ""}, {"=;,=;", ""},
			} {
				c.Send(wiretest.Get("/text", "Accept-Encoding: "+tc.accept))
				c.Want(200)
				if tc.want == "" {
					c.WantBody(longText)
				} else {
					c.WantField("Content-Encoding", tc.want)
				}
				c.WantField("Vary", "Accept-Encoding")
			}
		})
	})
}

// hostileBound is how many bytes a bomb of bombSize may allocate. Race builds drop pooled buffers and are not measured.
const hostileBound = 24 << 20

// bombSize is the decoded size of a bomb in bytes. Race builds are slow and get a smaller one.
func bombSize() int {
	if servertest.RaceEnabled {
		return 4 << 20
	}
	return 32 << 20
}

// TestHostileCodings decodes bodies of requests and responses.
func TestHostileCodings(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	zip := func(s string) string { return string(gallop.AppendGzipBytes(nil, []byte(s))) }
	stack := func(s string, n int) string {
		for range n {
			s = zip(s)
		}
		return s
	}
	zeros := strings.Repeat("\x00", bombSize())
	bomb := zip(zeros)
	const anyError = "any"
	for _, tc := range []struct{ name, codings, body, want, fails string }{
		{"one member", "gzip", zip("a"), "a", ""},
		{"two members", "gzip", zip("a") + zip("b"), "ab", ""},
		{"empty members", "gzip", strings.Repeat(zip(""), 1000), "", ""},
		{"trailing garbage", "gzip", zip("a") + "garbage", "", anyError},
		{"trailing zeros", "gzip", zip("a") + "\x00\x00", "", anyError},
		{"head of a second member", "gzip", zip("a") + zip("b")[:9], "", anyError},
		{"cut in the check sum", "gzip", zip("a")[:len(zip("a"))-3], "", anyError},
		{"nothing", "gzip", "", "", anyError},
		{"not gzip", "gzip", "hello, world", "", anyError},
		{"three layers", "gzip, gzip, gzip", stack("a", 3), "a", ""},
		{"four layers", "gzip, gzip, gzip, gzip", stack("a", 4), "", "unsupported"},
		{"many layers", strings.Repeat("gzip,", 1000) + "gzip", zip("a"), "", "unsupported"},
		{"identities", strings.Repeat("identity,", 1000) + "gzip", zip("a"), "a", ""},
		{"fewer layers than said", "gzip, gzip", zip("a"), "", anyError},
		{"unknown", "rot13", "a", "", "unsupported"},
		{"unknown inside", "rot13, gzip", zip("a"), "", "unsupported"},
		{"unknown outside", "gzip, rot13", zip("a"), "", "unsupported"},
		{"with parameters", "gzip;q=1", zip("a"), "", "unsupported"},
		{"bomb", "gzip", bomb, "", "too large"},
		{"bomb in a bomb", "gzip, gzip", zip(bomb), "", "too large"},
		{"bomb in members", "gzip", strings.Repeat(zip(zeros[:1<<20]), 32), "", "too large"},
		{"bomb of deflate", "deflate", string(gallop.AppendDeflateBytes(nil, []byte(zeros))), "", "too large"},
		{"bomb of br", "br", string(gallop.AppendBrotliBytesLevel(nil, []byte(zeros), 1)), "", "too large"},
		{"bomb of zstd", "zstd", string(gallop.AppendZstdBytes(nil, []byte(zeros))), "", "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var req gallop.Request
			var resp gallop.Response
			req.Header.Set("Content-Encoding", tc.codings)
			resp.Header.Set("Content-Encoding", tc.codings)
			req.SetBodyString(tc.body)
			resp.SetBodyString(tc.body)
			for side, decode := range map[string]func() ([]byte, error){"request": req.BodyUncompressed, "response": resp.BodyUncompressed} {
				var got []byte
				var err error
				if n := allocatedBy(func() { got, err = decode() }); n > hostileBound && !servertest.RaceEnabled {
					t.Errorf("%s: %d MiB allocated", side, n>>20)
				}
				failed := map[string]bool{
					"": err == nil, anyError: err != nil,
					"unsupported": errors.Is(err, gallop.ErrContentEncodingUnsupported), "too large": errors.Is(err, gallop.ErrBodyTooLarge),
				}
				if !failed[tc.fails] || string(got) != tc.want {
					t.Errorf("%s: %d bytes, error %v, want %q", side, len(got), err, tc.fails)
				}
			}
		})
	}
}

// allocatedBy returns how many bytes f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCompressedStreamOfAClientThatLeaves has a handler write without end. It ends with the connection.
func TestCompressedStreamOfAClientThatLeaves(t *testing.T) {
	for _, accept := range []string{"gzip", "deflate", "zstd", "br"} {
		servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
			var failed chan error // of the bubble
			h := gallop.CompressHandlerBrotliLevel(func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					for {
						_, err := w.WriteString("data: tick\n\n")
						if err := errors.Join(err, w.Flush()); err != nil {
							failed <- err
							return
						}
						time.Sleep(time.Second)
					}
				})
			}, 1, 1)
			on.Talk(t, &gallop.Server{Handler: h}, func(c *wiretest.Conversation) {
				failed = make(chan error, 1)
				c.Send(wiretest.Get("/", "Accept-Encoding: "+accept))
				r := bufio.NewReader(c.Conn())
				if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
					t.Fatalf("%q, %v", line, err)
				}
				c.Conn().Close()
				if err := <-failed; err == nil {
					t.Error("no error")
				}
			})
		})
	}
}

// TestCompressHandlerStaysInStep sends responses without bodies, and with codings of their own, on one connection.
func TestCompressHandlerStaysInStep(t *testing.T) {
	h := gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
		status, err := strconv.Atoi(string(ctx.Path()[1:]))
		if err != nil {
			t.Error(err)
		}
		ctx.SetStatusCode(status)
		ctx.SetBodyString(longText)
		if coding := ctx.QueryArgs().Peek("coding"); len(coding) > 0 {
			ctx.Response.Header.Set("Content-Encoding", string(coding))
		}
	})
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		on.Talk(t, &gallop.Server{Handler: h}, func(c *wiretest.Conversation) {
			for _, tc := range []struct {
				method, target string
				status         int
				body           bool
				coding         string
			}{
				{"GET", "/200", 200, true, "gzip"}, {"HEAD", "/200", 200, false, "gzip"},
				{"GET", "/204", 204, false, ""}, {"HEAD", "/204", 204, false, ""},
				{"GET", "/304", 304, false, ""}, {"HEAD", "/304", 304, false, ""},
				{"GET", "/206", 206, true, ""}, {"GET", "/404", 404, true, "gzip"},
				{"GET", "/200?coding=br", 200, true, "br"}, {"GET", "/200?coding=rot13", 200, true, "rot13"},
				{"GET", "/200?coding=identity", 200, true, "identity"}, {"HEAD", "/200?coding=br", 200, false, "br"},
			} {
				c.Send(wiretest.Request(tc.method, tc.target, "Accept-Encoding: gzip"))
				c.WantTo(tc.method, tc.status)
				if tc.coding != "" {
					c.WantField("Content-Encoding", tc.coding)
				}
				if tc.body && tc.coding != "gzip" {
					c.WantBody(longText)
				} else if !tc.body {
					c.WantBody("")
				}
			}
		})
	})
}

// TestClientHostileCodings has a server send bodies whose codings are not what they seem.
func TestClientHostileCodings(t *testing.T) {
	bomb := gallop.AppendGzipBytes(nil, make([]byte, bombSize()))
	ln := servertest.Start(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.Set("Content-Encoding", "gzip")
		ctx.SetBody(bomb)
	}})
	c := gallop.HostClient{Addr: "x", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	defer c.CloseIdleConnections()
	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("http://x/")
	n := allocatedBy(func() {
		if err := c.Do(&req, &resp); err != nil {
			t.Fatal(err)
		}
		if _, err := resp.BodyUncompressed(); !errors.Is(err, gallop.ErrBodyTooLarge) {
			t.Errorf("error %v", err)
		}
	})
	if n > hostileBound && !servertest.RaceEnabled || resp.StatusCode() != http.StatusOK {
		t.Errorf("status %d, %d MiB allocated", resp.StatusCode(), n>>20)
	}
}

package handlers_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// youth is how old a file must be to be cached, and ripe is a little more. The long form of the tests uses the value that
// programs have. The file systems that tests use have times in nanoseconds, so that a shorter youth is safe too.
var youth, ripe = 50 * time.Millisecond, 150 * time.Millisecond

func TestMain(m *testing.M) {
	if wiretest.Long() {
		youth, ripe = 2*time.Second, 2200*time.Millisecond
	} else {
		testhook.SetFileYouth(youth)
	}
	wiretest.RunWaiting(m)
}

// needsCache skips a test on systems on which FS has no cache.
func needsCache(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
	default:
		t.Skip("FS has no cache here")
	}
}

// answer returns the whole response as text. The length is left out: the server adds it to a body in memory.
func answer(resp *gallop.Response) string {
	resp.Header.Del("Content-Length")
	return fmt.Sprintf("%d %s %s", resp.StatusCode(), resp.Header.String(), resp.Body())
}

// TestCachedFilesRespondAlike compares the responses of the cache with those from the disk. It removes the small files
// before it asks the cache.
func TestCachedFilesRespondAlike(t *testing.T) {
	needsCache(t)
	t.Parallel()
	text := strings.Repeat("all work and no play ", 100)
	dir := tree(t, map[string]string{
		"a.css": text, "a.css.br": "BR", "a.css.gz": "GZ", "b.css": text, "b.css.fasthttp.gz": "NAMED", "plain.css": text, "empty.css": "",
		"old.css": text, "picture.png": "\x89PNG\r\n\x1a\n", "noext": "plain text", "octets": "\x00\x01", "empty": "",
		"d/index.html": "<p>index", "d/x.json": `{"a":1}`, "index.html": "<p>root", "large.bin": strings.Repeat("0123456789", 20_000),
	})
	time.Sleep(ripe)
	settings := func(f *gallop.FS) gallop.RequestHandler {
		f.Root, f.AcceptByteRange, f.IndexNames = dir, true, []string{"none.html", "index.html"}
		f.Compress, f.CompressBrotli, f.CompressZstd = true, true, true
		return f.NewRequestHandler()
	}
	disk := settings(&gallop.FS{SkipCache: true})
	cache := settings(&gallop.FS{CheckEvery: time.Hour, CacheDuration: time.Hour})
	targets := []string{"/a.css", "/b.css", "/plain.css", "/empty.css", "/old.css", "/picture.png", "/noext", "/octets", "/empty", "/d/", "/d",
		"/d/x.json", "/", "/d/x.json/", "/d/index.html", "/large.bin"}
	fields := [][]string{nil, {"Accept-Encoding: gzip"}, {"Accept-Encoding: gzip, br, zstd"}, {"Accept-Encoding: zstd"},
		{"Range: bytes=1-3"}, {"Range: bytes=0-0,2-3"}, {"Range: bytes=999999-"}, {"Range: bytes=-2"}, {"Accept-Encoding: gzip", "Range: bytes=1-"},
		{"If-Modified-Since: Sat, 07 Mar 2020 10:00:00 GMT"}, {"If-None-Match: *"}, {`If-Match: "x"`}, {"If-Unmodified-Since: Sat, 07 Mar 2009 10:00:00 GMT"}}
	handlers := map[string]func(gallop.RequestHandler) gallop.RequestHandler{
		"alone": func(h gallop.RequestHandler) gallop.RequestHandler { return h },
		"with a status": func(h gallop.RequestHandler) gallop.RequestHandler {
			return func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(503); h(ctx) }
		},
		"with headers": func(h gallop.RequestHandler) gallop.RequestHandler {
			return func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.Set("ETag", `"mine"`)
				ctx.Response.Header.Set("Vary", "Cookie")
				ctx.SetContentType("x/y")
				h(ctx)
			}
		},
		"with a digest": func(h gallop.RequestHandler) gallop.RequestHandler {
			return withField(h, "Repr-Digest", "sha-256=:AAAA:")
		},
		"not transformed": func(h gallop.RequestHandler) gallop.RequestHandler {
			return withField(h, "Cache-Control", "no-transform")
		},
		"after a body":     func(h gallop.RequestHandler) gallop.RequestHandler { return afterBody(h) },
		"compressed later": func(h gallop.RequestHandler) gallop.RequestHandler { return gallop.CompressHandler(h) },
	}
	type request struct{ handler, method, target, fields string }
	ask := func(files gallop.RequestHandler) map[request]string {
		answers := map[request]string{}
		for name, around := range handlers {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				for _, target := range targets {
					for _, f := range fields {
						if tag := "If-None-Match: "; len(f) > 0 && f[0] == tag+"*" { // and the tag of the file
							resp := serveOnce(t, around(files), "GET", target)
							f = []string{tag + peek(resp, "ETag")}
						}
						resp := serveOnce(t, around(files), method, target, f...)
						withoutEncoder(resp)
						answers[request{name, method, target, strings.Join(f, "|")}] = boundary(answer(resp), peek(resp, "Content-Type"))
					}
				}
			}
		}
		return answers
	}
	want := ask(disk)
	for range 2 {
		ask(cache)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e, "large.bin") { // whose removal would be noticed
			os.RemoveAll(e)
		}
	}
	wrong := 0
	for r, got := range ask(cache) {
		if r.target == "/d" || r.target == "/d/x.json/" {
			continue // which looks at the disk
		}
		withoutStored := r.target == "/plain.css" || r.target == "/old.css" || r.target == "/large.bin"
		if withoutStored && r.fields == "Accept-Encoding: gzip|Range: bytes=1-" {
			continue // a part of a copy in memory, see TestCompressedCopies
		}
		if got != want[r] {
			if wrong++; wrong <= 10 {
				t.Errorf("%+v:\n%.400q, want\n%.400q", r, got, want[r])
			}
		}
	}
}

// withoutEncoder removes what depends on the encoder from a response that was compressed: the cache keeps the bytes, and
// can therefore give them a strong tag and serve parts of them. Stored files of this test are in no coding.
func withoutEncoder(resp *gallop.Response) {
	body, err := resp.BodyUncompressed()
	if err != nil || len(resp.Header.ContentEncoding()) == 0 {
		return
	}
	resp.SetBody(append([]byte(nil), body...))
	resp.Header.Del("ETag")
	resp.Header.Del("Accept-Ranges")
}

func withField(h gallop.RequestHandler, name, value string) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set(name, value); h(ctx) }
}

func afterBody(h gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		ctx.SetBodyString("another")
		ctx.Response.Header.SetContentEncoding("br")
		h(ctx)
	}
}

// boundary replaces the boundary of a multipart response, which is random.
func boundary(text, contentType string) string {
	if _, b, ok := strings.Cut(contentType, "boundary="); ok {
		return strings.ReplaceAll(text, b, "BOUNDARY")
	}
	return text
}

// TestCachedFilesOnTheWire compares what clients get from the cache with what they get from the disk.
func TestCachedFilesOnTheWire(t *testing.T) {
	needsCache(t)
	t.Parallel()
	contents := map[string]string{"empty": "", "a.css": strings.Repeat("x", 1000), "a.css.gz": strings.Repeat("z", 100)}
	for _, n := range []int{1, 16 << 10, 16<<10 + 1, 100_000, 128 << 10, 128<<10 + 1, 1 << 20} {
		contents[fmt.Sprint(n, ".data")] = strings.Repeat("0123456789abcdef", 1<<16)[:n]
	}
	dir := tree(t, contents)
	time.Sleep(ripe)
	var requests strings.Builder
	for name := range contents {
		for _, method := range []string{"GET", "HEAD"} {
			for _, field := range []string{"", "Accept-Encoding: gzip\r\n", "Range: bytes=0-0\r\n", "Range: bytes=5-\r\n"} {
				fmt.Fprintf(&requests, "%s /%s HTTP/1.1\r\nHost: x\r\n%s\r\n", method, name, field)
			}
		}
	}
	requests.WriteString("GET /empty HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	ask := func(skip bool, times int) map[string]string {
		files := (&gallop.FS{Root: dir, AcceptByteRange: true, Compress: true, SkipCache: skip, CheckEvery: time.Hour}).NewRequestHandler()
		answers := map[string]string{}
		for name, dial := range transports(t, &gallop.Server{Handler: files, NoDefaultDate: true}) {
			for range times {
				c := dial()
				answers[name] = servertest.Ask(t, c, requests.String())
				c.Close()
			}
		}
		return answers
	}
	want := ask(true, 1)
	for name, got := range ask(false, 3) {
		if got != want[name] {
			i := 0
			for i < min(len(got), len(want[name])) && got[i] == want[name][i] {
				i++
			}
			t.Errorf("%s: after %q, %.300q, want %.300q", name, got[max(0, i-300):i], got[i:], want[name][i:])
		}
	}
}

// TestCachedBytesStay changes a response from the cache in every way that a program may, and asks again.
func TestCachedBytesStay(t *testing.T) {
	needsCache(t)
	t.Parallel()
	text := strings.Repeat("all work and no play ", 100)
	dir := tree(t, map[string]string{"a.bin": text})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir, CheckEvery: time.Hour}).NewRequestHandler()
	for range 3 {
		serveOnce(t, files, "GET", "/a.bin")
	}
	for name, change := range map[string]func(ctx *gallop.RequestCtx){
		"append":  func(ctx *gallop.RequestCtx) { ctx.Response.AppendBodyString("more") },
		"writer":  func(ctx *gallop.RequestCtx) { ctx.WriteString("more") },
		"swap":    func(ctx *gallop.RequestCtx) { clear(ctx.Response.SwapBody(nil)) },
		"replace": func(ctx *gallop.RequestCtx) { ctx.SetBodyString("other") },
		"reset":   func(ctx *gallop.RequestCtx) { ctx.ResetBody(); ctx.Response.ReleaseBody(0) },
	} {
		serveOnce(t, func(ctx *gallop.RequestCtx) { files(ctx); change(ctx) }, "GET", "/a.bin")
		if resp := serveOnce(t, files, "GET", "/a.bin"); string(resp.Body()) != text {
			t.Errorf("%s: %.60q", name, resp.Body())
		}
	}
}

// TestCachedFileThatShrinks ends the connection while a large file from the cache is sent.
func TestCachedFileThatShrinks(t *testing.T) {
	needsCache(t)
	t.Parallel()
	dir := tree(t, map[string]string{"shrinks.data": strings.Repeat("x", 4<<20)})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir}).NewRequestHandler()
	for range 3 {
		serveOnce(t, files, "GET", "/shrinks.data")
	}
	var ctx gallop.RequestCtx
	ctx.Request.SetRequestURI("/shrinks.data")
	ctx.Request.Header.SetHost("h")
	files(&ctx)
	if err := os.Truncate(filepath.Join(dir, "shrinks.data"), 1000); err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	if _, err := ctx.Response.WriteTo(&wire); err == nil {
		t.Errorf("%d bytes, and no error", wire.Len())
	}
	if resp := serveOnce(t, files, "GET", "/shrinks.data"); len(resp.Body()) != 1000 {
		t.Errorf("afterwards %d bytes", len(resp.Body()))
	}
}

// TestManyAbsentNames asks for names that do not exist.
func TestManyAbsentNames(t *testing.T) {
	needsCache(t)
	names := 5_000
	if os.Getenv("GALLOP_LONG") != "" {
		names = 1_000_000
	}
	files := (&gallop.FS{Root: tree(t, map[string]string{"a.css": "a"}), Compress: true}).NewRequestHandler()
	ask := func() {
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI(fmt.Sprintf("/%x", rand.Uint64()))
		ctx.Request.Header.SetHost("h")
		files(&ctx)
		if ctx.Response.StatusCode() != 404 {
			t.Fatal(ctx.Response.StatusCode())
		}
	}
	for range 100 {
		ask()
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range names {
		ask()
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d bytes more", grown)
	}
}

package handlers_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// ripe is how old a file must be to be cached, and a little more.
const ripe = 2200 * time.Millisecond

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
	return fmt.Sprintf("%d %q %q", resp.StatusCode(), resp.Header.String(), resp.Body())
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
		if got != want[r] {
			if wrong++; wrong <= 10 {
				t.Errorf("%+v:\n%.400s, want\n%.400s", r, got, want[r])
			}
		}
	}
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

// version is a content that was on the disk during a time.
type version struct {
	body     string // "" means that there was no file
	from, to time.Time
}

// TestFreshnessOfFiles changes cached files, and compares each response with what was on the disk within the interval of
// checks before it.
func TestFreshnessOfFiles(t *testing.T) {
	needsCache(t)
	const every = 200 * time.Millisecond
	put := func(name, body string) {
		if err := os.WriteFile(name+".tmp", []byte(body), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(name+".tmp", name); err != nil {
			t.Error(err)
		}
	}
	bodyOf := func(i, n int) string { return strings.Repeat(string(rune('a'+i)), n) }
	for _, tc := range []struct {
		name, accept string
		change       func(dir string, i int) string // makes version i and returns its body
	}{
		{"renamed", "", func(dir string, i int) string { b := bodyOf(i, 1000*(i+1)); put(dir+"/a.css", b); return b }},
		{"renamed, of the same length", "", func(dir string, i int) string { b := bodyOf(i, 1000); put(dir+"/a.css", b); return b }},
		{"written in place", "", func(dir string, i int) string {
			b := bodyOf(i, 1000)
			if f, err := os.OpenFile(dir+"/a.css", os.O_RDWR|os.O_CREATE, 0o644); err == nil {
				f.WriteAt([]byte(b), 0)
				f.Close()
			}
			return b
		}},
		{"large, renamed", "", func(dir string, i int) string { b := bodyOf(i, 200_000); put(dir+"/a.css", b); return b }},
		{"original and siblings", "br", func(dir string, i int) string {
			put(dir+"/a.css", bodyOf(i, 1000))
			put(dir+"/a.css.gz", "gz")
			b := bodyOf(i, 100)
			put(dir+"/a.css.br", b)
			return b
		}},
		{"a link that leads elsewhere", "", func(dir string, i int) string {
			b := bodyOf(i, 1000)
			os.Mkdir(fmt.Sprint(dir, "/v", i), 0o755)
			put(fmt.Sprint(dir, "/v", i, "/a.css"), b)
			os.Symlink(fmt.Sprint("v", i), dir+"/new")
			os.Rename(dir+"/new", dir+"/current")
			return b
		}},
		{"comes and goes", "", func(dir string, i int) string {
			if i%2 == 1 {
				os.Remove(dir + "/a.css")
				return ""
			}
			b := bodyOf(i, 1000)
			put(dir+"/a.css", b)
			return b
		}},
		{"becomes a link outside", "", func(dir string, i int) string {
			if i%2 == 1 {
				os.Remove(dir + "/a.css")
				os.Symlink("/etc/passwd", dir+"/a.css")
				return ""
			}
			os.Remove(dir + "/a.css")
			b := bodyOf(i, 1000)
			put(dir+"/a.css", b)
			return b
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root := dir
			if strings.Contains(tc.name, "link that") {
				root = filepath.Join(dir, "current")
			}
			files := (&gallop.FS{Root: root, CheckEvery: every, Compress: true, CompressBrotli: true}).NewRequestHandler()
			var mu sync.Mutex
			var history []version
			change := func(i int) {
				mu.Lock() // responses are judged when the version is known
				defer mu.Unlock()
				before := time.Now()
				body := tc.change(dir, i)
				if n := len(history); n > 0 {
					history[n-1].to = time.Now()
				}
				history = append(history, version{body: body, from: before, to: time.Now().Add(time.Hour)})
			}
			change(0)
			var done atomic.Bool
			var clients sync.WaitGroup
			for range 2 {
				clients.Go(func() {
					for !done.Load() {
						began := time.Now()
						resp := serveOnce(t, files, "GET", "/a.css", "Accept-Encoding: "+tc.accept)
						ended := time.Now()
						body := string(resp.Body())
						if resp.StatusCode() == 404 {
							body = ""
						}
						time.Sleep(2 * time.Millisecond) // so that the change is in the history
						mu.Lock()
						known := false
						for _, v := range history {
							const slack = time.Second // a check may be in progress for so long on a busy machine
							known = known || v.body == body && v.from.Before(ended) && v.to.After(began.Add(-every-slack))
						}
						mu.Unlock()
						if !known && !strings.HasPrefix(tc.name, "original") {
							t.Errorf("%d, %.10q of %d bytes was not on the disk", resp.StatusCode(), body, len(body))
							done.Store(true)
						}
					}
				})
			}
			for i := 1; i <= 2 && !done.Load(); i++ {
				time.Sleep(ripe + 1200*time.Millisecond)
				change(i)
			}
			time.Sleep(every + 1200*time.Millisecond)
			done.Store(true)
			clients.Wait()
			last := history[len(history)-1].body
			resp := serveOnce(t, files, "GET", "/a.css", "Accept-Encoding: "+tc.accept)
			if got := string(resp.Body()); got != last && !(last == "" && resp.StatusCode() == 404) {
				t.Errorf("%d, %.10q in the end, want %.10q", resp.StatusCode(), got, last)
			}
		})
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

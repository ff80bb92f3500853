package handlers_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// tree makes a directory with these files: a name that ends in a slash is a directory,
// and a content that begins with "-> " a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, isLink := strings.CutPrefix(content, "-> "); isLink {
			err = os.Symlink(to, full)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(full, 0o755)
		} else if err = os.WriteFile(full, []byte(content), 0o644); err == nil {
			err = os.Chtimes(full, matrixTime, matrixTime)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serveOnce runs handler for a request with these fields ("Name: value"), in memory.
func serveOnce(t *testing.T, handler gallop.RequestHandler, method, target string, fields ...string) *gallop.Response {
	t.Helper()
	var req gallop.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(target)
	req.Header.SetHost("example.com")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	ctx := new(gallop.RequestCtx)
	ctx.Init(&req, nil, nil)
	handler(ctx)
	ctx.Response.Body() // which closes the file
	if err := ctx.Response.BodyErr(); err != nil {
		t.Errorf("%s %s: %v", method, target, err)
	}
	return &ctx.Response
}

func peek(resp *gallop.Response, name string) string { return string(resp.Header.Peek(name)) }

func TestFSPaths(t *testing.T) {
	dir := tree(t, map[string]string{
		"secret.txt":            "secret",
		"www/a.txt":             "a",
		"www/a b%20?.txt":       "blank",
		"www/..a.txt":           "dots in front",
		"www/sub/b.txt":         "b",
		"www/sub/index.html":    "index",
		"www/empty/":            "",
		"www/inside":            "-> sub/b.txt",
		"www/insidedir":         "-> sub",
		"www/outside":           "-> ../secret.txt",
		"www/outsidedir":        "-> ..",
		"www/absolute":          "-> /etc/passwd",
		"www/sub/outside":       "-> ../../secret.txt",
		"www/sub/still-outside": "-> ../../www/a.txt",
		"www/loop":              "-> loop",
	})
	handler := (&gallop.FS{Root: filepath.Join(dir, "www"), IndexNames: []string{"index.html"}}).NewRequestHandler()
	for _, tc := range []struct {
		name, target string
		status       int
		body         string
	}{
		{"a file", "/a.txt", 200, "a"},
		{"a file below", "/sub/b.txt", 200, "b"},
		{"an index", "/sub/", 200, "index"},
		{"no index and no list", "/empty/", 403, ""},
		{"escapes", "/a%20b%2520%3F.txt", 200, "blank"},
		{"a query", "/a.txt?x=/../y", 200, "a"},
		{"dots that are a name", "/..a.txt", 200, "dots in front"},
		{"slashes are merged", "//sub///b.txt", 200, "b"},
		{"slashes at the end are merged", "/sub//", 200, "index"},
		{"slashes behind a dot segment are merged", "/x/..//sub//./b.txt", 200, "b"},
		{"a dot segment", "/sub/./../a.txt", 200, "a"},
		{"another case", "/A.TXT", 404, ""},
		{"nothing", "/nothing", 404, ""},
		{"a file as a directory", "/a.txt/", 404, ""},
		{"a name below a file", "/a.txt/b", 404, ""},
		{"a name that is too long", "/" + strings.Repeat("x", 4000), 404, ""},

		{"link that stays inside", "/inside", 200, "b"},
		{"link to a directory inside", "/insidedir/b.txt", 200, "b"},
		{"link that leads outside", "/outside", 404, ""},
		{"through a link that leads outside", "/outsidedir/secret.txt", 404, ""},
		{"directory that is a link outside", "/outsidedir/", 404, ""},
		{"absolute link", "/absolute", 404, ""},
		{"link from below", "/sub/outside", 404, ""},
		{"link out and in again", "/sub/still-outside", 404, ""},
		{"link to itself", "/loop", 404, ""},

		{"up", "/../secret.txt", 404, ""},
		{"up from below", "/sub/../../secret.txt", 404, ""},
		{"up, escaped", "/%2e%2e/secret.txt", 404, ""},
		{"up, half escaped", "/.%2e/secret.txt", 404, ""},
		{"up, escaped twice", "/%252e%252e/secret.txt", 404, ""},
		{"up by an escaped slash", "/..%2fsecret.txt", 404, ""},
		{"up by an escaped slash below", "/sub/..%2f..%2fsecret.txt", 404, ""},
		{"up by a backslash", "/..%5csecret.txt", 404, ""},
		{"backslash in a name", "/sub%5cb.txt", 404, ""},
		{"absolute", "//etc/passwd", 404, ""},
		{"up behind empty segments", "///../../secret.txt", 404, ""},
		{"NUL", "/a.txt%00", 400, ""},
		{"NUL and an extension", "/a.txt%00.png", 400, ""},
		{"line break", "/a.txt%0d%0aX: y", 404, ""},
		{"not UTF-8", "/%ff%fe", 404, ""},
		{"overlong slash", "/..%c0%afsecret.txt", 404, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, handler, "GET", tc.target)
			if resp.StatusCode() != tc.status || tc.body != "" && string(resp.Body()) != tc.body {
				t.Errorf("%s: %d %q, want %d %q", tc.target, resp.StatusCode(), resp.Body(), tc.status, tc.body)
			}
			if strings.Contains(string(resp.Body()), "secret") {
				t.Errorf("%s: %q", tc.target, resp.Body())
			}
			if !strings.Contains(tc.target, "//") {
				return
			}
			resp = serveOnce(t, notNormalized(handler), "GET", tc.target)
			if resp.StatusCode() != 404 {
				t.Errorf("%s, not normalized: %d %q, want 404", tc.target, resp.StatusCode(), resp.Body())
			}
		})
	}
}

func TestFSMethods(t *testing.T) {
	handler := (&gallop.FS{Root: tree(t, map[string]string{"a.txt": "hello"}), AcceptByteRange: true}).NewRequestHandler()
	for _, tc := range []struct {
		method string
		status int
	}{{"GET", 200}, {"HEAD", 200}, {"POST", 405}, {"PUT", 405}, {"DELETE", 405}, {"OPTIONS", 405}, {"get", 405}} {
		resp := serveOnce(t, handler, tc.method, "/a.txt")
		if resp.StatusCode() != tc.status {
			t.Errorf("%s: %d", tc.method, resp.StatusCode())
		}
		if allow := peek(resp, "Allow"); (tc.status == 405) != (allow == "GET, HEAD") {
			t.Errorf("%s: Allow: %q", tc.method, allow)
		}
	}
}

func TestFSRedirectsDirectories(t *testing.T) {
	handler := gallop.FSHandler(tree(t, map[string]string{
		"dir/x": "", "a b&c/x": "", "evil.com/x": "", "http:/x": "", "%41/x": "",
	}), 0)
	for _, tc := range []struct{ target, location string }{
		{"/dir", "./dir/"},
		{"/dir?a=b&c", "./dir/?a=b&c"},
		{"/a%20b&c", "./a%20b&c/"},
		{"/%2541", "./%2541/"},
		{"//evil.com", "./evil.com/"}, // and not //evil.com/, which is another host
		{"/dir/..//evil.com", "./evil.com/"},
		{"/http:", "./http:/"}, // and not http:/, which has another scheme
	} {
		resp := serveOnce(t, handler, "GET", tc.target)
		if got := peek(resp, "Location"); resp.StatusCode() != 301 || got != tc.location {
			t.Errorf("%s: %d %q, want %q", tc.target, resp.StatusCode(), got, tc.location)
		}
		if resp := serveOnce(t, notNormalized(handler), "GET", tc.target); strings.Contains(tc.target, "//") && resp.StatusCode() != 404 {
			t.Errorf("%s, not normalized: %d, want 404", tc.target, resp.StatusCode())
		}
	}
}

func TestFSHeaders(t *testing.T) {
	const date = "Sat, 07 Mar 2020 10:00:00 GMT"
	handler := (&gallop.FS{Root: tree(t, map[string]string{"a.txt": "hello, world"}), AcceptByteRange: true}).NewRequestHandler()
	whole := serveOnce(t, handler, "GET", "/a.txt")
	tag := peek(whole, "ETag")
	if len(tag) < 3 || tag[0] != '"' {
		t.Fatalf("ETag %q is not a strong one", tag)
	}
	for _, tc := range []struct {
		name   string
		fields []string
		status int
		want   map[string]string
		body   string
	}{
		{"whole", nil, 200, map[string]string{"Last-Modified": date, "ETag": tag, "Accept-Ranges": "bytes",
			"Content-Type": "text/plain; charset=utf-8", "Content-Range": "", "Vary": ""}, "hello, world"},
		{"range", []string{"Range: bytes=7-11"}, 206, map[string]string{"Content-Range": "bytes 7-11/12", "ETag": tag, "Last-Modified": date}, "world"},
		{"unsatisfiable", []string{"Range: bytes=12-"}, 416, map[string]string{"Content-Range": "bytes */12"}, "Requested Range Not Satisfiable"},
		{"If-Range", []string{"Range: bytes=7-", "If-Range: " + tag}, 206, nil, "world"},
		{"If-Range, changed", []string{"Range: bytes=7-", `If-Range: "other"`}, 200, nil, "hello, world"},
		{"If-Range, date", []string{"Range: bytes=7-", "If-Range: " + date}, 206, nil, "world"},
		{"two Range fields", []string{"Range: bytes=7-", "Range: bytes=1-"}, 200, nil, "hello, world"},
		{"not modified by tag", []string{"If-None-Match: " + tag}, 304,
			map[string]string{"ETag": tag, "Last-Modified": "", "Content-Type": ""}, ""},
		{"not modified by weak tag", []string{"If-None-Match: W/" + tag}, 304, nil, ""},
		{"not modified by the second line", []string{`If-None-Match: "x"`, "If-None-Match: " + tag}, 304, nil, ""},
		{"not modified since", []string{"If-Modified-Since: " + date}, 304, nil, ""},
		{"not modified since, in the old form", []string{"If-Modified-Since: Saturday, 07-Mar-20 10:00:00 GMT"}, 304, nil, ""},
		{"tag before date", []string{`If-None-Match: "x"`, "If-Modified-Since: " + date}, 200, nil, "hello, world"},
		{"failed", []string{`If-Match: "x"`}, 412, map[string]string{"ETag": tag}, "Precondition Failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, handler, "GET", "/a.txt", tc.fields...)
			if resp.StatusCode() != tc.status || string(resp.Body()) != tc.body {
				t.Errorf("%d %q, want %d %q", resp.StatusCode(), resp.Body(), tc.status, tc.body)
			}
			for name, want := range tc.want {
				if got := peek(resp, name); got != want && !(want == "" && name == "Content-Type") {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestFSWithoutRanges(t *testing.T) {
	handler := (&gallop.FS{Root: tree(t, map[string]string{"a.txt": "hello"})}).NewRequestHandler()
	resp := serveOnce(t, handler, "GET", "/a.txt", "Range: bytes=0-1")
	if resp.StatusCode() != 200 || peek(resp, "Accept-Ranges") != "" {
		t.Errorf("%d %q", resp.StatusCode(), peek(resp, "Accept-Ranges"))
	}
}

// Nothing was modified after the time at which that is said (RFC 9110 §8.8.2.1).
func TestFSFileFromTheFuture(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "hello"})
	future := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), future, future); err != nil {
		t.Fatal(err)
	}
	handler := (&gallop.FS{Root: dir, AcceptByteRange: true}).NewRequestHandler()
	resp := serveOnce(t, handler, "GET", "/a.txt")
	modified, err := gallop.ParseHTTPDate(resp.Header.Peek("Last-Modified"))
	if err != nil || modified.After(time.Now()) {
		t.Errorf("Last-Modified: %q", peek(resp, "Last-Modified"))
	}
	resp = serveOnce(t, handler, "GET", "/a.txt", "If-Modified-Since: "+future.UTC().Format(http.TimeFormat))
	if resp.StatusCode() != 304 {
		t.Errorf("not modified since then: %d", resp.StatusCode())
	}
}

func TestFSTagIsWeakWhileTheFileIsNew(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "hello"})
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	handler := (&gallop.FS{Root: dir, AcceptByteRange: true}).NewRequestHandler()
	tag := peek(serveOnce(t, handler, "GET", "/a.txt"), "ETag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("ETag: %q", tag)
	}
	resp := serveOnce(t, handler, "GET", "/a.txt", "Range: bytes=0-1", "If-Range: "+tag)
	if resp.StatusCode() != 200 {
		t.Errorf("a weak tag allowed a range: %d", resp.StatusCode())
	}
	resp = serveOnce(t, handler, "GET", "/a.txt", "Range: bytes=0-1", "If-Range: "+now.UTC().Format(http.TimeFormat))
	if resp.StatusCode() != 200 {
		t.Errorf("a date as new as the file allowed a range: %d", resp.StatusCode())
	}
}

func TestFSTypes(t *testing.T) {
	handler := (&gallop.FS{Root: tree(t, map[string]string{
		"a.HTML": "x", "a.js": "x", "a.svg": "x", "a.woff2": "x", "a.unknown-ext": "plain", "page": "<!doctype html><script>",
		"text": "Grüße", "cut": strings.Repeat("x", 511) + "ü", "latin1": "Gr\xfc\xdfe", "png": "\x89PNG\r\n\x1a\n", "octets": "\x00\x01", "none": "",
	})}).NewRequestHandler()
	for name, want := range map[string]string{
		"a.HTML": "text/html; charset=utf-8", "a.js": "text/javascript; charset=utf-8", "a.svg": "image/svg+xml",
		"a.woff2": "font/woff2", "a.unknown-ext": "text/plain; charset=utf-8", "page": "text/plain; charset=utf-8",
		"text": "text/plain; charset=utf-8", "cut": "text/plain; charset=utf-8", "latin1": "application/octet-stream",
		"png": "image/png", "octets": "application/octet-stream", "none": "text/plain; charset=utf-8",
	} {
		if got := peek(serveOnce(t, handler, "GET", "/"+name), "Content-Type"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFSNotFoundAndRewrite(t *testing.T) {
	dir := tree(t, map[string]string{"app.html": "app", "example.com/a.txt": "vhost", "a.txt": "a", "secret/x": "x"})
	spa := &gallop.FS{Root: dir, PathRewrite: func(*gallop.RequestCtx) []byte { return []byte("/app.html") }}
	up := &gallop.FS{Root: dir, PathRewrite: func(*gallop.RequestCtx) []byte { return []byte("/a/../a.txt") }}
	vhost := &gallop.FS{Root: dir, PathRewrite: gallop.NewVHostPathRewriter(1)}
	slashes := &gallop.FS{Root: dir, PathRewrite: gallop.NewPathSlashesStripper(2)}
	prefix := &gallop.FS{Root: dir, PathRewrite: gallop.NewPathPrefixStripper(len("/static"))}
	slash := &gallop.FS{Root: dir, PathRewrite: func(*gallop.RequestCtx) []byte { return []byte("/a.txt/") }}
	file := &gallop.FS{Root: filepath.Join(dir, "a.txt")}
	custom := &gallop.FS{Root: dir, PathNotFound: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("gone astray") }}
	for _, tc := range []struct {
		name, target string
		fs           *gallop.FS
		status       int
		body         string
	}{
		{"one page", "/any/where/", spa, 200, "app"},
		{"up", "/", up, 404, "Not Found"},
		{"by host", "/img/a.txt", vhost, 200, "vhost"},
		{"without segments", "/x/y/a.txt", slashes, 200, "a"},
		{"without all segments", "/x/y", slashes, 301, "Moved Permanently"},
		{"without a prefix", "/static/a.txt", prefix, 200, "a"},
		{"without a prefix, a slash behind a file", "/static/a.txt/", prefix, 404, "Not Found"},
		{"without segments, a slash behind a file", "/x/y/a.txt/", slashes, 404, "Not Found"},
		{"by host, a slash behind a file", "/img/a.txt/", vhost, 404, "Not Found"},
		{"a slash behind a file that a program has put there", "/x", slash, 200, "a"},
		{"the root is a file", "/", file, 200, "a"},
		{"something below that", "/x", file, 404, "Not Found"},
		{"the file below that", "/a.txt", file, 404, "Not Found"},
		{"own answer", "/nothing", custom, 404, "gone astray"},
	} {
		resp := serveOnce(t, tc.fs.NewRequestHandler(), "GET", tc.target)
		if resp.StatusCode() != tc.status || string(resp.Body()) != tc.body {
			t.Errorf("%s: %d %q", tc.name, resp.StatusCode(), resp.Body())
		}
	}
}

func TestPathStrippers(t *testing.T) {
	for _, tc := range []struct {
		rewrite gallop.PathRewriteFunc
		want    string
	}{
		{gallop.NewPathPrefixStripper(0), "/foo/bar"},
		{gallop.NewPathPrefixStripper(3), "o/bar"},
		{gallop.NewPathPrefixStripper(7), "r"},
		{gallop.NewPathPrefixStripper(8), ""},
		{gallop.NewPathPrefixStripper(9), "/foo/bar"},
		{gallop.NewPathPrefixStripper(-1), "/foo/bar"},
		{gallop.NewPathSlashesStripper(0), "/foo/bar"},
		{gallop.NewPathSlashesStripper(1), "/bar"},
		{gallop.NewPathSlashesStripper(2), ""},
		{gallop.NewPathSlashesStripper(3), ""},
		{gallop.NewVHostPathRewriter(0), "/example.com/foo/bar"},
		{gallop.NewVHostPathRewriter(1), "/example.com/bar"},
	} {
		var got string
		serveOnce(t, func(ctx *gallop.RequestCtx) { got = string(tc.rewrite(ctx)) }, "GET", "/foo/bar")
		if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	var nowhere gallop.RequestCtx
	nowhere.Request.SetRequestURI("/foo")
	if got := string(gallop.NewVHostPathRewriter(0)(&nowhere)); got != "/invalid-host/" {
		t.Errorf("%q", got)
	}
}

func TestFSOverFileSystems(t *testing.T) {
	mapFS := fstest.MapFS{"www/a.txt": {Data: []byte("hello"), ModTime: matrixTime}, "www/dir/b.txt": {Data: []byte("b")}}
	for name, files := range map[string]fs.FS{
		"seeking": mapFS, "os": os.DirFS(tree(t, map[string]string{"www/a.txt": "hello", "www/dir/b.txt": "b"})), "not seeking": unseekable{mapFS},
	} {
		t.Run(name, func(t *testing.T) {
			handler := (&gallop.FS{FS: files, Root: "/www/", AcceptByteRange: true, GenerateIndexPages: true}).NewRequestHandler()
			if resp := serveOnce(t, handler, "GET", "/a.txt"); string(resp.Body()) != "hello" {
				t.Errorf("%d %q", resp.StatusCode(), resp.Body())
			}
			resp := serveOnce(t, handler, "GET", "/a.txt", "Range: bytes=1-2")
			if want := map[bool]string{true: "hello", false: "el"}[name == "not seeking"]; string(resp.Body()) != want {
				t.Errorf("range: %d %q", resp.StatusCode(), resp.Body())
			}
			if resp := serveOnce(t, handler, "GET", "/"); !strings.Contains(string(resp.Body()), `href="./dir/"`) {
				t.Errorf("list: %d %q", resp.StatusCode(), resp.Body())
			}
			if resp := serveOnce(t, handler, "GET", "/../go.mod"); resp.StatusCode() != 404 {
				t.Errorf("up: %d", resp.StatusCode())
			}
		})
	}
}

// unseekable is a file system whose files can only be read.
type unseekable struct{ fs.FS }

func (u unseekable) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if d, ok := f.(fs.ReadDirFile); ok {
		return d, nil
	}
	return struct{ fs.File }{f}, nil
}

func TestFSCompression(t *testing.T) {
	text := strings.Repeat("all work and no play ", 100)
	dense := make([]byte, 300)
	rand.NewChaCha8([32]byte{}).Read(dense)
	dir := tree(t, map[string]string{"dense.css": string(dense),
		"stored.css": text, "stored.css.br": "BR", "stored.css.gz": "GZ", "stored.css.zst": "ZST",
		"old.css": text, "old.css.gz": "OLD", "plain.css": text, "small.css": "x", "named.css": text, "named.css.fasthttp.gz": "NAMED",
		"picture.png": text, "picture.png.gz": "PNG", "trick.css": text, "trick.css.gz/": "", "link.css": text, "link.css.gz": "-> /etc/passwd",
		"broken.css": text, "broken.css.gz": "", "broken.css.br": "", "broken.css.zst": "", "rest.css": text, "rest.css.gz": "GZ", "rest.css.br": "",
	})
	before := matrixTime.Add(-time.Second)
	if err := os.Chtimes(filepath.Join(dir, "old.css.gz"), before, before); err != nil {
		t.Fatal(err)
	}
	// Without a cache, because the compressed copy of a cached file has a tag and parts of its own: see TestCompressedCopies.
	all := (&gallop.FS{Root: dir, SkipCache: true, AcceptByteRange: true, Compress: true, CompressBrotli: true, CompressZstd: true}).NewRequestHandler()
	onlyGzip := (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler()
	for _, tc := range []struct {
		name, target, accept string
		handler              gallop.RequestHandler
		encoding, body       string // body "" is text
	}{
		{"br before all", "/stored.css", "gzip, br, zstd", all, "br", "BR"},
		{"zstd before gzip", "/stored.css", "gzip, zstd", all, "zstd", "ZST"},
		{"gzip", "/stored.css", "gzip", all, "gzip", "GZ"},
		{"what is refused", "/stored.css", "br;q=0, *", all, "zstd", "ZST"},
		{"what is liked best", "/stored.css", "gzip, br;q=0.5", all, "gzip", "GZ"},
		{"what is stored before what is liked best", "/named.css", "br, gzip;q=0.5", all, "gzip", "NAMED"},
		{"none", "/stored.css", "", all, "", text},
		{"only gzip is on", "/stored.css", "br, zstd", onlyGzip, "", text},
		{"older than the file", "/old.css", "gzip", all, "gzip", ""},
		{"in memory", "/plain.css", "gzip", all, "gzip", ""},
		{"too small", "/small.css", "gzip", all, "", "x"},
		{"not smaller by it, gzip", "/dense.css", "gzip", all, "", string(dense)},
		{"not smaller by it, br", "/dense.css", "br", all, "", string(dense)},
		{"not smaller by it, zstd", "/dense.css", "zstd", all, "", string(dense)},
		{"other suffix", "/named.css", "gzip", all, "gzip", "NAMED"},
		{"type that does not gain", "/picture.png", "gzip", all, "", text},
		{"empty, which is not gzip", "/broken.css", "gzip", all, "gzip", ""},
		{"empty, and another one is not", "/rest.css", "gzip, br", all, "gzip", "GZ"},
		{"directory in its place", "/trick.css", "gzip", all, "gzip", ""},
		{"link outside in its place", "/link.css", "gzip", all, "gzip", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, tc.handler, "GET", tc.target, "Accept-Encoding: "+tc.accept)
			if got := peek(resp, "Content-Encoding"); got != tc.encoding {
				t.Errorf("Content-Encoding: %q, want %q", got, tc.encoding)
			}
			body := string(resp.Body())
			if tc.body == "" {
				r, err := gzip.NewReader(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(r)
				body, tc.body = string(b), text
			}
			if body != tc.body {
				t.Errorf("body: %.60q, want %.60q", body, tc.body)
			}
			if varies := peek(resp, "Vary") == "Accept-Encoding"; varies != strings.HasSuffix(tc.target, ".css") {
				t.Errorf("Vary: %q", peek(resp, "Vary"))
			}
		})
	}

	t.Run("validators differ", func(t *testing.T) {
		seen := map[string]string{}
		for _, accept := range []string{"identity", "gzip", "br", "zstd"} {
			for _, target := range []string{"/stored.css", "/plain.css"} {
				tag := peek(serveOnce(t, all, "GET", target, "Accept-Encoding: "+accept), "ETag")
				if other, ok := seen[target+tag]; ok {
					t.Errorf("%s: %s and %s are both %s", target, accept, other, tag)
				}
				seen[target+tag] = accept
				resp := serveOnce(t, all, "GET", target, "Accept-Encoding: "+accept, "If-None-Match: "+tag)
				if resp.StatusCode() != 304 || peek(resp, "Vary") != "Accept-Encoding" || peek(resp, "Content-Encoding") != "" {
					t.Errorf("%s, %s: %d, Vary %q", target, accept, resp.StatusCode(), peek(resp, "Vary"))
				}
			}
		}
	})
	t.Run("as old as the file, to the second", func(t *testing.T) {
		for _, tc := range []struct {
			file, stored time.Duration // behind matrixTime
			used         bool
		}{
			{0, 0, true},
			{700 * time.Millisecond, 700 * time.Millisecond, true},
			{700 * time.Millisecond, 0, true}, // what made it keeps whole seconds
			{700 * time.Millisecond, 600 * time.Millisecond, false},
			{1700 * time.Millisecond, 0, false},
			{1700 * time.Millisecond, 1700*time.Millisecond - 1, false},
		} {
			for name, d := range map[string]time.Duration{"named.css": tc.file, "named.css.fasthttp.gz": tc.stored} {
				at := matrixTime.Add(d)
				if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
			each := (&gallop.FS{Root: dir, Compress: true, CheckEvery: -1}).NewRequestHandler()
			resp := serveOnce(t, each, "GET", "/named.css", "Accept-Encoding: gzip")
			if used := string(resp.Body()) == "NAMED"; used != tc.used {
				t.Errorf("file at %v, stored at %v: used %v", tc.file, tc.stored, used)
			}
		}
	})
	t.Run("a tag of the handler is weak in a coding", func(t *testing.T) {
		tagged := func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Set("ETag", `"v1"`)
			ctx.Response.Header.Set("Vary", "Accept-Encoding, Cookie")
			all(ctx)
		}
		for _, target := range []string{"/stored.css", "/plain.css"} {
			for accept, want := range map[string]string{"identity": `"v1"`, "gzip": `W/"v1"`} {
				resp := serveOnce(t, tagged, "GET", target, "Accept-Encoding: "+accept)
				if got := peek(resp, "ETag"); got != want || len(resp.Header.PeekAll("Vary")) != 1 {
					t.Errorf("%s %s: ETag %q, want %q, Vary %q", target, accept, got, want, resp.Header.PeekAll("Vary"))
				}
				resp = serveOnce(t, tagged, "GET", target, "Accept-Encoding: "+accept, `If-None-Match: "v1"`)
				if resp.StatusCode() != 304 || peek(resp, "ETag") != want {
					t.Errorf("%s %s: %d, ETag %q", target, accept, resp.StatusCode(), peek(resp, "ETag"))
				}
			}
		}
		resp := serveOnce(t, tagged, "GET", "/stored.css", "Accept-Encoding: gzip", "Range: bytes=1-", `If-Range: "v1"`)
		if resp.StatusCode() != 200 || string(resp.Body()) != "GZ" {
			t.Errorf("the rest of the file in no coding: %d %q", resp.StatusCode(), resp.Body())
		}
	})
	t.Run("what the handler says of the bytes holds", func(t *testing.T) {
		for _, tc := range []struct{ name, value, target, encoding string }{
			{"Cache-Control", "public, no-transform", "/plain.css", ""},
			{"Cache-Control", "public, no-transform", "/stored.css", "gzip"},
			{"Cache-Control", "public", "/plain.css", "gzip"},
			{"Repr-Digest", "sha-256=:AAAA:", "/plain.css", ""},
			{"Repr-Digest", "sha-256=:AAAA:", "/stored.css", ""},
			{"Content-MD5", "AAAA", "/plain.css", ""},
		} {
			resp := serveOnce(t, func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.Set(tc.name, tc.value)
				all(ctx)
			}, "GET", tc.target, "Accept-Encoding: gzip")
			if got := peek(resp, "Content-Encoding"); got != tc.encoding {
				t.Errorf("%s: %s, %s: Content-Encoding %q, want %q", tc.name, tc.value, tc.target, got, tc.encoding)
			}
		}
	})
	t.Run("no length but that of what is sent", func(t *testing.T) {
		resp := serveOnce(t, all, "GET", "/plain.css", "Accept-Encoding: gzip")
		if n := resp.Header.ContentLength(); n > 0 && n != len(resp.Body()) {
			t.Errorf("Content-Length: %d of %d bytes", n, len(resp.Body()))
		}
	})
	t.Run("a date does not tell codings apart", func(t *testing.T) {
		for _, accept := range []string{"identity", "gzip"} {
			resp := serveOnce(t, all, "GET", "/stored.css", "Accept-Encoding: "+accept, "Range: bytes=1-", "If-Range: Sat, 07 Mar 2020 10:00:00 GMT")
			if resp.StatusCode() != 200 {
				t.Errorf("%s: %d %q", accept, resp.StatusCode(), peek(resp, "Content-Range"))
			}
		}
	})
	t.Run("parts are of the stored file", func(t *testing.T) {
		resp := serveOnce(t, all, "GET", "/stored.css", "Accept-Encoding: zstd", "Range: bytes=1-1")
		if string(resp.Body()) != "S" || peek(resp, "Content-Range") != "bytes 1-1/3" || peek(resp, "Content-Encoding") != "zstd" {
			t.Errorf("%d %q %q", resp.StatusCode(), resp.Body(), peek(resp, "Content-Range"))
		}
	})
	t.Run("parts are never of what is compressed on the way", func(t *testing.T) {
		resp := serveOnce(t, all, "GET", "/plain.css", "Accept-Encoding: gzip", "Range: bytes=0-2")
		if string(resp.Body()) != "all" || peek(resp, "Content-Encoding") != "" {
			t.Errorf("%d %q", resp.StatusCode(), resp.Body())
		}
	})
}

func TestFSListing(t *testing.T) {
	handler := gallop.FSHandler(tree(t, map[string]string{
		"b.txt": "12345", "A.txt": "x", "zoo/": "", "<script>alert(1)</script>": "", `"quoted" & 100%?#.txt`: "",
		"outside": "-> ..", "javascript:x": "", "rtl\u202egpj.exe": "", "sub/<dir>/x": "",
	}), 0)
	resp := serveOnce(t, handler, "GET", "/")
	page := string(resp.Body())
	if resp.StatusCode() != 200 || peek(resp, "Content-Type") != "text/html; charset=utf-8" || !strings.Contains(peek(resp, "Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("%d %q", resp.StatusCode(), resp.Header.String())
	}
	for _, want := range []string{
		`href="./zoo/"`, `href="./b.txt"`, `>5 B<`, `>2020-03-07 10:00<`,
		`href="./%3Cscript%3Ealert(1)%3C/script%3E"`[:20], `&lt;script&gt;alert(1)`,
		`href="./%22quoted%22%20&amp;%20100%25%3F%23.txt"`, `href="./javascript:x"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the list", want)
		}
	}
	for _, bad := range []string{"<script", "outside", "\u202e", "http://", "https://"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is in the list", bad)
		}
	}
	if z, a, b := strings.Index(page, "./zoo/"), strings.Index(page, "./A.txt"), strings.Index(page, "./b.txt"); z > a || a > b {
		t.Errorf("order: %d %d %d", z, a, b)
	}
	below := string(serveOnce(t, handler, "GET", "/sub/%3Cdir%3E/").Body())
	for _, want := range []string{`<a href="./../../">example.com/</a><a href="./../">sub</a><s>/</s><b>&lt;dir&gt;</b>`, `<a href="../">`} {
		if !strings.Contains(below, want) {
			t.Errorf("no %s in\n%s", want, below[strings.Index(below, "<main>"):])
		}
	}
}

// A list is compressed as files are, if it gets smaller by that.
func TestFSListingInACoding(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "x"})
	for _, compress := range []bool{false, true} {
		site := gallop.FS{Root: dir, GenerateIndexPages: true, Compress: compress, CompressZstd: true}
		handler := site.NewRequestHandler()
		plain := serveOnce(t, handler, "GET", "/")
		coded := serveOnce(t, handler, "GET", "/", "Accept-Encoding: gzip, zstd;q=0.5")
		body, err := coded.BodyUncompressed()
		if again := serveOnce(t, func(ctx *gallop.RequestCtx) { handler(ctx); handler(ctx) }, "GET", "/", "Accept-Encoding: gzip"); again.String() != coded.String() {
			t.Errorf("once more: %q", again.Header.String())
		}
		if err != nil || string(body) != string(plain.Body()) || peek(plain, "Content-Encoding") != "" {
			t.Errorf("%d bytes, %v, plain in %q", len(body), err, peek(plain, "Content-Encoding"))
		}
		coding, vary := "", ""
		if compress {
			coding, vary = "gzip", "Accept-Encoding"
		}
		if peek(coded, "Content-Encoding") != coding || peek(coded, "Vary") != vary || peek(plain, "Vary") != vary {
			t.Errorf("Compress %v: %q, Vary %q and %q", compress, peek(coded, "Content-Encoding"), peek(coded, "Vary"), peek(plain, "Vary"))
		}
	}
}

// TestFSErrors shows what of an error a client learns.
func TestFSErrors(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
	}{
		{fs.ErrNotExist, 404}, {fs.ErrInvalid, 404}, {syscall.ENOTDIR, 404}, {syscall.ELOOP, 404}, {io.ErrNoProgress, 404},
		{fs.ErrPermission, 403}, {syscall.EMFILE, 500}, {syscall.EIO, 500},
	} {
		files := failingFS{&fs.PathError{Op: "open", Path: "/very/private/a.txt", Err: tc.err}}
		resp := serveOnce(t, (&gallop.FS{FS: files}).NewRequestHandler(), "GET", "/a.txt")
		if resp.StatusCode() != tc.status || strings.Contains(resp.String(), "private") {
			t.Errorf("%v: %s", tc.err, resp)
		}
	}
}

// TestFSFileThatIsReplaced has a device where a file was a moment ago.
func TestFSFileThatIsReplaced(t *testing.T) {
	files := replacingFS{fstest.MapFS{"a.txt": {Data: []byte("a")}}, fstest.MapFS{"a.txt": {Data: []byte("a"), Mode: fs.ModeDevice}}}
	if resp := serveOnce(t, (&gallop.FS{FS: files}).NewRequestHandler(), "GET", "/a.txt"); resp.StatusCode() != 404 {
		t.Errorf("%d %q", resp.StatusCode(), resp.Body())
	}
}

// replacingFS says of files what those before were, and opens those after.
type replacingFS struct{ before, after fstest.MapFS }

func (r replacingFS) Stat(name string) (fs.FileInfo, error) { return r.before.Stat(name) }
func (r replacingFS) Open(name string) (fs.File, error)     { return r.after.Open(name) }

// failingFS is a file system that fails.
type failingFS struct{ err error }

func (f failingFS) Open(string) (fs.File, error) { return nil, f.err }

func TestServeFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "hello", "a%20b?.txt": "literal", "a b.txt": "decoded", "link": "-> a.txt", "sub/x": ""})
	at := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	files := os.DirFS(dir)
	for _, tc := range []struct {
		name   string
		serve  gallop.RequestHandler
		status int
		body   string
	}{
		{"ServeFile", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, at("a.txt")) }, 200, "hello"},
		{"ServeFile decodes", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, at("a%20b.txt?query#x")) }, 200, "decoded"},
		{"ServeFile follows links", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, at("link")) }, 200, "hello"},
		{"ServeFile of nothing", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, at("b.txt")) }, 404, "Not Found"},
		{"ServeFile of a relative path", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, "./fs_test_missing.go") }, 404, "Not Found"},
		{"ServeFileBytes", func(ctx *gallop.RequestCtx) { gallop.ServeFileBytes(ctx, []byte(at("a.txt"))) }, 200, "hello"},
		{"ServeFileLiteral", func(ctx *gallop.RequestCtx) { gallop.ServeFileLiteral(ctx, at("a%20b?.txt")) }, 200, "literal"},
		{"ServeFileUncompressed", func(ctx *gallop.RequestCtx) { gallop.ServeFileUncompressed(ctx, at("a.txt")) }, 200, "hello"},
		{"ServeFileBytesUncompressed", func(ctx *gallop.RequestCtx) { gallop.ServeFileBytesUncompressed(ctx, []byte(at("a.txt"))) }, 200, "hello"},
		{"ServeFS", func(ctx *gallop.RequestCtx) { gallop.ServeFS(ctx, files, "a%20b.txt") }, 200, "decoded"},
		{"ServeFS outside", func(ctx *gallop.RequestCtx) { gallop.ServeFS(ctx, files, "../../../etc/passwd") }, 404, "Not Found"},
		{"ServeFSLiteral", func(ctx *gallop.RequestCtx) { gallop.ServeFSLiteral(ctx, files, "/a%20b?.txt") }, 200, "literal"},
		{"SendFile", func(ctx *gallop.RequestCtx) { ctx.SendFile(at("a.txt")) }, 200, "hello"},
		{"SendFileBytes", func(ctx *gallop.RequestCtx) { ctx.SendFileBytes([]byte(at("a.txt"))) }, 200, "hello"},
		{"SendFileLiteral", func(ctx *gallop.RequestCtx) { ctx.SendFileLiteral(at("a%20b?.txt")) }, 200, "literal"},
		{"with a status", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(503); ctx.SendFile(at("a.txt")) }, 503, "hello"},
		{"with a type", func(ctx *gallop.RequestCtx) { ctx.SetContentType("x/y"); ctx.SendFile(at("a.txt")) }, 200, "hello"},
		{"a directory", func(ctx *gallop.RequestCtx) { ctx.SendFile(at("sub")) }, 301, "Moved Permanently"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, tc.serve, "POST", "/page", "Range: bytes=0-0")
			if resp.StatusCode() != tc.status || string(resp.Body()) != tc.body {
				t.Errorf("%d %q", resp.StatusCode(), resp.Body())
			}
			if tc.name == "with a type" && peek(resp, "Content-Type") != "x/y" {
				t.Errorf("Content-Type: %q", peek(resp, "Content-Type"))
			}
		})
	}
	if at, err := gallop.FileLastModified(at("a.txt")); err != nil || !at.Equal(matrixTime) {
		t.Errorf("%v, %v", at, err)
	}
}

// TestFileInPlaceOfABody serves a file where the handler has made another answer before: nothing of that is said of
// the file.
func TestFileInPlaceOfABody(t *testing.T) {
	text := strings.Repeat("all work and no play ", 100)
	dir := tree(t, map[string]string{"a.css": text})
	file := filepath.Join(dir, "a.css")
	serveContent := func(ctx *gallop.RequestCtx) {
		gallop.ServeContent(ctx, "a.css", matrixTime, strings.NewReader(text))
	}
	sendFile := func(ctx *gallop.RequestCtx) {
		if err := ctx.Response.SendFile(file); err != nil {
			t.Error(err)
		}
	}
	bytes := func(ctx *gallop.RequestCtx) {
		ctx.SetBodyString("another")
		ctx.Response.Header.SetContentEncoding("br")
	}
	stream := func(ctx *gallop.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("another"), -1)
		ctx.Response.Header.SetContentEncoding("br")
	}
	none := func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetContentEncoding("br") }
	for _, tc := range []struct {
		name          string
		before, serve gallop.RequestHandler
		accept, want  string
	}{
		{"FS, bytes", bytes, (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler(), "", ""},
		{"FS, stream", stream, (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler(), "", ""},
		{"FS, bytes, in a coding", bytes, (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler(), "gzip", "gzip"},
		{"ServeFile", bytes, func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, file) }, "", ""},
		{"ServeFileUncompressed", bytes, func(ctx *gallop.RequestCtx) { gallop.ServeFileUncompressed(ctx, file) }, "gzip", ""},
		{"ServeContent, of a body it knows", bytes, serveContent, "", "br"},
		{"Response.SendFile", bytes, sendFile, "", ""},
		{"FS, the file is in that coding", none, (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler(), "gzip", "br"},
		{"ServeContent, the content is in that coding", none, serveContent, "gzip", "br"},
		{"Response.SendFile, the file is in that coding", none, sendFile, "gzip", "br"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, func(ctx *gallop.RequestCtx) { tc.before(ctx); tc.serve(ctx) }, "GET", "/a.css", "Accept-Encoding: "+tc.accept)
			body := string(resp.Body())
			if tc.want == "gzip" {
				b, err := resp.BodyGunzip()
				if err != nil {
					t.Fatal(err)
				}
				body = string(b)
			}
			if got := peek(resp, "Content-Encoding"); got != tc.want || body != text {
				t.Errorf("Content-Encoding %q, want %q, body %.60q", got, tc.want, body)
			}
		})
	}
}

func TestServeContentOfABrokenReader(t *testing.T) {
	broken := &brokenSeeker{}
	resp := serveOnce(t, func(ctx *gallop.RequestCtx) { gallop.ServeContent(ctx, "a", time.Time{}, broken) }, "GET", "/")
	if resp.StatusCode() != 500 || broken.closed != 1 {
		t.Errorf("%d, closed %d times", resp.StatusCode(), broken.closed)
	}
}

type brokenSeeker struct {
	io.Reader
	closed int
}

func (b *brokenSeeker) Seek(int64, int) (int64, error) { return 0, io.ErrClosedPipe }
func (b *brokenSeeker) Close() error                   { b.closed++; return nil }

// closeCounter is a content that counts how often it is closed.
type closeCounter struct {
	*bytes.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func TestServeContentClosesOnce(t *testing.T) {
	for _, fields := range [][]string{
		nil, {"Range: bytes=0-1"}, {"Range: bytes=0-1,3-4"}, {"Range: bytes=90-"}, {"If-None-Match: *"}, {"If-Match: \"x\""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			c := &closeCounter{Reader: bytes.NewReader([]byte("0123456789"))}
			serveOnce(t, func(ctx *gallop.RequestCtx) { gallop.ServeContent(ctx, "a", time.Time{}, c) }, method, "/", fields...)
			if c.closed != 1 {
				t.Errorf("%s %q: closed %d times", method, fields, c.closed)
			}
		}
	}
}

// TestFilesOverSockets sends files of sizes around those of buffers, whole and in parts, over
// TCP, where sendfile does it, and over TLS and in memory, where nothing can.
func TestFilesOverSockets(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16)
	files := map[string]string{}
	sizes := []int{0, 1, 4095, 16 << 10, 16<<10 + 1, 32 << 10, 100_000, 1 << 20}
	for _, n := range sizes {
		files[fmt.Sprintf("%d.bin", n)] = big[:n]
	}
	// The cache would keep the large file open.
	handler := (&gallop.FS{Root: tree(t, files), AcceptByteRange: true, SkipCache: true}).NewRequestHandler()
	for name, dial := range transports(t, &gallop.Server{Handler: handler}) {
		t.Run(name, func(t *testing.T) {
			for _, n := range sizes {
				file, method, half := big[:n], "GET", n/2
				c := dial()
				var request, want strings.Builder
				for range 2 {
					fmt.Fprintf(&request, "%s /%d.bin HTTP/1.1\r\nHost: x\r\n\r\n", method, n)
					want.WriteString(file)
				}
				fmt.Fprintf(&request, "HEAD /%d.bin HTTP/1.1\r\nHost: x\r\n\r\n", n)
				fmt.Fprintf(&request, "GET /%d.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=%d-\r\nConnection: close\r\n\r\n", n, half)
				want.WriteString(file[half:])
				if got := bodies(servertest.Ask(t, c, request.String())); got != want.String() {
					t.Errorf("%d: %d bytes, want %d", n, len(got), want.Len())
				}
				c.Close()
			}
		})
	}
	openFiles(t)
}

// TestFileThatGrows sends as many bytes as there were when it reported its size, wherever the response goes.
func TestFileThatGrows(t *testing.T) {
	text := strings.Repeat("all work and no play ", 100)
	dir := tree(t, map[string]string{"a.log": text, "a.bin": text})
	grown := func(handler gallop.RequestHandler) gallop.RequestHandler {
		return func(ctx *gallop.RequestCtx) {
			handler(ctx)
			f, err := os.OpenFile(filepath.Join(dir, ctx.UserValue("name").(string)), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			io.WriteString(f, "more")
		}
	}
	for name, files := range map[string]fs.FS{
		"directory": nil, "fs.FS": struct{ fs.FS }{os.DirFS(dir)}, "fs.FS of others' files": wrapped{os.DirFS(dir), 0}, "grown before it is read": wrapped{os.DirFS(dir), -4},
	} {
		t.Run(name, func(t *testing.T) {
			site := &gallop.FS{Root: dir, FS: files, Compress: true}
			if files != nil {
				site.Root = ""
			}
			handler := site.NewRequestHandler()
			for _, file := range []string{"a.bin", "a.log"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
					t.Fatal(err)
				}
				want := text
				if files, ok := files.(wrapped); ok {
					want = text[:len(text)+files.size]
				}
				for serving, serve := range map[string]gallop.RequestHandler{
					"plain": grown(handler), "compressed on the way out": gallop.CompressHandler(grown((&gallop.FS{Root: site.Root, FS: files}).NewRequestHandler())),
					"compressed": grown(handler),
				} {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
						t.Fatal(err)
					}
					accept := "gzip"
					if serving == "plain" {
						accept = ""
					}
					resp := serveOnce(t, func(ctx *gallop.RequestCtx) { ctx.SetUserValue("name", file); serve(ctx) }, "GET", "/"+file, "Accept-Encoding: "+accept)
					if body, err := resp.BodyUncompressed(); err != nil || string(body) != want || resp.StatusCode() != 200 {
						t.Errorf("%s %s: %d, %d bytes, want %d, %v", file, serving, resp.StatusCode(), len(body), len(want), err)
					}
				}
			}
		})
	}
}

// wrapped is a file system that wraps the files of another, and finds them larger by size than they are.
type wrapped struct {
	fs.FS
	size int
}

type wrappedFile struct {
	fs.File
	size int
}

type wrappedInfo struct {
	fs.FileInfo
	size int
}

func (w wrapped) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	return wrappedFile{f, w.size}, err
}

func (f wrappedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return wrappedInfo{info, f.size}, err
}

func (i wrappedInfo) Size() int64 { return i.FileInfo.Size() + int64(i.size) }

// TestFileThatShrinks ends the connection: a client can tell that bytes are missing.
func TestFileThatShrinks(t *testing.T) {
	dir := tree(t, map[string]string{"a.bin": strings.Repeat("x", 100_000)})
	handler := (&gallop.FS{Root: dir, SkipCache: true}).NewRequestHandler()
	shrink := func(ctx *gallop.RequestCtx) {
		handler(ctx)
		if err := os.Truncate(filepath.Join(dir, "a.bin"), 1000); err != nil {
			t.Error(err)
		}
	}
	for name, dial := range transports(t, &gallop.Server{Handler: shrink, Logger: noLog{}}) {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "a.bin"), make([]byte, 100_000), 0o644); err != nil {
				t.Fatal(err)
			}
			c := dial()
			defer c.Close()
			got := servertest.Ask(t, c, "GET /a.bin HTTP/1.1\r\nHost: x\r\n\r\n")
			if !strings.Contains(got, "Content-Length: 100000\r\n") || len(bodies(got)) != 1000 {
				t.Errorf("%d bytes: %.300q", len(bodies(got)), got)
			}
		})
	}
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// TestFileIsClosedWhenTheClientLeaves reads a little of a file and goes.
func TestFileIsClosedWhenTheClientLeaves(t *testing.T) {
	handler := (&gallop.FS{Root: tree(t, map[string]string{"gone.bin": strings.Repeat("x", 8<<20)}), SkipCache: true}).NewRequestHandler()
	s := &gallop.Server{Handler: handler, Logger: noLog{}}
	t.Run("while it is sent", func(t *testing.T) {
		for _, dial := range transports(t, s) {
			c := dial()
			if _, err := io.WriteString(c, "GET /gone.bin HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		s.Shutdown()
	})
	openFiles(t)
}

// bodies returns what is left of answers without their heads.
func bodies(answers string) string {
	var b strings.Builder
	for answers != "" {
		i := strings.Index(answers, "HTTP/1.1 ")
		if i < 0 {
			b.WriteString(answers)
			break
		}
		b.WriteString(answers[:i])
		_, answers, _ = strings.Cut(answers[i:], "\r\n\r\n")
	}
	return b.String()
}

// openFiles fails if files of the test are still open.
func openFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(to, os.TempDir()) && strings.HasSuffix(to, ".bin") {
			t.Errorf("%s is still open", to)
		}
	}
}

// transports serves s over TCP, TLS and in memory, and returns how to connect.
func transports(t *testing.T, s *gallop.Server) map[string]func() net.Conn {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	plain, secure := listen(), listen()
	memory := servertest.Start(t, s)
	go s.Serve(plain)
	go s.ServeTLSEmbed(secure, cert, key)
	must := func(c net.Conn, err error) net.Conn {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return map[string]func() net.Conn{
		"memory": func() net.Conn { return must(memory.Dial()) },
		"TCP":    func() net.Conn { return must(net.Dial("tcp", plain.Addr().String())) },
		"TLS": func() net.Conn {
			return must(tls.Dial("tcp", secure.Addr().String(), &tls.Config{InsecureSkipVerify: true}))
		},
	}
}

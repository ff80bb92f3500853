package handlers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// navigation is the Accept header of a browser that navigates to a page.
const navigation = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// siteCase is a request with the response that a site must give.
type siteCase struct {
	method, path, field string
	status              int
	body                string // "*" is any
	fields              string // "Name: value" of the response, joined by " | "; "Name:" is absent
}

// checkSite sends each request several times, over HTTP/1 and HTTP/2. The first response comes from the disk, the last ones
// from the cache.
func checkSite(t *testing.T, handler gallop.RequestHandler, cases []siteCase) {
	t.Helper()
	url, _ := serveFiles(t, handler, overHTTP2)
	for protocol, client := range map[string]*http.Client{"HTTP/1": keepAlive(t), "HTTP/2": h2cClient(t)} {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for i := range 4 {
			for _, tc := range cases {
				var fields []string
				if tc.field != "" {
					fields = append(fields, tc.field)
				}
				resp, body, err := get(client, tc.method, url+tc.path, fields...)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != tc.status || string(body) != tc.body && tc.body != "*" {
					t.Errorf("%s, request %d: %s %s %s: %d %.60q, want %d %q", protocol, i, tc.method, tc.path, tc.field, resp.StatusCode, body, tc.status, tc.body)
				}
				for field := range strings.SplitSeq(tc.fields, " | ") {
					name, want, _ := strings.Cut(field, ":")
					if got := strings.Join(resp.Header.Values(name), ","); name != "" && got != strings.TrimPrefix(want, " ") {
						t.Errorf("%s, request %d: %s %s %s: %s: %q, want %q", protocol, i, tc.method, tc.path, tc.field, name, got, want)
					}
				}
			}
		}
	}
}

// siteFiles is the directory of a site.
func siteFiles(t *testing.T) string {
	dir := tree(t, map[string]string{
		"index.html": "home", "about.html": "about", "docs/index.html": "docs", "docs/a.html": "docs a", "both": "a file", "both.html": "both page",
		"dir.html": "dir page", "dir/x.txt": "x", "404.html": "<h1>missing</h1>", "app.js": "app", "app.3f2a9c1b.js": "hashed", "img/a.png": "png",
		"img/deep/b.png": "deep", ".git/config": "secret", ".secret.html": "secret", "a.html.html": "twice", "page.html/x": "x",
	})
	time.Sleep(ripe)
	return dir
}

func TestNotFoundFile(t *testing.T) {
	t.Parallel()
	dir := siteFiles(t)
	checkSite(t, (&gallop.FS{Root: dir, NotFoundFile: "404.html", HideDotfiles: true, AcceptByteRange: true}).NewRequestHandler(), []siteCase{
		{"GET", "/app.js", "", 200, "app", "Cache-Control:"},
		{"GET", "/none", "", 404, "<h1>missing</h1>", "Content-Type: text/html; charset=utf-8 | Cache-Control: no-cache | Etag: | Last-Modified: | Vary:"},
		{"HEAD", "/none", "", 404, "", "Content-Length: 16"},
		{"GET", "/none.js", "Range: bytes=0-1", 404, "<h1>missing</h1>", "Content-Range:"},
		{"GET", "/none", "If-None-Match: *", 404, "<h1>missing</h1>", ""},
		{"GET", "/.git/config", "", 404, "<h1>missing</h1>", ""},
		{"GET", "/app.js/", "", 404, "<h1>missing</h1>", ""},
		{"GET", "/dir/", "", 403, "Forbidden", ""},
		{"POST", "/none", "", 405, "Method Not Allowed", "Allow: GET, HEAD"},
		{"GET", "/404.html", "", 200, "<h1>missing</h1>", "Cache-Control:"},
	})
	for _, name := range []string{"none.html", "dir", "a//b", "..", "."} {
		own := &gallop.FS{Root: dir, NotFoundFile: name, PathNotFound: func(ctx *gallop.RequestCtx) { ctx.WriteString("own") }}
		if resp := serveOnce(t, own.NewRequestHandler(), "GET", "/none"); resp.StatusCode() != 404 || string(resp.Body()) != "own" || peek(resp, "Cache-Control") != "" {
			t.Errorf("%q: %d %q", name, resp.StatusCode(), resp.Body())
		}
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	dir := siteFiles(t)
	checkSite(t, (&gallop.FS{Root: dir, Fallback: "/index.html", NotFoundFile: "404.html"}).NewRequestHandler(), []siteCase{
		{"GET", "/app.js", navigation, 200, "app", "Vary: | Cache-Control:"},
		{"GET", "/users/7", navigation, 200, "home", "Vary: Accept | Cache-Control: no-cache | Content-Type: text/html; charset=utf-8"},
		{"GET", "/users/7/?q=1", navigation, 200, "home", "Vary: Accept"},
		{"GET", "/v1.2/users", navigation, 200, "home", ""},
		{"HEAD", "/users/7", navigation, 200, "", "Content-Length: 4"},
		{"GET", "/users/7", "Accept: */*", 404, "<h1>missing</h1>", "Vary: Accept | Cache-Control: no-cache"},
		{"GET", "/users/7", "Accept: application/json, text/html;q=0.9", 404, "<h1>missing</h1>", "Vary: Accept"},
		{"GET", "/users/7", "", 404, "<h1>missing</h1>", "Vary: Accept"},
		{"GET", "/old.3f2a9c1b.js", navigation, 404, "<h1>missing</h1>", "Vary:"},
		{"GET", "/none.png", "Accept: image/avif,image/webp,*/*;q=0.8", 404, "<h1>missing</h1>", "Vary:"},
		{"POST", "/users/7", navigation, 405, "Method Not Allowed", ""},
		{"GET", "/dir/", navigation, 403, "Forbidden", ""},
	})
	checkSite(t, (&gallop.FS{Root: dir, Fallback: "none.html"}).NewRequestHandler(), []siteCase{
		{"GET", "/users/7", navigation, 404, "Not Found", "Vary: Accept | Cache-Control:"},
	})
	first := serveOnce(t, (&gallop.FS{Root: dir, Fallback: "index.html"}).NewRequestHandler(), "GET", "/x", navigation)
	again := serveOnce(t, (&gallop.FS{Root: dir, Fallback: "index.html"}).NewRequestHandler(), "GET", "/y", navigation, "If-None-Match: "+peek(first, "ETag"))
	if peek(first, "ETag") == "" || again.StatusCode() != 304 {
		t.Errorf("revalidation with %q: %d", peek(first, "ETag"), again.StatusCode())
	}
}

func TestCleanURLs(t *testing.T) {
	t.Parallel()
	dir := siteFiles(t)
	site := gallop.FS{Root: dir, CleanURLs: true, IndexNames: []string{"index.html"}, HideDotfiles: true}
	always := []siteCase{
		{"GET", "/about", "", 200, "about", "Content-Type: text/html; charset=utf-8"},
		{"HEAD", "/about", "", 200, "", "Content-Length: 5"},
		{"GET", "/about/", "", 404, "Not Found", ""},
		{"GET", "/both", "", 200, "a file", "Content-Type: text/plain; charset=utf-8"},
		{"GET", "/dir", "", 200, "dir page", ""},
		{"GET", "/dir/", "", 403, "Forbidden", ""},
		{"GET", "/docs", "", 301, "*", "Location: ./docs/"},
		{"GET", "/docs/", "", 200, "docs", ""},
		{"GET", "/docs/a", "", 200, "docs a", ""},
		{"GET", "/page", "", 404, "Not Found", ""},
		{"GET", "/.secret", "", 404, "Not Found", ""},
		{"GET", "/none", "", 404, "Not Found", ""},
	}
	checkSite(t, site.NewRequestHandler(), append(always,
		siteCase{"GET", "/about.html", "", 200, "about", ""}, siteCase{"GET", "/docs/index.html", "", 200, "docs", ""}))
	redirecting := gallop.FS{Root: dir, CleanURLs: true, RedirectHTML: true, IndexNames: []string{"index.html"}, HideDotfiles: true}
	checkSite(t, redirecting.NewRequestHandler(), append(always,
		siteCase{"GET", "/about.html", "", 301, "*", "Location: ./about"},
		siteCase{"GET", "/about.html?a=1&b=%2F", "", 301, "*", "Location: ./about?a=1&b=%2F"},
		siteCase{"GET", "/docs/a.html", "", 301, "*", "Location: ./a"},
		siteCase{"GET", "/docs/index.html", "", 301, "*", "Location: ./"},
		siteCase{"GET", "/index.html", "", 301, "*", "Location: ./"},
		siteCase{"GET", "/both.html", "", 200, "both page", ""},
		siteCase{"GET", "/a.html.html", "", 301, "*", "Location: ./a.html"},
		siteCase{"GET", "/a.html", "", 200, "twice", ""},
		siteCase{"GET", "/page.html", "", 301, "*", "Location: ./page.html/"},
		siteCase{"GET", "/none.html", "", 404, "Not Found", ""},
		siteCase{"GET", "/.secret.html", "", 404, "Not Found", ""},
	))
	alone := gallop.FS{Root: dir, RedirectHTML: true}
	checkSite(t, alone.NewRequestHandler(), []siteCase{{"GET", "/about.html", "", 200, "about", ""}, {"GET", "/about", "", 404, "Not Found", ""}})
}

// TestCleanURLFollowsTheDisk changes what a clean path stands for while it is cached.
func TestCleanURLFollowsTheDisk(t *testing.T) {
	needsCache(t)
	t.Parallel()
	dir := tree(t, map[string]string{"a.html": "page"})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir, CleanURLs: true, CheckEvery: -1}).NewRequestHandler()
	for _, step := range []struct {
		change func() error
		status int
		body   string
	}{
		{func() error { return nil }, 200, "page"},
		{func() error { return put(dir+"/a", "file") }, 200, "file"},
		{func() error { return os.Remove(dir + "/a") }, 200, "page"},
		{func() error { return os.Mkdir(dir+"/a", 0o755) }, 200, "page"},
		{func() error { return put(dir+"/a.html", "new") }, 200, "new"},
		{func() error { return os.Remove(dir + "/a.html") }, 301, ""},
		{func() error { return os.Remove(dir + "/a") }, 404, "Not Found"},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			resp := serveOnce(t, files, "GET", "/a")
			if got := string(resp.Body()); resp.StatusCode() != step.status || step.body != "" && got != step.body {
				t.Errorf("request %d: %d %q, want %d %q", i, resp.StatusCode(), got, step.status, step.body)
			}
			time.Sleep(ripe / 3)
		}
	}
}

func TestCacheControlRules(t *testing.T) {
	t.Parallel()
	dir := siteFiles(t)
	checkSite(t, (&gallop.FS{Root: dir, AcceptByteRange: true, IndexNames: []string{"index.html"}, CacheControl: []gallop.FileCacheRule{
		{Hashed: true, Value: gallop.CacheImmutable},
		{Pattern: "*.html", Value: "no-cache"},
		{Pattern: "img/*.png", Value: "max-age=60"},
		{Pattern: "img/", Value: "max-age=30"},
		{Pattern: "app.js"},
		{Pattern: "", Value: "max-age=1"},
	}}).NewRequestHandler(), []siteCase{
		{"GET", "/app.3f2a9c1b.js", "", 200, "hashed", "Cache-Control: public, max-age=31536000, immutable"},
		{"GET", "/app.3f2a9c1b.js", "Range: bytes=0-1", 206, "ha", "Cache-Control: public, max-age=31536000, immutable"},
		{"GET", "/app.3f2a9c1b.js", "If-None-Match: *", 304, "", "Cache-Control: public, max-age=31536000, immutable"},
		{"GET", "/app.3f2a9c1b.js", "Range: bytes=100-", 416, "*", "Cache-Control:"},
		{"GET", "/app.3f2a9c1b.js", `If-Match: "x"`, 412, "*", "Cache-Control:"},
		{"GET", "/none.3f2a9c1b.js", "", 404, "*", "Cache-Control:"},
		{"GET", "/", "", 200, "home", "Cache-Control: no-cache"},
		{"GET", "/img/a.png", "", 200, "png", "Cache-Control: max-age=60"},
		{"GET", "/img/deep/b.png", "", 200, "deep", "Cache-Control: max-age=30"},
		{"GET", "/app.js", "", 200, "app", "Cache-Control:"},
		{"GET", "/both", "", 200, "a file", "Cache-Control: max-age=1"},
	})
	texts := tree(t, map[string]string{"a.css": strings.Repeat("text ", 500), "b.css": strings.Repeat("text ", 500)})
	time.Sleep(ripe)
	checkSite(t, (&gallop.FS{Root: texts, Compress: true, CacheControl: []gallop.FileCacheRule{{Pattern: "a.css", Value: "no-transform"}}}).NewRequestHandler(), []siteCase{
		{"GET", "/a.css", "Accept-Encoding: gzip", 200, "*", "Content-Encoding: | Cache-Control: no-transform"},
		{"GET", "/b.css", "Accept-Encoding: gzip", 200, "*", "Content-Encoding: gzip | Cache-Control:"},
	})
	files := (&gallop.FS{Root: dir, CacheControl: []gallop.FileCacheRule{{Value: "max-age=1"}}}).NewRequestHandler()
	resp := serveOnce(t, func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "private")
		files(ctx)
	}, "GET", "/app.js")
	if peek(resp, "Cache-Control") != "private" {
		t.Errorf("the handler's Cache-Control became %q", peek(resp, "Cache-Control"))
	}
}

func TestNoSniff(t *testing.T) {
	t.Parallel()
	dir := siteFiles(t)
	with := []siteCase{
		{"GET", "/app.js", "", 200, "app", "X-Content-Type-Options: nosniff"},
		{"GET", "/none", "", 404, "Not Found", "X-Content-Type-Options: nosniff"},
		{"POST", "/", "", 405, "Method Not Allowed", "X-Content-Type-Options: nosniff"},
	}
	checkSite(t, (&gallop.FS{Root: dir, NoSniff: true}).NewRequestHandler(), with)
	checkSite(t, (&gallop.FS{Root: dir}).NewRequestHandler(), []siteCase{{"GET", "/app.js", "", 200, "app", "X-Content-Type-Options:"}})
}

func TestJSONIndexPages(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"b.txt": "12345", "A.txt": "x", "zoo/": "", "<b>&\"": "", ".hidden": "", "outside": "-> .."})
	const page = "*"
	list := &gallop.FS{Root: dir, GenerateIndexPages: true, JSONIndexPages: true, HideDotfiles: true, Compress: true}
	want := `{"entries":[{"name":"zoo","type":"directory","modified":"M"},` +
		`{"name":"\u003cb\u003e\u0026\"","type":"file","size":0,"modified":"2020-03-07T10:00:00Z"},` +
		`{"name":"A.txt","type":"file","size":1,"modified":"2020-03-07T10:00:00Z"},` +
		`{"name":"b.txt","type":"file","size":5,"modified":"2020-03-07T10:00:00Z"}]}` + "\n"
	info, err := os.Stat(dir + "/zoo")
	if err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(want, `"M"`, `"`+info.ModTime().UTC().Format(time.RFC3339)+`"`, 1)
	if !json.Valid([]byte(want)) {
		t.Fatal("the test wants invalid JSON")
	}
	checkSite(t, list.NewRequestHandler(), []siteCase{
		{"GET", "/", "Accept: application/json", 200, want, "Content-Type: application/json | X-Content-Type-Options: nosniff | Cache-Control: no-cache"},
		{"GET", "/", "Accept: text/html;q=0.5, application/json", 200, want, "Content-Type: application/json"},
		{"HEAD", "/", "Accept: application/json", 200, "", "Content-Type: application/json"},
		{"GET", "/", navigation, 200, page, "Content-Type: text/html; charset=utf-8 | Vary: Accept,Accept-Encoding"},
		{"GET", "/", "Accept: */*", 200, page, "Content-Type: text/html; charset=utf-8"},
		{"GET", "/", "", 200, page, "Content-Type: text/html; charset=utf-8"},
	})
	checkSite(t, (&gallop.FS{Root: dir, GenerateIndexPages: true}).NewRequestHandler(), []siteCase{
		{"GET", "/", "Accept: application/json", 200, page, "Content-Type: text/html; charset=utf-8 | Vary:"},
	})
}

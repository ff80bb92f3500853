package middleware_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// site makes a directory with files, and one beside it that nobody may get at.
func site(t *testing.T) (root string) {
	t.Helper()
	base := t.TempDir()
	files := map[string]string{
		"secret":                     "SECRET",
		"site/index.html":            "<h1>home</h1>",
		"site/app.js":                "let a",
		"site/app.js.gz":             "GZ",
		"site/app.js.br":             "BR",
		"site/docs/index.html":       "<h1>docs</h1>",
		"site/empty/readme.txt":      "read me",
		"site/.env":                  "SECRET",
		"site/.git/config":           "SECRET",
		"site/docs/.htpasswd":        "SECRET",
		"site/.well-known/acme":      "token",
		"site/.well-known/.hidden":   "SECRET",
		"site/numbers.txt":           "0123456789",
		"site/with space/a%b.txt":    "odd",
		"site/trailing/index.html/x": "a directory",
	}
	old := time.Now().Add(-time.Hour)
	for name, text := range files {
		name = filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	root = filepath.Join(base, "site")
	if runtime.GOOS != "windows" {
		for link, to := range map[string]string{
			"leak": "../secret", "rooted": filepath.Join(base, "secret"), "inside.txt": "numbers.txt", "up": "..", "loop": "loop",
		} {
			if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestStatic(t *testing.T) {
	root := site(t)
	app := newApp()
	app.Get("/s/*", middleware.Static{Root: root, CacheControl: "max-age=60"}.Endpoint())
	for target, want := range map[string]string{ // "" is not there
		"/s/numbers.txt":             "0123456789",
		"/s/":                        "<h1>home</h1>",
		"/s/docs/":                   "<h1>docs</h1>",
		"/s/empty/readme.txt":        "read me",
		"/s/.well-known/acme":        "token",
		"/s/with%20space/a%25b.txt":  "odd",
		"/s/docs/../numbers.txt":     "0123456789",
		"/s/empty/":                  "", // no list
		"/s/trailing/":               "",
		"/s/numbers.txt/":            "",
		"/s/none":                    "",
		"/s/.env":                    "",
		"/s/%2eenv":                  "",
		"/s/.git/config":             "",
		"/s/docs/.htpasswd":          "",
		"/s/.well-known/.hidden":     "",
		"/s/../secret":               "",
		"/s/..%2fsecret":             "",
		"/s/%2e%2e/secret":           "",
		"/s/%2e%2e%2fsecret":         "",
		"/s/..%5csecret":             "",
		"/s/docs/%2e%2e/%2e%2e/s/xx": "",
		"/s//etc/passwd":             "",
		"/s/%2fetc/passwd":           "",
		"/s/C:/secret":               "",
		"/s/leak":                    "",
		"/s/rooted":                  "",
		"/s/up/secret":               "",
		"/s/loop":                    "",
	} {
		a := ask(t, app, "GET", target)
		switch {
		case strings.Contains(a.body, "SECRET"):
			t.Errorf("%s: %q", target, a.body)
		case want == "" && (a.status != 404 || a.body != "Not Found"):
			t.Errorf("%s: %d %q", target, a.status, a.body)
		case want == "":
			a.want(t, "Cache-Control", "")
		case a.status != 200 || a.body != want:
			t.Errorf("%s: %d %q, want %q", target, a.status, a.body, want)
		default:
			a.want(t, "Cache-Control", "max-age=60")
		}
	}
	if runtime.GOOS != "windows" {
		if a := ask(t, app, "GET", "/s/inside.txt"); a.body != "0123456789" {
			t.Errorf("a link within: %d %q", a.status, a.body)
		}
	}
	ask(t, app, "GET", "/s/docs").want(t, "Location", "./docs/")
	if a := ask(t, app, "GET", "/s/a%00b"); a.status != 400 && a.status != 404 {
		t.Errorf("NUL: %d", a.status)
	}
	if a := ask(t, app, "POST", "/s/numbers.txt"); a.status != 405 {
		t.Errorf("POST: %d", a.status)
	}
}

func TestStaticAnswers(t *testing.T) {
	app := newApp()
	app.Get("/*file", middleware.Static{Root: site(t), CacheControl: "max-age=60"}.Endpoint())
	whole := ask(t, app, "GET", "/numbers.txt")
	tag := whole.header.Get("ETag")
	for _, tc := range []struct {
		name, method, target string
		fields               []string
		status               int
		body, encoding       string
	}{
		{"HEAD", "HEAD", "/numbers.txt", nil, 200, "", ""},
		{"a range", "GET", "/numbers.txt", []string{"Range: bytes=2-4"}, 206, "234", ""},
		{"its end", "GET", "/numbers.txt", []string{"Range: bytes=-3"}, 206, "789", ""},
		{"beyond", "GET", "/numbers.txt", []string{"Range: bytes=10-"}, 416, "", ""},
		{"another unit", "GET", "/numbers.txt", []string{"Range: lines=2-4"}, 200, "0123456789", ""},
		{"unchanged", "GET", "/numbers.txt", []string{"If-None-Match: " + tag}, 304, "", ""},
		{"unchanged since", "GET", "/numbers.txt", []string{"If-Modified-Since: " + whole.header.Get("Last-Modified")}, 304, "", ""},
		{"a range of another version", "GET", "/numbers.txt", []string{"Range: bytes=2-4", `If-Range: "x"`}, 200, "0123456789", ""},
		{"gzip", "GET", "/app.js", []string{"Accept-Encoding: gzip"}, 200, "GZ", "gzip"},
		{"br", "GET", "/app.js", []string{"Accept-Encoding: gzip, br"}, 200, "BR", "br"},
		{"by preference", "GET", "/app.js", []string{"Accept-Encoding: gzip, br;q=0.5"}, 200, "GZ", "gzip"},
		{"no coding", "GET", "/app.js", []string{"Accept-Encoding: identity"}, 200, "let a", ""},
		{"what was compressed by itself", "GET", "/app.js.gz", nil, 200, "GZ", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, app, tc.method, tc.target, tc.fields...)
			if a.status != tc.status || tc.status != 416 && a.body != tc.body {
				t.Errorf("%d %q, want %d %q", a.status, a.body, tc.status, tc.body)
			}
			a.want(t, "Content-Encoding", tc.encoding)
			cache := "max-age=60"
			if tc.status == 416 {
				cache = ""
			}
			a.want(t, "Cache-Control", cache)
		})
	}
}

func TestStaticMiddleware(t *testing.T) {
	files := fstest.MapFS{
		"index.html": {Data: []byte("home")}, "api/users": {Data: []byte("a file")}, "app.js": {Data: []byte("let a")}, ".env": {Data: []byte("SECRET")},
	}
	app := newApp(middleware.Static{FS: files}.Handler())
	app.Get("/api/:what", func(c *web.Ctx) error { return c.SendString("api " + c.Params("what")) })
	app.Post("/app.js", says("posted"))
	for _, tc := range []struct {
		method, target string
		status         int
		body           string
	}{
		{"GET", "/", 200, "home"},
		{"GET", "/app.js", 200, "let a"},
		{"GET", "/api/users", 200, "a file"},
		{"GET", "/api/orders", 200, "api orders"},
		{"POST", "/app.js", 200, "posted"},
		{"GET", "/none", 404, "Not Found"},
		{"GET", "/.env", 404, "Not Found"},
	} {
		a := ask(t, app, tc.method, tc.target)
		if a.status != tc.status || a.body != tc.body {
			t.Errorf("%s %s: %d %q", tc.method, tc.target, a.status, a.body)
		}
	}
	ask(t, app, "GET", "/api/orders").want(t, "Content-Type", "text/plain; charset=utf-8")
}

// Static keeps the status and headers that earlier middleware has set, whether or not it finds the file.
func TestStaticLeavesTheAnswer(t *testing.T) {
	files := failingFS{fstest.MapFS{"a.txt": {Data: []byte("a")}, "dir/b.txt": {Data: []byte("b")}}}
	app := newApp(web.Handler(func(c *web.Ctx) error {
		c.SetHeader("X-Before", "yes").Status(202).Type("image/png")
		return c.Next()
	}))
	app.Get("/files/*", middleware.Static{FS: files}.Endpoint())
	app.Post("/files/*", middleware.Static{FS: files}.Endpoint())
	app.Group("", middleware.Static{FS: files}.Handler()).Get("/*", func(c *web.Ctx) error { return c.Send([]byte("route")) })
	for _, tc := range []struct{ method, target, want string }{
		{"GET", "/files/a.txt", "202 a"},
		{"POST", "/files/a.txt", "405 Method Not Allowed"},
		{"GET", "/files/none", "404 Not Found"},
		{"GET", "/files/dir", "404 Not Found"},
		{"GET", "/files/%00", "404 Not Found"},
		{"GET", "/files/denied", "404 Not Found"},
		{"GET", "/files/broken", "500 Internal Server Error"},
		{"GET", "/none", "202 route"},
		{"GET", "/dir", "202 route"},
		{"GET", "/%00", "202 route"},
		{"GET", "/denied", "202 route"},
		{"GET", "/broken", "500 Internal Server Error"},
	} {
		a := ask(t, app, tc.method, tc.target)
		if got := fmt.Sprint(a.status, " ", a.body); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.method, tc.target, got, tc.want)
		}
		a.want(t, "X-Before", "yes")
		if a.status < 300 {
			a.want(t, "Content-Type", "image/png")
		}
		allow := ""
		if a.status == 405 {
			allow = "GET, HEAD"
		}
		a.want(t, "Allow", allow)
	}
}

// failingFS is files of which some cannot be read.
type failingFS struct{ fs.FS }

func (f failingFS) Open(name string) (fs.File, error) {
	switch name {
	case "denied":
		return nil, fs.ErrPermission
	case "broken":
		return nil, syscall.EIO
	}
	return f.FS.Open(name)
}

// A directory without index.html is not there, whether its path ends in a slash or not: routes and Fallback come into play.
func TestStaticDirectories(t *testing.T) {
	files := fstest.MapFS{"index.html": {Data: []byte("shell")}, "api/users": {Data: []byte("a file")}, "docs/index.html": {Data: []byte("docs")}}
	app := newApp(middleware.Static{FS: files}.Handler())
	app.Get("/api", says("route"))
	page := newApp()
	page.Get("/*", middleware.Static{FS: files, Fallback: "index.html"}.Endpoint())
	for _, tc := range []struct {
		app      *web.App
		target   string
		status   int
		body     string
		location string
	}{
		{app, "/api", 200, "route", ""},
		{app, "/api/", 404, "Not Found", ""},
		{app, "/docs?q", 301, "Moved Permanently", "./docs/?q"},
		{page, "/api", 200, "shell", ""},
		{page, "/docs", 301, "Moved Permanently", "./docs/"},
	} {
		a := ask(t, tc.app, "GET", tc.target, "Accept: text/html")
		if a.status != tc.status || a.body != tc.body {
			t.Errorf("%s: %d %q", tc.target, a.status, a.body)
		}
		a.want(t, "Location", tc.location)
	}
}

// The parameter at the end of the route is the file, of whatever kind it is.
func TestStaticParameters(t *testing.T) {
	files := fstest.MapFS{"a.txt": {Data: []byte("a")}, "7": {Data: []byte("seven")}, "index.html": {Data: []byte("home")}, "x/y*": {Data: []byte("star")}, "d/7.txt": {Data: []byte("text")}, "h/7.txt": {Data: []byte("by its path")}, "i/{7}": {Data: []byte("braces")}}
	serve := middleware.Static{FS: files}.Endpoint()
	app := newApp()
	for _, pattern := range []string{"/a/:name", "/b/:n<int;regex(^.*$)>", "/c/*rest", "/c/:x/*", "/d/:n.txt", `/x/y\*`, "/e/{name}", "/f/{n<int;regex([0-9]{1,2})>}", "/g/{rest...}", "/h/{n}.txt", `/i/\{7\}`} {
		app.Get(pattern, serve)
	}
	for target, want := range map[string]string{
		"/a/a.txt": "a", "/a/none": "Not Found", "/b/7": "seven", "/c/a.txt": "a", "/c/x/": "home", "/c/x/7": "seven", "/d/7.txt": "text", "/x/y*": "star",
		"/e/a.txt": "a", "/e/none": "Not Found", "/f/7": "seven", "/g/d/7.txt": "text", "/g/": "home", "/h/7.txt": "by its path", "/i/%7B7%7D": "braces",
	} {
		if a := ask(t, app, "GET", target); a.body != want {
			t.Errorf("%s: %d %q, want %q", target, a.status, a.body, want)
		}
	}
}

// The path that guards and routes compare is the one whose file is served.
func TestStaticSeesThePathOfGuards(t *testing.T) {
	files := fstest.MapFS{"private/a": {Data: []byte("SECRET")}, "open/a": {Data: []byte("open")}, "index.html": {Data: []byte("shell")}}
	guard := web.Handler(func(c *web.Ctx) error {
		if strings.HasPrefix(c.Path(), "/private") {
			return web.NewError(403)
		}
		return c.Next()
	})
	verbatim := web.Handler(func(c *web.Ctx) error {
		c.RequestCtx().URI().DisablePathNormalizing = true
		return c.Next()
	})
	route := newApp(guard)
	route.Get("/*", middleware.Static{FS: files}.Endpoint())
	for name, app := range map[string]*web.App{
		"route":          route,
		"middleware":     newApp(guard, middleware.Static{FS: files}.Handler()),
		"not normalized": newApp(verbatim, guard, middleware.Static{FS: files}.Handler()),
	} {
		for _, target := range []string{"/private/a", "//private/a", "///private//a", "/x/..//private/a", "/x//../private/a", "/open//..//private/a"} {
			if a := ask(t, app, "GET", target); a.status == 200 || strings.Contains(a.body, "SECRET") {
				t.Errorf("%s: %s: %d %q", name, target, a.status, a.body)
			}
		}
		want := 200
		if name == "not normalized" {
			want = 404
		}
		if a := ask(t, app, "GET", "//open//a"); a.status != want {
			t.Errorf("%s: %d %q", name, a.status, a.body)
		}
	}
	for _, fallback := range []string{"//index.html", "open//a", "/open//a"} {
		app := newApp()
		app.Get("/*", middleware.Static{FS: files, Fallback: fallback}.Endpoint())
		if a := ask(t, app, "GET", "/users", "Accept: text/html"); a.status != 404 {
			t.Errorf("the fallback %q: %d %q", fallback, a.status, a.body)
		}
	}
}

// Without a route, or one with such a parameter, it is the path.
func TestStaticWithoutAParameter(t *testing.T) {
	files := fstest.MapFS{"app.js": {Data: []byte("let a")}}
	app := newApp(middleware.Static{FS: files}.Endpoint())
	app.Get("/app.js", says("never"))
	for target, want := range map[string]int{"/app.js": 200, "/none": 404} {
		if a := ask(t, app, "GET", target); a.status != want || want == 200 && a.body != "let a" {
			t.Errorf("%s: %d %q", target, a.status, a.body)
		}
	}
}

func TestStaticFallback(t *testing.T) {
	files := fstest.MapFS{"index.html": {Data: []byte("shell")}, "app.js": {Data: []byte("let a")}, ".x": {Data: []byte("dot")}}
	app := newApp()
	app.Get("/*", middleware.Static{FS: files, Fallback: "index.html", CacheControl: "max-age=60", Dotfiles: true}.Endpoint())
	for _, tc := range []struct {
		target, accept string
		status         int
		body, cache    string
	}{
		{"/app.js", "text/html", 200, "let a", "max-age=60"},
		{"/users/7", "text/html,application/xhtml+xml,*/*;q=0.8", 200, "shell", "no-cache"},
		{"/users/7/", "text/html", 200, "shell", "no-cache"},
		{"/users/7", "application/json", 404, "Not Found", ""},
		{"/users/7", "image/webp,*/*;q=0.1", 404, "Not Found", ""},
		{"/missing.js", "text/html", 404, "Not Found", ""},
		{"/.x", "*/*", 200, "dot", "max-age=60"},
	} {
		a := ask(t, app, "GET", tc.target, "Accept: "+tc.accept)
		if a.status != tc.status || a.body != tc.body {
			t.Errorf("%s: %d %q", tc.target, a.status, a.body)
		}
		a.want(t, "Cache-Control", tc.cache)
	}
	app = newApp()
	app.Get("/*", middleware.Static{FS: fstest.MapFS{}, Fallback: "index.html"}.Endpoint())
	if a := ask(t, app, "GET", "/x", "Accept: text/html"); a.status != 404 {
		t.Errorf("a fallback that is not there: %d", a.status)
	}
}

func TestStaticSite(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"index.html": "home", "about.html": "about", "docs/index.html": "docs", "404.html": "missing", "app.3f2a9c1b.js": "hashed", "app.js": "app", "x.html/a": "a",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1_600_000_000, 0)}
	}
	app := newApp()
	app.Get("/*", middleware.Static{
		FS: files, CacheControl: "max-age=60", CacheRules: []gallop.FileCacheRule{{Hashed: true, Value: gallop.CacheImmutable}, {Pattern: "*.html", Value: "no-cache"}},
		CleanURLs: true, RedirectHTML: true, NotFoundFile: "404.html",
	}.Endpoint())
	spa := newApp(middleware.Static{FS: files, Fallback: "index.html", NotFoundFile: "404.html"}.Handler())
	spa.Post("/none", says("route"))
	none := newApp(middleware.Static{FS: files, NotFoundFile: "none.html"}.Handler())
	none.Get("/none", says("route"))
	for _, tc := range []struct {
		app            *web.App
		method, target string
		status         int
		body, cache    string
		location       string
	}{
		{app, "GET", "/app.3f2a9c1b.js", 200, "hashed", "public, max-age=31536000, immutable", ""},
		{app, "GET", "/app.js", 200, "app", "max-age=60", ""},
		{app, "GET", "/", 200, "home", "no-cache", ""},
		{app, "GET", "/about", 200, "about", "no-cache", ""},
		{app, "GET", "/about.html?q=1", 301, "*", "", "./about?q=1"},
		{app, "GET", "/docs/index.html", 301, "*", "", "./"},
		{app, "GET", "/docs", 301, "*", "", "./docs/"},
		{app, "GET", "/docs/", 200, "docs", "no-cache", ""},
		{app, "GET", "/x.html", 404, "missing", "no-cache", ""},
		{app, "GET", "/none", 404, "missing", "no-cache", ""},
		{app, "GET", "/none.html", 404, "missing", "no-cache", ""},
		{app, "GET", "/.env", 404, "missing", "no-cache", ""},
		{app, "HEAD", "/none", 404, "", "no-cache", ""},
		{spa, "GET", "/users/7", 200, "home", "no-cache", ""},
		{spa, "GET", "/none.js", 404, "missing", "no-cache", ""},
		{spa, "GET", "/about", 200, "home", "no-cache", ""},
		{spa, "GET", "/about.html", 200, "about", "", ""},
		{spa, "POST", "/none", 200, "route", "", ""},
		{none, "GET", "/none", 200, "route", "", ""},
	} {
		a := ask(t, tc.app, tc.method, tc.target, "Accept: text/html")
		if a.status != tc.status || a.body != tc.body && tc.body != "*" {
			t.Errorf("%s %s: %d %q, want %d %q", tc.method, tc.target, a.status, a.body, tc.status, tc.body)
		}
		a.want(t, "Cache-Control", tc.cache)
		a.want(t, "Location", tc.location)
		sniff := "nosniff"
		if tc.body == "route" {
			sniff = ""
		}
		a.want(t, "X-Content-Type-Options", sniff)
		if a.status == 404 {
			a.want(t, "ETag", "")
			a.want(t, "Last-Modified", "")
		}
	}
}

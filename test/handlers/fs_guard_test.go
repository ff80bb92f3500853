package handlers_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// guarded returns a handler that refuses paths below /private and serves the others.
func guarded(files gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		if bytes.HasPrefix(ctx.Path(), []byte("/private")) {
			ctx.Error("guarded", gallop.StatusForbidden)
			return
		}
		files(ctx)
	}
}

// waysAround are targets that lead to /private/secret.txt for one reader or another.
var waysAround = []string{
	"/private/secret.txt", "//private/secret.txt", "///private/secret.txt", "/private//secret.txt",
	"/private///secret.txt", "//private//secret.txt//", "/x/..//private/secret.txt", "/x//../private/secret.txt",
	"/x//..//private/secret.txt", "/x/y//../..//private/secret.txt", "/./private/secret.txt", "/.//private/secret.txt",
	"//./private/secret.txt", "//.//private/./secret.txt", "/%2e//private/secret.txt", "/x/%2e%2e//private/secret.txt",
	"/%2f/private/secret.txt", "/%2fprivate/secret.txt", "/%2F%2Fprivate/secret.txt", "/private%2fsecret.txt",
	"/%70rivate/secret.txt", "//%70rivate/secret.txt", "/../private/secret.txt", "//../private/secret.txt",
	"/%5cprivate/secret.txt", "/private%5csecret.txt", "/%00/private/secret.txt", "/private/../private//secret.txt",
	"http://h/private/secret.txt", "http://h//private/secret.txt", "http://h/x/..//private/secret.txt",
	"http://h///private//secret.txt", "//h//private/secret.txt", "//private/secret.txt?a=/public", "/public//../private/secret.txt",
}

func TestGuardAndFilesSeeOnePath(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"private/secret.txt": "SECRET", "public/a.txt": "open", "x/y/z": ""})
	handlers := map[string]gallop.RequestHandler{
		"FS": (&gallop.FS{Root: dir, GenerateIndexPages: true}).NewRequestHandler(),
		"FS of an fs.FS": (&gallop.FS{FS: fstest.MapFS{
			"private/secret.txt": {Data: []byte("SECRET")}, "public/a.txt": {Data: []byte("open")},
		}}).NewRequestHandler(),
		"FSHandler": gallop.FSHandler(dir, 0),
		"a rewrite": (&gallop.FS{Root: dir, PathRewrite: func(ctx *gallop.RequestCtx) []byte { return ctx.Path() }}).NewRequestHandler(),
		"ServeFile": func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, dir+string(ctx.Path())) },
	}
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, files := range handlers {
			on.Talk(t, &gallop.Server{Handler: notNormalized(guarded(files))}, func(c *wiretest.Conversation) {
				for _, target := range slices.Concat(waysAround, []string{"//public///a.txt", "/public//a.txt", "/x/..//public/a.txt"}) {
					r := c.Send("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n").Next("GET")
					if r.Status != 404 && r.Status != 403 && r.Status != 400 || strings.Contains(string(r.Body), "SECRET") {
						t.Errorf("%s: %s without normalizing: %d %q", name, target, r.Status, r.Body)
					}
				}
			})
			on.Talk(t, &gallop.Server{Handler: guarded(files)}, func(c *wiretest.Conversation) {
				for _, target := range waysAround {
					r := c.Send("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n").Next("GET")
					if r.Status == 200 || strings.Contains(string(r.Body), "SECRET") {
						t.Errorf("%s: %s leads around the guard: %d %q", name, target, r.Status, r.Body)
					}
				}
				r := c.Send("GET //public///a.txt HTTP/1.1\r\nHost: h\r\n\r\n").Next("GET")
				if r.Status != 200 || string(r.Body) != "open" {
					t.Errorf("%s: what is not guarded: %d %q", name, r.Status, r.Body)
				}
			})
		}
	})
}

// notNormalized returns a handler for which paths are not normalized.
func notNormalized(h gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		ctx.URI().DisablePathNormalizing = true
		h(ctx)
	}
}

// A path that still has an empty segment names no file.
func TestFSEmptySegments(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "SECRET", "sub/a.txt": "SECRET", "sub/index.html": "SECRET"})
	mem := fstest.MapFS{"a.txt": {Data: []byte("SECRET")}, "sub/a.txt": {Data: []byte("SECRET")}}
	to := func(p string) gallop.RequestHandler {
		return (&gallop.FS{Root: dir, PathRewrite: func(*gallop.RequestCtx) []byte { return []byte(p) }}).NewRequestHandler()
	}
	for _, tc := range []struct {
		name, target string
		handler      gallop.RequestHandler
	}{
		{"not normalized", "//sub/a.txt", notNormalized(gallop.FSHandler(dir, 0))},
		{"not normalized, in the middle", "/sub//a.txt", notNormalized(gallop.FSHandler(dir, 0))},
		{"not normalized, a directory", "/sub//", notNormalized(gallop.FSHandler(dir, 0))},
		{"not normalized, the root", "//", notNormalized(gallop.FSHandler(dir, 0))},
		{"not normalized, dots", "/x/..//sub/a.txt", notNormalized(gallop.FSHandler(dir, 0))},
		{"not normalized, a file as root", "//", notNormalized((&gallop.FS{Root: filepath.Join(dir, "a.txt")}).NewRequestHandler())},
		{"slashes stripped", "/x//sub/a.txt", notNormalized(gallop.FSHandler(dir, 1))},
		{"prefix stripped", "/x//sub/a.txt", notNormalized((&gallop.FS{Root: dir, PathRewrite: gallop.NewPathPrefixStripper(2)}).NewRequestHandler())},
		{"host in front", "//sub/a.txt", notNormalized((&gallop.FS{Root: filepath.Dir(dir), PathRewrite: gallop.NewVHostPathRewriter(0)}).NewRequestHandler())},
		{"rewritten", "/", to("//sub/a.txt")},
		{"rewritten, without a slash in front", "/", to("sub//a.txt")},
		{"rewritten, at the end", "/", to("/sub/a.txt//")},
		{"an index", "/", (&gallop.FS{Root: dir, IndexNames: []string{"sub//a.txt"}}).NewRequestHandler()},
		{"an index, in front", "/", (&gallop.FS{Root: dir, IndexNames: []string{"//a.txt"}}).NewRequestHandler()},
		{"ServeFile", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, dir+"//a.txt") }},
		{"ServeFile, uncompressed", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFileUncompressed(ctx, dir+"/sub//a.txt") }},
		{"ServeFile, escaped", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFile(ctx, dir+"/%2fa.txt") }},
		{"ServeFileLiteral", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFileLiteral(ctx, dir+"//a.txt") }},
		{"SendFile", "/", func(ctx *gallop.RequestCtx) { ctx.SendFile("/" + dir + "/a.txt") }},
		{"ServeFS", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFS(ctx, mem, "sub//a.txt") }},
		{"ServeFS, in front", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFS(ctx, mem, "//a.txt") }},
		{"ServeFSLiteral", "/", func(ctx *gallop.RequestCtx) { gallop.ServeFSLiteral(ctx, mem, "a.txt//") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := serveOnce(t, tc.handler, "GET", tc.target)
			if s := resp.StatusCode(); s != 404 && s != 403 || bytes.Contains(resp.Body(), []byte("SECRET")) {
				t.Errorf("%d %q", s, resp.Body())
			}
		})
	}
}

// A guard that compares the path sees what a proxy sends.
func TestPathIsThatOfWhatIsSent(t *testing.T) {
	for _, raw := range waysAround {
		var u, sent gallop.URI
		if u.Parse([]byte("h"), []byte(raw)) != nil {
			continue
		}
		if err := sent.Parse([]byte("h"), u.RequestURI()); err != nil || !bytes.Equal(sent.Path(), u.Path()) {
			t.Errorf("%s: the path is %q, and %q is sent, which is %q", raw, u.Path(), u.RequestURI(), sent.Path())
		}
	}
}

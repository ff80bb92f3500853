package handlers_test

import (
	"embed"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"testing/fstest"

	"github.com/gallop-http/gallop"
)

//go:embed testdata/embedded
var embedded embed.FS

// TestEmbeddedFiles requests files that have no modification time, over HTTP/1 and HTTP/2. They have strong tags, and
// conditional requests get a 304.
func TestEmbeddedFiles(t *testing.T) {
	t.Parallel()
	sub, err := fs.Sub(embedded, "testdata/embedded")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile("testdata/embedded/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	handlers := map[string]gallop.RequestHandler{
		"FS": (&gallop.FS{FS: embedded, Root: "testdata/embedded", IndexNames: []string{"index.html"}, AcceptByteRange: true,
			Compress: true, CompressBrotli: true, CompressZstd: true}).NewRequestHandler(),
		"FS with fs.Sub": (&gallop.FS{FS: sub, IndexNames: []string{"index.html"}, AcceptByteRange: true,
			Compress: true, CompressBrotli: true, CompressZstd: true}).NewRequestHandler(),
		"ServeFS": func(ctx *gallop.RequestCtx) {
			name := string(ctx.Path())
			if name == "/docs/" {
				name += "index.html"
			}
			gallop.ServeFS(ctx, embedded, "testdata/embedded"+name)
		},
		"ServeFS with fs.Sub": func(ctx *gallop.RequestCtx) {
			name := string(ctx.Path())
			if name == "/docs/" {
				name += "index.html"
			}
			sub, _ := fs.Sub(embedded, "testdata/embedded") // a new one for each request
			gallop.ServeFS(ctx, sub, name)
		},
	}
	tags := map[string]string{} // equal for all handlers, protocols and requests
	for name, handler := range handlers {
		url, inMemory := serveFiles(t, handler, overHTTP2)
		for protocol, client := range map[string]*http.Client{"HTTP/1": keepAlive(t), "HTTP/2": h2cClient(t)} {
			for _, tc := range []struct{ path, accept, coding, want string }{
				{"/a.css", "identity", "", read("a.css")},
				{"/a.css", "gzip", "gzip", read("a.css.gz")},
				{"/b.txt", "gzip", "", read("b.txt")},
				{"/empty.txt", "gzip", "", ""},
				{"/docs/", "identity", "", read("docs/index.html")},
			} {
				for i := range 4 {
					resp, body, err := get(client, "GET", url+tc.path, "Accept-Encoding: "+tc.accept)
					if err != nil {
						t.Fatal(err)
					}
					tag := resp.Header.Get("Etag")
					if resp.StatusCode != 200 || string(body) != tc.want || resp.Header.Get("Content-Encoding") != tc.coding {
						t.Errorf("%s, %s, %s, request %d: %d %.40q in %q", name, protocol, tc.path, i, resp.StatusCode, body, resp.Header.Get("Content-Encoding"))
					}
					if len(tag) < 20 || tag[0] != '"' || resp.Header.Get("Last-Modified") != "" {
						t.Errorf("%s, %s, %s, request %d: tag %q, Last-Modified %q", name, protocol, tc.path, i, tag, resp.Header.Get("Last-Modified"))
					}
					key := tc.path + tc.coding
					if before := tags[key]; before != "" && before != tag {
						t.Errorf("%s, %s, %s, request %d: tag %q, before %q", name, protocol, key, i, tag, before)
					}
					tags[key] = tag
					resp, body, err = get(client, "GET", url+tc.path, "Accept-Encoding: "+tc.accept, "If-None-Match: "+tag)
					if err != nil || resp.StatusCode != 304 || len(body) > 0 || resp.Header.Get("Etag") != tag {
						t.Errorf("%s, %s, %s, request %d: %v %v with the tag", name, protocol, key, i, resp.StatusCode, err)
					}
				}
			}
			resp, body, err := get(client, "GET", url+"/b.txt", "Range: bytes=2-4", "If-Range: "+tags["/b.txt"])
			if err != nil || resp.StatusCode != 206 || string(body) != "ain" {
				t.Errorf("%s, %s: a range got %v %q %v", name, protocol, resp.StatusCode, body, err)
			}
		}
		if inMemory.Load() == 0 {
			t.Errorf("%s: no response came from memory", name)
		}
	}
	seen := map[string]string{}
	for key, tag := range tags {
		if seen[tag] != "" {
			t.Errorf("%s and %s have the tag %s", key, seen[tag], tag)
		}
		seen[tag] = key
	}
}

// TestOtherFileSystemsWithoutTimes has a file system whose files may change at any time. They get no tag.
func TestOtherFileSystemsWithoutTimes(t *testing.T) {
	files := fstest.MapFS{"a.txt": {Data: []byte("old")}}
	handlers := map[string]gallop.RequestHandler{
		"FS":      (&gallop.FS{FS: files}).NewRequestHandler(),
		"ServeFS": func(ctx *gallop.RequestCtx) { gallop.ServeFS(ctx, files, "a.txt") },
	}
	for name, handler := range handlers {
		for _, content := range []string{"old", "new"} {
			files["a.txt"] = &fstest.MapFile{Data: []byte(content)}
			for range 3 {
				if resp := serveOnce(t, handler, "GET", "/a.txt"); string(resp.Body()) != content || peek(resp, "ETag") != "" {
					t.Errorf("%s: %q, tag %q", name, resp.Body(), peek(resp, "ETag"))
				}
			}
		}
	}
}

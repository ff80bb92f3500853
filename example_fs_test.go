package gallop_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
)

// From net/http to gallop, files: a row of the README's table, an example.

// exampleSite makes a directory with these files and returns its name.
func exampleSite(files map[string]string) string {
	dir, err := os.MkdirTemp("", "site")
	if err != nil {
		log.Fatal(err)
	}
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// http.FileServer(http.Dir(dir)), and http.StripPrefix before it: the 1 leaves out one segment of the path.
func ExampleFSHandler() {
	dir := exampleSite(map[string]string{"hello.txt": "hello"})
	defer os.RemoveAll(dir)

	files := gallop.FSHandler(dir, 1)
	printGet(files, "/static/hello.txt", "Content-Type")
	printGet(files, "/static/../../etc/passwd")
	// Output:
	// 200
	// Content-Type: text/plain; charset=utf-8
	// hello
	// 404
	// Not Found
}

// http.FileServer, with what there is to choose. FS.FS takes an embed.FS, or any other.
func ExampleFS() {
	site := &gallop.FS{
		FS:              fstest.MapFS{"index.html": {Data: []byte("<h1>hello</h1>")}, "a.txt": {Data: []byte("0123456789")}},
		IndexNames:      []string{"index.html"},
		AcceptByteRange: true,
		Compress:        true,
		PathNotFound:    func(ctx *gallop.RequestCtx) { ctx.WriteString("nothing here") },
	}
	handler := site.NewRequestHandler()
	printGet(handler, "/", "Content-Type")
	printGet(handler, "/no")
	r := exampleRequest("GET", "/a.txt", "", "")
	r.Header.Set("Range", "bytes=2-5")
	printAnswer(&gallop.Server{Handler: handler}, r, "Content-Range")
	// Output:
	// 200
	// Content-Type: text/html; charset=utf-8
	// <h1>hello</h1>
	// 404
	// nothing here
	// 206
	// Content-Range: bytes 2-5/10
	// 2345
}

// http.StripPrefix
func ExamplePathRewriteFunc() {
	site := &gallop.FS{
		FS:          fstest.MapFS{"hello.txt": {Data: []byte("hello")}},
		PathRewrite: gallop.NewPathPrefixStripper(len("/static")),
	}
	printGet(site.NewRequestHandler(), "/static/hello.txt")
	// Output:
	// 200
	// hello
}

// http.ServeFile. The path is the program's: one that a client has a say in is for FS.
func ExampleServeFile() {
	dir := exampleSite(map[string]string{"terms.txt": "be kind"})
	defer os.RemoveAll(dir)

	printGet(func(ctx *gallop.RequestCtx) {
		gallop.ServeFile(ctx, filepath.Join(dir, "terms.txt"))
	}, "/terms")
	// Output:
	// 200
	// be kind
}

// http.ServeContent
func ExampleServeContent() {
	published := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	handler := func(ctx *gallop.RequestCtx) {
		gallop.ServeContent(ctx, "report.csv", published, strings.NewReader("a,b\n1,2\n"))
	}
	printGet(handler, "/report", "Content-Type", "Last-Modified")

	r := exampleRequest("GET", "/report", "", "")
	r.Header.Set("If-Modified-Since", "Sun, 01 Jun 2025 12:00:00 GMT")
	printAnswer(&gallop.Server{Handler: handler}, r)
	// Output:
	// 200
	// Content-Type: text/csv; charset=utf-8
	// Last-Modified: Sun, 01 Jun 2025 12:00:00 GMT
	// a,b
	// 1,2
	// 304
}

// A directory for each host.
func ExampleNewVHostPathRewriter() {
	site := &gallop.FS{
		FS:          fstest.MapFS{"example.com/hello.txt": {Data: []byte("hello from example.com")}},
		PathRewrite: gallop.NewVHostPathRewriter(0),
	}
	handler := site.NewRequestHandler()
	printGet(handler, "/hello.txt")

	elsewhere := exampleRequest("GET", "/hello.txt", "", "")
	elsewhere.Host = "example.org"
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		handler(ctx)
		fmt.Println(ctx.Response.StatusCode() == gallop.StatusNotFound)
	}}
	printAnswer(s, elsewhere)
	// Output:
	// 200
	// hello from example.com
	// true
	// 404
	// Not Found
}

// A handler serves a part of a slice without ServeContent.
func ExampleParseByteRange() {
	content := []byte("hello, world")
	first, last, err := gallop.ParseByteRange([]byte("bytes=7-"), len(content))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d-%d: %s\n", first, last, content[first:last+1])
	// Output: 7-11: world
}

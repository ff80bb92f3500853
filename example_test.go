package gallop_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/memnet"
)

// The examples call their handlers in memory, through the functions below. Therefore all examples can run as tests.

// printGet sends a GET request for path to handler and prints the response. See printAnswer.
func printGet(handler gallop.RequestHandler, path string, fields ...string) {
	printAnswer(&gallop.Server{Handler: handler}, exampleRequest("GET", path, "", ""), fields...)
}

// printPost sends a POST request to handler and prints the response. See printAnswer.
func printPost(handler gallop.RequestHandler, path, contentType, body string, fields ...string) {
	printAnswer(&gallop.Server{Handler: handler}, exampleRequest("POST", path, contentType, body), fields...)
}

// exampleRequest returns a request to http://example.com.
func exampleRequest(method, path, contentType, body string) *http.Request {
	r, err := http.NewRequest(method, "http://example.com"+path, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

// printAnswer sends r to s and prints the response: the status, the headers named in fields, and the body.
func printAnswer(s *gallop.Server, r *http.Request, fields ...string) {
	ln := memnet.NewListener()
	go s.Serve(ln)
	defer s.Close()
	transport := &http.Transport{
		DialContext:        ln.DialContext,
		DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r) // follows no redirection
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode)
	for _, name := range fields {
		for _, value := range resp.Header[name] {
			fmt.Printf("%s: %s\n", name, value)
		}
	}
	if len(body) > 0 {
		fmt.Printf("%s\n", strings.TrimSuffix(string(body), "\n"))
	}
}

func ExampleServe() {
	ln := memnet.NewListener() // any net.Listener will do
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "hello, %s", ctx.Path())
	})
	defer ln.Close()

	c, err := ln.Dial()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /gopher HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c)
	fmt.Println(strings.HasSuffix(string(answer), "\r\n\r\nhello, /gopher"))
	// Output: true
}

func ExampleServer_ShutdownWithContext() {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	ln := memnet.NewListener()
	ended := make(chan error)
	go func() { ended <- s.Serve(ln) }()

	// In a program: ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fmt.Println(s.ShutdownWithContext(ctx), <-ended)
	// Output: <nil> <nil>
}

// The server refuses malformed requests before they reach the handler. The ErrorHandler writes the response that the
// client gets instead.
func ExampleServer_errorHandler() {
	s := &gallop.Server{
		Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("not reached") },
		Logger:  log.New(io.Discard, "", 0),
		ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
			ctx.SetContentType("application/json")
			ctx.SetBodyString(`{"error":"bad request"}`)
			fmt.Println(err)
		},
	}
	client, server := memnet.Pipe()
	go s.ServeConn(server)
	fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	client.CloseWrite()
	answer, _ := io.ReadAll(client)
	status, _, _ := strings.Cut(string(answer), "\r\n")
	fmt.Println(status)
	// Output:
	// gallop: both Content-Length and Transfer-Encoding (RFC 9112 §6.1)
	// HTTP/1.1 400 Bad Request
}

// A []byte that the server hands to a handler is valid only until the handler returns. To keep its contents, convert it
// to a string, which is a copy. PoisonReleased makes the mistake visible: the server overwrites the bytes with 0xDB.
func ExampleServer_poisonReleased() {
	var view []byte
	var text string
	s := &gallop.Server{
		PoisonReleased: true, // as in every test that runs with -race
		Handler: func(ctx *gallop.RequestCtx) {
			view = ctx.Path()         // wrong: kept beyond the handler
			text = string(ctx.Path()) // right: a copy
		},
	}
	client, server := memnet.Pipe()
	fmt.Fprint(client, "GET /gopher HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	client.Close()
	s.ServeConn(server)
	fmt.Printf("view: % X\ntext: %s\n", view, text)
	// Output:
	// view: DB DB DB DB DB DB DB
	// text: /gopher
}

// The counterpart of httptest.NewRecorder sends one request to a handler through a real server. The counterpart of
// httptest.NewServer starts a server and a client for a test.
func Example_testing() {
	count := func(ctx *gallop.RequestCtx) {
		w, err := ctx.StreamResponse() // needs a server
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, len(ctx.PostBody()), " bytes")
	}

	var req gallop.Request
	req.Header.SetMethod(gallop.MethodPost)
	req.SetRequestURI("/count")
	req.SetBodyString("hello")
	resp := galloptest.Do(count, &req)
	fmt.Println(resp.StatusCode(), string(resp.Body()))

	_ = func(t *testing.T) { // TestCount
		client, url := galloptest.Serve(t, count)
		req.SetRequestURI(url + "/count")
		if err := client.DoContext(t.Context(), &req, resp); err != nil || string(resp.Body()) != "5 bytes" {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
	}
	// Output: 200 5 bytes
}

func ExampleURI() {
	var u gallop.URI
	if err := u.Parse(nil, []byte("https://example.com/docs/../a%20b?page=2#top")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", u.Host(), u.Path(), u.QueryArgs().Peek("page"))
	u.QueryArgs().SetUint("page", 3)
	u.Update("c")
	fmt.Println(u.String())
	// Output:
	// example.com /a b 2
	// https://example.com/c
}

func ExampleArgs_All() {
	var args gallop.Args
	args.Parse("q=fast+and+correct&lang=en&lang=de")
	args.Add("page", "1")
	for key, value := range args.All() {
		fmt.Printf("%s: %s\n", key, value)
	}
	// Output:
	// q: fast and correct
	// lang: en
	// lang: de
	// page: 1
}

func ExampleCookie() {
	var c gallop.Cookie
	c.SetKey("session")
	c.SetValue("4f3a")
	c.SetPath("/")
	c.SetHTTPOnly(true)
	c.SetSameSite(gallop.CookieSameSiteNoneMode)
	fmt.Println(c.String())

	c.SetValue("4f3a; domain=evil.example") // refused: a value stays a value
	fmt.Println(c.String())
	// Output:
	// session=4f3a; path=/; HttpOnly; secure; SameSite=None
	// session=; path=/; HttpOnly; secure; SameSite=None
}

func ExampleRequestHeader_All() {
	var h gallop.RequestHeader
	h.DisableNormalizing()
	h.Set("x-request-id", "7")
	h.EnableNormalizing()
	for name, value := range h.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output: X-Request-Id: 7
}

// docs/from-nethttp.md has a table of the ways to serve files. The following examples show the rows of that table.

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

// The counterpart in net/http is http.FileServer(http.Dir(dir)) with http.StripPrefix. The argument 1 removes one
// segment of the path.
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

// The counterpart in net/http is http.FileServer, but FS has more options. The field FS.FS takes an embed.FS or any
// other fs.FS.
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

// The counterpart in net/http is http.StripPrefix.
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

// A built site: paths without .html, files with a hash in their names, and a page for missing files.
func ExampleFS_site() {
	site := &gallop.FS{
		FS: fstest.MapFS{
			"about.html":      {Data: []byte("about us")},
			"app.3f2a9c1b.js": {Data: []byte("run()")},
			"404.html":        {Data: []byte("no such page")},
		},
		CleanURLs:    true,
		RedirectHTML: true,
		CacheControl: []gallop.FileCacheRule{{Hashed: true, Value: gallop.CacheImmutable}, {Value: "no-cache"}},
		NotFoundFile: "404.html",
		NoSniff:      true,
	}
	handler := site.NewRequestHandler()
	printGet(handler, "/about", "Cache-Control")
	printGet(handler, "/about.html", "Location")
	printGet(handler, "/app.3f2a9c1b.js", "Cache-Control", "X-Content-Type-Options")
	printGet(handler, "/none")
	// Output:
	// 200
	// Cache-Control: no-cache
	// about us
	// 301
	// Location: ./about
	// Moved Permanently
	// 200
	// Cache-Control: public, max-age=31536000, immutable
	// X-Content-Type-Options: nosniff
	// run()
	// 404
	// no such page
}

// A single-page application: its page is sent when a browser navigates to a route. A missing script stays a 404.
func ExampleFS_singlePageApplication() {
	site := &gallop.FS{FS: fstest.MapFS{"index.html": {Data: []byte("the application")}}, Fallback: "index.html"}
	handler := site.NewRequestHandler()
	for _, path := range []string{"/users/7", "/missing.js"} {
		r := exampleRequest("GET", path, "", "")
		r.Header.Set("Accept", "text/html,*/*;q=0.8")
		printAnswer(&gallop.Server{Handler: handler}, r, "Vary")
	}
	// Output:
	// 200
	// Vary: Accept
	// the application
	// 404
	// Not Found
}

// A list of files as JSON, for clients that prefer JSON.
func ExampleFS_jSONIndexPages() {
	site := &gallop.FS{FS: fstest.MapFS{"a.txt": {Data: []byte("12345")}}, GenerateIndexPages: true, JSONIndexPages: true}
	r := exampleRequest("GET", "/", "", "")
	r.Header.Set("Accept", "application/json")
	printAnswer(&gallop.Server{Handler: site.NewRequestHandler()}, r, "Content-Type")
	// Output:
	// 200
	// Content-Type: application/json
	// {"entries":[{"name":"a.txt","type":"file","size":5}]}
}

// The counterpart in net/http is http.ServeFile. The program chooses the path. If the client chooses the path, use FS
// instead.
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

// A missing file gets a response of the program.
func ExampleTryServeFile() {
	printGet(func(ctx *gallop.RequestCtx) {
		if err := gallop.TryServeFile(ctx, "none.txt"); err != nil {
			ctx.Redirect("/start", gallop.StatusSeeOther)
		}
	}, "/terms", "Location")
	// Output:
	// 303
	// Location: http://example.com/start
}

// The counterpart in net/http is http.ServeContent.
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

// Each host has a directory of its own.
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

// This handler serves a part of a slice without ServeContent.
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

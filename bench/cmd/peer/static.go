package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/peers"
	"github.com/valyala/fasthttp"
)

// The app "static" serves the files of a directory by the file handler of each server. Next to a file may be a .gz file
// with its content in gzip. The app "static-uncached" opens the files for each request.
func init() {
	apps["static"] = func(o options) peers.App { return static(o.files, false) }
	apps["static-uncached"] = func(o options) peers.App { return static(o.files, true) }
}

func static(dir string, uncached bool) peers.App {
	ours := (&gallop.FS{Root: dir, AcceptByteRange: true, Compress: true, SkipCache: uncached}).NewRequestHandler()
	theirs := (&fasthttp.FS{
		SkipCache: uncached, Root: dir, AcceptByteRange: true, Compress: true, CompressRoot: dir,
		CompressedFileSuffixes: map[string]string{"gzip": ".gz", "br": ".br", "zstd": ".zst"},
	}).NewRequestHandler()
	return peers.App{
		Handle:   func(ctx peers.Context) { serveFile(ctx, ours, theirs) },
		Standard: http.FileServer(http.Dir(dir)).ServeHTTP, // which sends no .gz files
		Floor:    func() func([]byte) []byte { return storedResponses(dir, ours) },
	}
}

// storedResponses calls a file handler once for each file of a directory. The result returns the response of the file that
// a request names, without looking at anything but the path.
func storedResponses(dir string, files gallop.RequestHandler) func(request []byte) []byte {
	responses := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	for _, name := range names {
		var ctx gallop.RequestCtx
		path := "/" + filepath.Base(name)
		ctx.Request.SetRequestURI(path)
		ctx.Request.Header.SetHost("localhost")
		ctx.Request.Header.Set("Accept-Encoding", "gzip")
		files(&ctx)
		var response bytes.Buffer
		ctx.Response.Header.Set("Server", "gallop")
		ctx.Response.Header.Set("Date", "Sat, 01 Jan 2000 00:00:00 GMT")
		if _, err := ctx.Response.WriteTo(&response); err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		responses[path] = response.Bytes()
	}
	return func(request []byte) []byte {
		_, rest, _ := bytes.Cut(request, []byte(" "))
		path, _, _ := bytes.Cut(rest, []byte(" "))
		return responses[string(path)]
	}
}

// serveFile calls the file handler of the server that the context is from.
func serveFile(ctx peers.Context, ours gallop.RequestHandler, theirs fasthttp.RequestHandler) {
	switch ctx := ctx.(type) {
	case *gallop.RequestCtx:
		ours(ctx)
	case *fasthttp.RequestCtx:
		theirs(ctx)
	}
}

package main

import (
	"net/http"

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

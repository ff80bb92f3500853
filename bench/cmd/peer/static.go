package main

import (
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/peers"
	"github.com/valyala/fasthttp"
)

// The app "static" serves the files of a directory by the file handler of each server. Next to a file may be a .gz file
// with its content in gzip.
func init() { apps["static"] = func(o options) peers.App { return static(o.files) } }

func static(dir string) peers.App {
	ours := (&gallop.FS{Root: dir, AcceptByteRange: true, Compress: true}).NewRequestHandler()
	theirs := (&fasthttp.FS{
		Root: dir, AcceptByteRange: true, Compress: true, CompressRoot: dir,
		CompressedFileSuffixes: map[string]string{"gzip": ".gz", "br": ".br", "zstd": ".zst"},
	}).NewRequestHandler()
	return peers.App{
		Handle: func(ctx peers.Context) {
			switch ctx := ctx.(type) {
			case *gallop.RequestCtx:
				ours(ctx)
			case *fasthttp.RequestCtx:
				theirs(ctx)
			}
		},
		Standard: http.FileServer(http.Dir(dir)).ServeHTTP, // which sends no .gz files
	}
}

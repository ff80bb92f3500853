package main

import (
	"bytes"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// arena is the handler of all ports.
type arena struct {
	files gallop.RequestHandler // nil without a directory
	json  gallop.RequestHandler // compresses if the client accepts it
	echo  gallop.RequestHandler
	items *profile.Database // nil without a database
	cache profile.Cache
}

func newArena(directory string) *arena {
	a := &arena{echo: nethttp.FromHTTP(echo{})}
	a.json = gallop.CompressHandlerOptions(a.lines, gallop.CompressOptions{})
	if directory != "" {
		fs := &gallop.FS{Root: directory, PathRewrite: gallop.NewPathSlashesStripper(1), Compress: true, CompressBrotli: true}
		a.files = fs.NewRequestHandler()
	}
	return a
}

// handle finds the workload of a request.
func (a *arena) handle(ctx *gallop.RequestCtx) {
	path := ctx.Path()
	switch {
	case string(path) == "/baseline11", string(path) == "/baseline2":
		sum(ctx)
	case string(path) == "/pipeline":
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("ok")
	case bytes.HasPrefix(path, []byte("/json/")):
		a.json(ctx)
	case string(path) == uploadPath:
		upload(ctx)
	case bytes.HasPrefix(path, []byte("/static/")) && a.files != nil:
		a.files(ctx)
	case string(path) == "/ws":
		a.echo(ctx)
	case string(path) == "/async-db":
		a.withItems(ctx, a.priceRange)
	case string(path) == "/crud/items":
		a.withItems(ctx, a.collection)
	case bytes.HasPrefix(path, []byte("/crud/items/")):
		a.withItems(ctx, a.item)
	default:
		ctx.Error("there is nothing at this path\n", gallop.StatusNotFound)
	}
}

func (a *arena) withItems(ctx *gallop.RequestCtx, handle gallop.RequestHandler) {
	if a.items == nil {
		ctx.Error("there is no database: set the flag -database\n", gallop.StatusServiceUnavailable)
		return
	}
	handle(ctx)
}

// allow responds with 405 unless the method of a request is one of these.
func allow(ctx *gallop.RequestCtx, methods ...string) bool {
	for _, m := range methods {
		if string(ctx.Method()) == m {
			return true
		}
	}
	ctx.Error("this path does not support the method\n", gallop.StatusMethodNotAllowed)
	for _, m := range methods {
		ctx.Response.Header.Add("Allow", m)
	}
	return false
}

package main

import (
	"net"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

func serveGallop(l net.Listener, mode string) error {
	s := &gallop.Server{Handler: gallopHandler(mode)}
	return s.Serve(l)
}

func serveGallopNetHTTP(l net.Listener, mode string) error {
	return nethttp.Serve(l, netHTTPHandler(mode))
}

func gallopHandler(mode string) gallop.RequestHandler {
	switch mode {
	case "baseline":
		return func(ctx *gallop.RequestCtx) {
			ctx.SetContentType("text/plain")
			if string(ctx.Path()) == "/pipeline" {
				ctx.SetBodyString("ok")
				return
			}
			args := ctx.QueryArgs()
			sum := number(args.Peek("a")) + number(args.Peek("b"))
			if ctx.IsPost() {
				sum += number(ctx.PostBody())
			}
			var buf [20]byte
			ctx.SetBody(strconv.AppendInt(buf[:0], sum, 10))
		}
	case "post":
		return func(ctx *gallop.RequestCtx) {
			ctx.SetContentType("application/octet-stream")
			ctx.SetBody(ctx.PostBody())
		}
	}
	return func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString(hello)
	}
}

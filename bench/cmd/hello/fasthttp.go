package main

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
)

func serveFasthttp(l net.Listener, mode string) error {
	s := &fasthttp.Server{Handler: fasthttpHandler(mode)}
	return s.Serve(l)
}

func fasthttpHandler(mode string) fasthttp.RequestHandler {
	switch mode {
	case "baseline":
		return func(ctx *fasthttp.RequestCtx) {
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
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/octet-stream")
			ctx.SetBody(ctx.PostBody())
		}
	}
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString(hello)
	}
}

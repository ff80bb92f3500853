// Command fasthttp is a hello world of fasthttp. With it ../../compare measures the memory of a program that
// contains only this server.
package main

import (
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

func main() {
	log.Fatal(fasthttp.ListenAndServe(os.Args[1], func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("Hello, World!")
	}))
}

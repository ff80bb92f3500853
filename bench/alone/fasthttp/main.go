// Command fasthttp is a hello world of fasthttp, and nothing else, for ../../cmd/versus to see what a program of it takes.
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

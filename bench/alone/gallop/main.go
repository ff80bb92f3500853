// Command gallop is a hello world of gallop, and nothing else, for ../../cmd/versus to see what a program of it takes.
package main

import (
	"log"
	"os"

	"github.com/gallop-http/gallop"
)

func main() {
	log.Fatal(gallop.ListenAndServe(os.Args[1], func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("Hello, World!")
	}))
}

// Command gallop is a hello world of gallop. With it ../../compare measures the memory of a program that contains
// only this server.
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

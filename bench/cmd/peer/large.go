package main

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/gallop-http/gallop/bench/peers"
)

func init() {
	apps["large"] = func(options) peers.App { return large }
	apps["flushed"] = func(options) peers.App { return flushed }
}

// page is what large answers, and eight pieces of it what flushed does.
var page = bytes.Repeat([]byte("0123456789abcdef"), 4<<10)

const flushes = 8

// large answers everything with 64 KiB. It does not announce their length to net/http.
var large = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		ctx.SetBody(page)
	},
	Standard: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(page)
	},
}

// flushed answers everything with eight pieces of 1 KiB, and sends each at once.
var flushed = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyStream(strings.NewReader(string(page[:flushes<<10])), -1) // which cannot be flushed
	},
	Standard: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		control := http.NewResponseController(w)
		for i := range flushes {
			w.Write(page[i<<10 : (i+1)<<10])
			if control.Flush() != nil {
				return
			}
		}
	},
}

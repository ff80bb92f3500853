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

// page is the body of the app "large". The app "flushed" sends its first eight KiB.
var page = bytes.Repeat([]byte("0123456789abcdef"), 4<<10)

const flushes = 8

// large responds to every request with 64 KiB. It does not tell net/http the length in advance.
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

// flushed responds to every request with eight pieces of 1 KiB and flushes each of them.
var flushed = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyStream(strings.NewReader(string(page[:flushes<<10])), -1) // a stream here cannot be flushed piece by piece
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

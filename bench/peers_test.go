package bench

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// answer is the body of every response of these benchmarks, and of postRequest.
var answer = []byte("Hello, world!")

// work says which requests the servers get, and collects what the handlers saw.
type work struct {
	post    bool // requests are POST with answer as their body, instead of GET
	close   bool // each response closes its connection
	clients int  // number of open connections

	served atomic.Int64 // number of handler calls
	wrong  atomic.Int64 // number of handler calls with a wrong method or body
}

// peers are the servers under comparison. Each serves l until Accept fails, and returns when all its connections are
// done. The name is the value of the "server" key in the benchmark's name, from which benchstat makes columns.
var peers = []struct {
	name  string
	serve func(l net.Listener, w *work) error
}{
	{"fasthttp", serveFasthttp},
	{"gallop", serveGallop},
	{"nethttp", serveNetHTTP},
}

// eachPeer runs f as one sub-benchmark for each server.
func eachPeer(b *testing.B, f func(b *testing.B, serve func(net.Listener, *work) error)) {
	for _, p := range peers {
		b.Run("server="+p.name, func(b *testing.B) { f(b, p.serve) })
	}
}

func serveFasthttp(l net.Listener, w *work) error {
	s := &fasthttp.Server{
		Concurrency: 16 * w.clients,
		Handler: func(ctx *fasthttp.RequestCtx) {
			switch {
			case w.post && (!ctx.IsPost() || !bytes.Equal(ctx.PostBody(), answer)),
				!w.post && !ctx.IsGet():
				w.wrong.Add(1)
			}
			ctx.Success("text/plain", answer)
			if w.close {
				ctx.SetConnectionClose()
			}
			w.served.Add(1)
		},
	}
	return s.Serve(l)
}

func serveGallop(l net.Listener, w *work) error {
	s := &gallop.Server{
		Concurrency: 16 * w.clients,
		Handler: func(ctx *gallop.RequestCtx) {
			switch {
			case w.post && (!ctx.IsPost() || !bytes.Equal(ctx.PostBody(), answer)),
				!w.post && !ctx.IsGet():
				w.wrong.Add(1)
			}
			ctx.Success("text/plain", answer)
			if w.close {
				ctx.SetConnectionClose()
			}
			w.served.Add(1)
		},
	}
	return s.Serve(l)
}

func serveNetHTTP(l net.Listener, w *work) error {
	s := &http.Server{
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if w.post {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.Method != http.MethodPost || !bytes.Equal(body, answer) {
					w.wrong.Add(1)
				}
			} else if r.Method != http.MethodGet {
				w.wrong.Add(1)
			}
			rw.Header().Set("Content-Type", "text/plain")
			if w.close {
				rw.Header().Set("Connection", "close")
			}
			rw.Write(answer)
			w.served.Add(1)
		}),
	}
	return s.Serve(l)
}

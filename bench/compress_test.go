package bench

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
	brrr "github.com/molecule-man/go-brrr"
	"github.com/valyala/fasthttp"
)

// These benchmarks compare responses that are compressed with br at level 4. Both servers use go-brrr. The peer "encoder" is
// go-brrr without a server: the difference to it is a server's own share.

func BenchmarkServerCompressJSON1K(b *testing.B)   { benchCompress(b, 1<<10) }
func BenchmarkServerCompressJSON8K(b *testing.B)   { benchCompress(b, 8<<10) }
func BenchmarkServerCompressJSON100K(b *testing.B) { benchCompress(b, 100<<10) }

var compressRequest = []byte("GET /json/50 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, br\r\n\r\n")

func benchCompress(b *testing.B, size int) {
	body := jsonList(size)
	b.Run("server=fasthttp", func(b *testing.B) {
		h := fasthttp.CompressHandlerBrotliLevel(func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.SetBody(body)
		}, 4, 6)
		benchCompressed(b, func(l net.Listener) error { return (&fasthttp.Server{Handler: h}).Serve(l) })
	})
	b.Run("server=gallop", func(b *testing.B) {
		h := gallop.CompressHandlerBrotliLevel(func(ctx *gallop.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.SetBody(body)
		}, 4, 6)
		benchCompressed(b, func(l net.Listener) error { return (&gallop.Server{Handler: h}).Serve(l) })
	})
	b.Run("server=encoder", func(b *testing.B) {
		var out counter
		w, err := brrr.NewWriter(&out, 4)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			w.Reset(&out)
			w.Write(body)
			w.Close()
		}
		b.ReportMetric(float64(out)/float64(b.N), "sent-B/op")
	})
}

func benchCompressed(b *testing.B, serve func(net.Listener) error) {
	l := newLoad(compressRequest, b.N, few(), 10_000)
	b.ReportAllocs()
	b.ResetTimer()
	_ = serve(l)
	b.StopTimer()
	b.ReportMetric(float64(l.written.Load())/float64(b.N), "sent-B/op")
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// jsonList returns a list of items as JSON. It is the same on each call.
func jsonList(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"Alpha", "Bravo", "Nova", "Prime", "Ultra", "Micro", "Hyper", "Delta", "Vertex", "Quartz"}
	text := []byte(`{"items":[`)
	for id := 1; len(text) < size-150; id++ {
		text = fmt.Appendf(text, `{"id":%d,"name":"%s %s %d","category":"tools","price":%.2f,"quantity":%d,"active":%t,"tags":["fast","new"],"rating":{"score":%.1f,"count":%d}},`,
			id, words[random.IntN(10)], words[random.IntN(10)], random.IntN(900), random.Float64()*500, random.IntN(1000), random.IntN(3) > 0,
			random.Float64()*5, random.IntN(2000))
	}
	text[len(text)-1] = ']'
	return append(text, '}')
}

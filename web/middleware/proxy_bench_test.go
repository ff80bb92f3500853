package middleware_test

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// BenchmarkProxy measures one request at a time: straight to the target, through Proxy, and through ReverseProxy of the standard
// library, once on gallop's server and once on net/http's.
func BenchmarkProxy(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"100B", 100}, {"100KB", 100_000}} {
		body := make([]byte, size.n)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBody(body) }}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go s.Serve(ln)
		direct := "http://" + ln.Addr().String()
		to, _ := url.Parse(direct)
		reverse := &httputil.ReverseProxy{
			Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.SetXForwarded()
			},
		}
		on := func(h web.Handler) string {
			app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet(), StreamRequestBody: true}})
			app.All("/{path...}", h)
			return serveFront(b, "loops", app, app.Serve).url
		}
		std, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go http.Serve(std, reverse)
		for _, way := range []struct{ name, url string }{
			{"direct", direct},
			{"Proxy", on(middleware.Proxy{Targets: []string{direct}}.Handler())},
			{"ReverseProxy", on(web.FromHTTP(reverse))},
			{"ReverseProxy-net-http", "http://" + std.Addr().String()},
		} {
			b.Run(size.name+"/"+way.name, func(b *testing.B) {
				client := &gallop.Client{}
				req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
				req.SetRequestURI(way.url)
				b.ReportAllocs()
				b.SetBytes(int64(size.n))
				for b.Loop() {
					if err := client.Do(req, resp); err != nil || len(resp.Body()) != size.n {
						b.Fatal(err, len(resp.Body()))
					}
				}
			})
		}
		b.Cleanup(func() { s.Close(); std.Close() })
	}
}

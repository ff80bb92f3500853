// Command proxy is a reverse proxy: it passes requests on to an upstream server and tells it who sent them. It believes headers such
// as X-Forwarded-For only if they come from a proxy that it trusts.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	upstream := flag.String("upstream", "http://127.0.0.1:9000", "URL of the server behind the proxy")
	trusted := flag.String("trusted", "", "networks of the proxies in front of this one, separated by commas")
	flag.Parse()
	if err := run(*addr, *upstream, *trusted); err != nil {
		log.Fatal(err)
	}
}

func run(addr, upstream, trusted string) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	var networks []netip.Prefix
	for network := range strings.FieldsFuncSeq(trusted, func(r rune) bool { return r == ',' }) {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return err
		}
		networks = append(networks, prefix)
	}
	app := web.New(web.Config{
		TrustedProxies: networks,
		Server:         &gallop.Server{StreamRequestBody: true, ShutdownTimeout: 10 * time.Second},
	})
	app.Use(middleware.Logger{}, middleware.Recover{})
	app.All("/{path...}", web.FromHTTP(newProxy(target)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return app.Run(ctx, ln)
}

// newProxy returns a ReverseProxy, which drops hop-by-hop headers (RFC 9110 §7.6.1) in both directions.
func newProxy(target *url.URL) http.Handler {
	transport := nethttp.NewTransport()
	transport.ResponseHeaderTimeout = 30 * time.Second
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // pass on each part of a response at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			// Rewrite starts without the client's Forwarded and X-Forwarded-*. Ctx looks at them only if the peer is trusted,
			// and skips the trusted proxies in the list.
			if c, ok := web.CtxOf(r.In); ok {
				r.Out.Header.Set("X-Forwarded-For", c.IP())
				r.Out.Header.Set("X-Forwarded-Proto", c.Scheme())
				r.Out.Header.Set("X-Forwarded-Host", c.Host())
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			status := http.StatusBadGateway
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				status = http.StatusGatewayTimeout
			}
			log.Printf("%s %s: %v", r.Method, r.URL.Path, err) // for the operator only: it names the upstream's address
			http.Error(w, http.StatusText(status), status)
		},
	}
}

// Command proxy is a reverse proxy: it passes requests on to an upstream server and tells it who sent them. It believes headers such
// as X-Forwarded-For only if they come from a proxy that it trusts.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
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
	app.All("/{path...}", middleware.Proxy{
		Targets:  []string{upstream},
		KeepHost: false, // the upstream gets its own host, and the client's in X-Forwarded-Host
		Timeout:  30 * time.Second,
	}.Handler())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return app.Run(ctx, ln)
}

// Command metrics serves an app, and metrics and profiles on a second address that only the operators can reach.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/expvarhandler"
	"github.com/gallop-http/gallop/metrics"
	"github.com/gallop-http/gallop/pprofhandler"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/prometheus/client_golang/prometheus"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address of the app")
	private := flag.String("private", "127.0.0.1:9090", "TCP address of metrics and profiles; keep it out of reach of clients")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *private); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done or a listener fails.
func run(ctx context.Context, addr, private string) error {
	public, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	admin, err := net.Listen("tcp", private)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	server := &gallop.Server{}
	go func() {
		defer stop()
		ended <- newAdmin(server).Run(ctx, admin)
	}()
	err = newApp(server).Run(ctx, public)
	stop()
	return errors.Join(err, <-ended)
}

// newApp returns the app for clients. Metrics comes first, so that it measures the other middleware, too.
func newApp(server *gallop.Server) *web.App {
	app := web.New(web.Config{Server: server})
	app.Use(metrics.Metrics{}, middleware.Recover{}, middleware.Timeout{After: 5 * time.Second})
	app.Get("/hello/{name}", func(c *web.Ctx) error { return c.SendString("hello " + c.Params("name") + "\n") })
	return app
}

// newAdmin returns the app for operators. A profile may take longer than a request of a client, so it has no Timeout.
func newAdmin(server *gallop.Server) *web.App {
	prometheus.MustRegister(metrics.NewServerCollector(server))
	app := web.New(web.Config{})
	app.Use(middleware.Recover{}, middleware.HostAllow{}) // no other site can read it in a browser; add the host that Prometheus uses
	app.Get("/metrics", metrics.Handler(nil))
	app.Get("/debug/vars", web.FromGallop(expvarhandler.Handler))
	app.Get("/debug/pprof/{profile...}", web.FromGallop(pprofhandler.Handler("")))
	return app
}

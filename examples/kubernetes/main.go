// Command kubernetes is a service that loses no request when its pod is replaced. After SIGTERM it does the following:
//
//   - The readiness probe fails, so that the endpoints of the Service lose this pod.
//   - For the time of LameDuck, requests that still come are served, each as the last one on its connection.
//   - The listener is closed. New connections are refused.
//   - Requests in flight have ShutdownTimeout to finish.
//
// deployment.yaml has the probes and terminationGracePeriodSeconds, which must be longer than both times together.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func main() {
	addr := flag.String("addr", ":8080", "TCP address to listen on")
	lameDuck := flag.Duration("lameduck", 10*time.Second, "how long to serve after SIGTERM before the listener is closed")
	timeout := flag.Duration("timeout", 30*time.Second, "how long to wait after that for requests in flight")
	flag.Parse()
	if err := run(*addr, *lameDuck, *timeout); err != nil {
		log.Fatal(err)
	}
	log.Print("stopped; no request was lost")
}

func run(addr string, lameDuck, timeout time.Duration) error {
	var health middleware.Health // add Checks for what the service needs, such as its database
	app := web.New(web.Config{Server: &gallop.Server{
		StreamRequestBody: true, // for sum, which reads bodies of any size
		LameDuck:          lameDuck,
		ShutdownTimeout:   timeout,
	}})
	app.Use(middleware.Logger{Skip: isProbe}, middleware.Recover{})
	app.Get("/livez", health.Live)
	app.Get("/readyz", health.Ready)
	app.Post("/sum", sum)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, func() {
		health.Drain()
		stop() // a second signal ends the program at once
	})
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return app.Run(ctx, ln)
}

// isProbe keeps the probes out of the log.
func isProbe(c *web.Ctx) bool { return c.Path() == "/livez" || c.Path() == "/readyz" }

// sum responds with the SHA-256 of the body. A request may take a while, as long as its body takes.
func sum(c *web.Ctx) error {
	hash := sha256.New()
	if body := c.RequestCtx().RequestBodyStream(); body != nil {
		if _, err := io.Copy(hash, body); err != nil {
			return &web.Error{Status: gallop.StatusBadRequest, Err: err}
		}
	}
	return c.SendString(fmt.Sprintf("%x\n", hash.Sum(nil)))
}

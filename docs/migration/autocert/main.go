// Command autocert serves https with certificates of Let's Encrypt. docs/deployment.md shows it.
package main

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gallop-http/gallop/web"
	"golang.org/x/crypto/acme/autocert"
)

func main() {
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		HostPolicy: autocert.HostWhitelist("example.com", "www.example.com"),
		Cache:      autocert.DirCache("/var/lib/shop/certs"),
	}
	app := web.New(web.Config{})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("hello") })

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", ":443")
	if err != nil {
		log.Fatal(err)
	}
	if err := app.Run(ctx, tls.NewListener(ln, manager.TLSConfig())); err != nil {
		log.Fatal(err)
	}
}

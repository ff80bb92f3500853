// Command tls serves HTTPS and redirects plain HTTP to it. A certificate that is renewed needs no restart: the server looks every
// second whether the files have changed.
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
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8443", "TCP address for HTTPS")
	plain := flag.String("plain", "127.0.0.1:8080", "TCP address for HTTP")
	cert := flag.String("cert", "cert.pem", "file with the certificate")
	key := flag.String("key", "key.pem", "file with the key of the certificate")
	host := flag.String("host", "localhost:8443", "host that HTTP redirects to, with the port unless it is 443")
	flag.Parse()
	if err := run(*addr, *plain, *cert, *key, *host); err != nil {
		log.Fatal(err)
	}
}

func run(addr, plain, cert, key, host string) error {
	secureListener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer secureListener.Close()
	plainListener, err := net.Listen("tcp", plain)
	if err != nil {
		return err
	}
	defer plainListener.Close()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- newSecure().RunTLS(ctx, secureListener, cert, key) }()
	go func() { ended <- newRedirects(host).Run(ctx, plainListener) }()
	err = <-ended
	stop() // if one of them fails, the other one ends too
	return errors.Join(err, <-ended)
}

// newSecure makes the app for HTTPS and returns its server.
func newSecure() *gallop.Server {
	server := &gallop.Server{ShutdownTimeout: 10 * time.Second}
	app := web.New(web.Config{Server: server})
	app.Use(middleware.Logger{}, middleware.Recover{}, web.Handler(hsts))
	app.Get("/", func(c *web.Ctx) error { return c.SendString("Hello over " + c.Scheme() + "\n") })
	return server
}

// hsts makes browsers use HTTPS for this host from now on (RFC 6797). Begin with a short time: it cannot be taken back before it ends.
func hsts(c *web.Ctx) error {
	c.SetHeader("Strict-Transport-Security", "max-age=63072000") // two years
	return c.Next()
}

// newRedirects makes the app for plain HTTP. It redirects to a host of its own instead of the one in the request, which is the client's
// to choose. Status 308 keeps the method and the body, which 301 does not.
func newRedirects(host string) *web.App {
	app := web.New(web.Config{})
	app.All("/{path...}", func(c *web.Ctx) error {
		target := c.RequestCtx().URI().RequestURI() // path and query
		return c.Redirect().Status(gallop.StatusPermanentRedirect).To("https://" + host + string(target))
	})
	return app
}

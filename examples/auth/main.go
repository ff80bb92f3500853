// Command auth has an API for clients with a key, and pages for administrators with a password.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The flags have hashes, so that neither the program nor its configuration has the secrets. Run the program with -new to get secrets.
var (
	addr  = flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	fresh = flag.Bool("new", false, "print a new key, a password and their hashes, and exit")
	key   = flag.String("key", "", "hash of the key of the client \"robot\"")
	admin = flag.String("admin", "", "hash of the password of the user \"admin\"")
)

func main() {
	flag.Parse()
	if *fresh {
		secret, hash := middleware.NewAPIKey("robot")
		password, _ := middleware.NewAPIKey("admin")
		log.Printf("curl -H 'Authorization: Bearer %s' ...; -key '%s'", secret, hash)
		log.Printf("curl -u admin:%s ...; -admin '%s'", password, middleware.HashPassword(password))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = newApp(*key, *admin).Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// newApp returns the app. It needs https in front of it outside of this machine, because the secrets are in each request.
func newApp(key, admin string) *web.App {
	app := web.New(web.Config{})
	app.Use(middleware.Recover{}, middleware.SecureHeaders{}, middleware.Limiter{Rates: []middleware.Rate{{Limit: 600, Window: time.Minute}}})

	// Each key has scopes. A key without the scope of a route gets 403.
	keys := []middleware.APIKey{{Name: "robot", Hash: key, Scopes: []string{"read"}}}
	api := app.Group("/api", middleware.KeyAuth{Keys: keys, Scopes: []string{"read"}})
	api.Get("/status", who)
	api.Delete("/status", middleware.KeyAuth{Keys: keys, Scopes: []string{"write"}}.Handler(), who)

	// Browsers ask for the password. They send it with requests of other sites, too, so the pages need CSRF.
	pages := app.Group("/admin", middleware.CSRF{}, middleware.BasicAuth{Users: map[string]string{"admin": admin}})
	pages.Get("/", who)
	pages.Post("/", who)
	return app
}

func who(c *web.Ctx) error {
	name, _ := middleware.AuthUser(c)
	return c.JSON(map[string]string{"user": name})
}

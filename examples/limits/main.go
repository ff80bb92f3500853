// Command limits limits how many requests a client may send. Processes that use the same Redis count together.
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

	"github.com/gallop-http/gallop/redisstore"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/redis/go-redis/v9"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	server := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	flag.Parse()
	client := redis.NewUniversalClient(redisstore.Options(*server))
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = newApp(redisstore.New(client)).Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// newApp returns an app with three limits. While Redis does not respond, each process counts for itself: see FailClosed.
func newApp(store middleware.Store) *web.App {
	app := web.New(web.Config{})
	app.Use(middleware.Recover{}, middleware.Limiter{
		Store: store,
		Name:  "all",
		Rates: []middleware.Rate{{Limit: 100, Window: time.Second}, {Name: "daily", Limit: 100_000, Window: 24 * time.Hour}},
	})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("hello\n") })

	// This limit is per user. The name comes from middleware that identifies users, such as KeyAuth. Here it is in the path.
	reports := middleware.Limiter{
		Store: store,
		Name:  "reports",
		Key:   func(c *web.Ctx) string { return c.Params("user") },
		Rates: []middleware.Rate{{Limit: 3, Window: time.Hour}},
	}
	app.Get("/reports/{user}", reports.Handler(), func(c *web.Ctx) error { return c.SendString("report\n") })

	// Only failed attempts count here. A client with the right code can come as often as it likes.
	attempts := middleware.Limiter{
		Store:     store,
		Name:      "attempts",
		Algorithm: middleware.FixedWindow,
		Refund:    func(_ *web.Ctx, err error) bool { return err == nil },
		Rates:     []middleware.Rate{{Limit: 3, Window: time.Hour}},
	}
	app.Post("/code", attempts.Handler(), func(c *web.Ctx) error {
		if string(c.Body()) != "1234" {
			return web.NewError(401, "wrong code")
		}
		return c.SendString("welcome\n")
	})
	return app
}

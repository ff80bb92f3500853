package redisstore_test

import (
	"time"

	"github.com/gallop-http/gallop/redisstore"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/redis/go-redis/v9"
)

// All processes that use the same Redis share the limit.
func ExampleNew() {
	client := redis.NewUniversalClient(redisstore.Options("localhost:6379"))
	defer client.Close()
	app := web.New(web.Config{})
	app.Use(middleware.Limiter{
		Store: redisstore.New(client),
		Name:  "api",
		Rates: []middleware.Rate{{Limit: 100, Window: time.Minute}},
	})
	app.Listen(":8080")
}

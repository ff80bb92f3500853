// Command after is the application of ../before on package web.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

type order struct {
	ID    int    `json:"id" path:"id"`
	Item  string `json:"item"`
	Count int    `json:"count"`
}

func requireToken(c *web.Ctx) error {
	if c.ReqHeader("Authorization") != "Bearer secret" {
		return web.NewError(http.StatusUnauthorized, "missing token")
	}
	return c.Next()
}

func main() {
	app := web.New(web.Config{})
	app.Use(middleware.Recover{})
	app.Get("/hello/{name}", func(c *web.Ctx) error {
		return c.SendString("hello, " + c.Params("name") + c.Query("end"))
	})
	app.Route("/api", func(r *web.Router) {
		r.UseFunc(requireToken)
		r.Put("/orders/{id}", func(c *web.Ctx) error {
			var o order
			if err := c.Bind().All(&o); err != nil {
				return web.NewError(http.StatusBadRequest, "invalid order")
			}
			return c.Status(http.StatusCreated).JSON(o)
		})
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", ":"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	if err := app.Run(ctx, ln); err != nil { // returns when the last request has its response
		log.Fatal(err)
	}
}

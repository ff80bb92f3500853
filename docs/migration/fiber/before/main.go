// Command before is an application of fiber, which ../after is on package web.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
)

type order struct {
	ID    int    `json:"id" uri:"id"`
	Item  string `json:"item"`
	Count int    `json:"count"`
}

func requireToken(c fiber.Ctx) error {
	if c.Get("Authorization") != "Bearer secret" {
		return fiber.NewError(fiber.StatusUnauthorized, "missing token")
	}
	return c.Next()
}

func main() {
	app := fiber.New(fiber.Config{UnescapePath: true})
	app.Use(recover.New())
	app.Get("/hello/:name", func(c fiber.Ctx) error {
		return c.SendString("hello, " + c.Params("name") + c.Query("end"))
	})
	api := app.Group("/api", requireToken)
	api.Put("/orders/:id", func(c fiber.Ctx) error {
		var o order
		if c.Bind().Body(&o) != nil || c.Bind().URI(&o) != nil {
			return fiber.NewError(fiber.StatusBadRequest, "invalid order")
		}
		return c.Status(fiber.StatusCreated).JSON(o)
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := app.Listen(":"+os.Getenv("PORT"), fiber.ListenConfig{GracefulContext: ctx, DisableStartupMessage: true}); err != nil {
		log.Fatal(err)
	}
}

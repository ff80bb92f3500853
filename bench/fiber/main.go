// Command fiber is a hello world of fiber with a second route that negotiates. It is built twice: with go.mod on
// fasthttp, and with gallop.mod on gallop. ../compare compares the two, and compares the second route with
// ../cmd/peer's.
package main

import (
	"log"
	"os"

	"github.com/gofiber/fiber/v3"
)

func main() {
	app := fiber.New()
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("Hello, World!") })
	forms := []fiber.ResFmt{
		form("application/json", `{"hello":"world"}`), form("text/html", "<p>Hello, World!</p>"),
		form("application/xml", "<hello>World</hello>"), form("text/plain", "Hello, World!"),
	}
	app.Get("/negotiate", func(c fiber.Ctx) error { return c.Format(forms...) })
	log.Fatal(app.Listen(os.Args[1], fiber.ListenConfig{DisableStartupMessage: true}))
}

func form(mediaType, body string) fiber.ResFmt {
	return fiber.ResFmt{MediaType: mediaType, Handler: func(c fiber.Ctx) error { return c.SendString(body) }}
}

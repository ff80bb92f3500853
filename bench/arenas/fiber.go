package arenas

import (
	"encoding/json"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/compress"
	"github.com/gofiber/fiber/v3/middleware/static"
)

// newFiber serves with fiber and its middleware.
func newFiber(o Options) Serve {
	app := fiber.New(fiber.Config{StreamRequestBody: true, BodyLimit: math.MaxInt})
	app.All("/baseline11", func(c fiber.Ctx) error {
		text, err := sum(c.Query("a"), c.Query("b"), string(c.Body()))
		return textOnFiber(c, text, err)
	})
	app.Get("/pipeline", func(c fiber.Ctx) error { return textOnFiber(c, "ok", nil) })
	app.Get("/json/:count", compress.New(), func(c fiber.Ctx) error {
		document, err := lines(c.Params("count"), c.Query("m"))
		return jsonOnFiber(c, 200, document, err)
	})
	app.Post("/upload", func(c fiber.Ctx) error {
		n := int64(len(c.Request().Body()))
		if body := c.Request().BodyStream(); body != nil {
			var err error
			if n, err = io.Copy(io.Discard, body); err != nil {
				return err
			}
		}
		return textOnFiber(c, strconv.FormatInt(n, 10), nil)
	})
	if o.Files != "" {
		app.Get("/static/*", static.New(o.Files, static.Config{Compress: true}))
	}
	if o.Items != nil {
		itemsOnFiber(app, &store{items: o.Items})
	}
	return func(l net.Listener) error {
		return app.Listener(l, fiber.ListenConfig{DisableStartupMessage: true})
	}
}

func itemsOnFiber(app *fiber.App, s *store) {
	query := func(c fiber.Ctx) args { return func(name string) string { return c.Query(name) } }
	app.Get("/async-db", func(c fiber.Ctx) error {
		page, err := s.priceRange(c, query(c))
		return jsonOnFiber(c, 200, page, err)
	})
	app.Get("/crud/items", func(c fiber.Ctx) error {
		page, err := s.list(c, query(c))
		return jsonOnFiber(c, 200, page, err)
	})
	app.Post("/crud/items", func(c fiber.Ctx) error {
		item, err := s.put(c, c.Body())
		return jsonOnFiber(c, 201, item, err)
	})
	app.Get("/crud/items/:id", func(c fiber.Ctx) error {
		body, hit, err := s.get(c, c.Params("id"))
		if err == nil {
			c.Set("X-Cache", cacheState(hit))
		}
		return jsonOnFiber(c, 200, json.RawMessage(body), err)
	})
	app.Put("/crud/items/:id", func(c fiber.Ctx) error {
		item, err := s.update(c, c.Params("id"), c.Body())
		return jsonOnFiber(c, 200, item, err)
	})
}

func textOnFiber(c fiber.Ctx, text string, err error) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlain)
	if err != nil {
		return c.SendStatus(fiber.StatusBadRequest)
	}
	return c.SendString(text)
}

func jsonOnFiber(c fiber.Ctx, code int, v any, err error) error {
	if err != nil {
		return c.Status(status(err)).SendString(err.Error())
	}
	return c.Status(code).JSON(v)
}

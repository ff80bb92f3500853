// Command crud is a JSON API for books that validates what clients send and reports errors as problem details (RFC 9457).
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// book is a book. POST takes the ISBN from the body; PUT takes it from the path, which goes before the body.
type book struct {
	ISBN  string `path:"isbn" json:"isbn"`
	Title string `json:"title"`
	Year  int    `json:"year"`
}

// Validate returns an error whose text is for the client.
func (b *book) Validate() error {
	switch {
	case len(b.ISBN) != 13:
		return errors.New("isbn must have 13 digits")
	case b.Title == "" || len(b.Title) > 200:
		return errors.New("title must have 1 to 200 bytes")
	}
	return nil
}

// validator checks the structs that Bind has filled. Its error becomes the detail of a 422.
type validator struct{}

func (validator) Validate(_ context.Context, v any) error {
	if v, ok := v.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

func newApp() *web.App {
	app := web.New(web.Config{ErrorHandler: web.ProblemErrorHandler, Validator: validator{}})
	app.Use(middleware.RequestID{}, middleware.Logger{}, middleware.Recover{}, middleware.BodyLimit{Size: 16 << 10})
	var books sync.Map // ISBN → book; a real program has a database
	app.Post("/books", func(c *web.Ctx) error {
		b, err := web.Bind[book](c)
		if err != nil {
			return err // 400, 413, 415 or 422
		}
		if _, exists := books.LoadOrStore(b.ISBN, b); exists {
			return web.NewError(gallop.StatusConflict, "there is a book with this isbn already")
		}
		return c.Status(gallop.StatusCreated).Location("/books/" + b.ISBN).JSON(b)
	})
	app.Get("/books/{isbn}", func(c *web.Ctx) error {
		b, ok := books.Load(c.Params("isbn"))
		if !ok {
			return web.ErrNotFound
		}
		return c.JSON(b)
	})
	app.Put("/books/{isbn}", func(c *web.Ctx) error {
		b, err := web.Bind[book](c)
		if err != nil {
			return err
		}
		if old, ok := books.Load(b.ISBN); !ok || !books.CompareAndSwap(b.ISBN, old, b) { // another request may delete it meanwhile
			return web.ErrNotFound
		}
		return c.JSON(b)
	})
	app.Delete("/books/{isbn}", func(c *web.Ctx) error {
		if _, ok := books.LoadAndDelete(c.Params("isbn")); !ok {
			return web.ErrNotFound
		}
		return c.SendStatus(gallop.StatusNoContent)
	})
	return app
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = newApp().Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}

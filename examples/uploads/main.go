// Command uploads takes files in two ways. A form is read completely before the handler sees the file. A streamed body goes to disk
// while it arrives.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	dir := flag.String("dir", os.TempDir(), "directory for the files")
	maxForm := flag.Int64("max-form", 8<<20, "size of the largest form in bytes")
	maxFile := flag.Int64("max-file", 10<<30, "size of the largest streamed file in bytes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// StreamRequestBody hands out bodies while they arrive. Without it the server reads each body into memory first, up to
	// MaxRequestBodySize, so that limit would have to be as large as the largest file. Each route sets a limit of its own.
	app := web.New(web.Config{ErrorHandler: web.ProblemErrorHandler, Server: &gallop.Server{StreamRequestBody: true}})
	app.Use(middleware.Logger{}, middleware.Recover{})
	u := uploads{dir: *dir}
	app.Group("", middleware.BodyLimit{Size: *maxForm}).Post("/form", u.form)
	app.Group("", middleware.BodyLimit{Size: *maxFile}).Post("/stream", u.stream)
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = app.Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// uploads is where files go. They get new names, because names that clients send may be paths or in use already.
type uploads struct{ dir string }

type saved struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// form saves the field "file" of a multipart form. Up to 2 MiB of the form stay in memory, and the rest waits in a temporary file.
func (u uploads) form(c *web.Ctx) error {
	file, err := c.FormFile("file")
	if err != nil {
		return err // 400, 413 or 415
	}
	name := rand.Text()
	if err := c.SaveFile(file, filepath.Join(u.dir, name)); err != nil {
		return err
	}
	return c.Status(gallop.StatusCreated).JSON(saved{name, file.Size})
}

// stream saves the body.
func (u uploads) stream(c *web.Ctx) error {
	body := c.RequestCtx().RequestBodyStream()
	if body == nil {
		return web.NewError(gallop.StatusBadRequest, "send the file as the body")
	}
	name := rand.Text()
	size, err := save(filepath.Join(u.dir, name), body)
	if err != nil {
		return err
	}
	return c.Status(gallop.StatusCreated).JSON(saved{name, size})
}

// save copies from r to a new file, and removes the file if it does not get all of it.
func save(name string, r io.Reader) (size int64, err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(file, r)
	if err = errors.Join(err, file.Close()); err != nil { // a full disk may be reported by Close only
		os.Remove(name)
	}
	return size, err
}

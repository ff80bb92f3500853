// Command board is a notice board: a page, a JSON API with sessions, uploads and events, in one program on package web.
// README.md has commands to try it with.
//
//	main.go      flags, start, shutdown
//	app.go       routes, middleware, the page
//	session.go   signing in and out
//	notes.go     the notes and their API
//	events.go    server-sent events
//	upload.go    file uploads
//	pages/, assets/   the page's template, script and styles
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

func main() {
	address := flag.String("address", "127.0.0.1:8080", "TCP address to listen on")
	files := flag.String("files", "", "directory for uploads; a temporary one by default")
	flag.Parse()
	if err := run(*address, *files); err != nil {
		log.Fatal(err)
	}
}

func run(address, files string) error {
	if files == "" {
		dir, err := os.MkdirTemp("", "board")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		files = dir
	}
	b, err := newBoard(files, &middleware.MemoryStore{MaxBytes: 16 << 20})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- b.app.Listen(address) }()
	log.Printf("http://%s/, uploads in %s", address, files)

	asked, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	select {
	case err := <-ended:
		return err
	case <-asked.Done():
		stop() // a second signal ends the program at once
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return b.health.Shutdown(ctx, b.app)
}

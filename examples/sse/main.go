// Command sse sends each event that is posted to it to all listeners. Listeners that cannot keep up are dropped, so that they neither
// delay the others nor fill the memory.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// hub sends events to its listeners.
type hub struct {
	mu        sync.Mutex
	listeners map[chan string]bool
}

func (h *hub) listen() chan string {
	l := make(chan string, 16) // how many events a listener may be behind
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = true
	return l
}

func (h *hub) leave(l chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// publish never waits. It closes the channel of a listener whose queue is full.
func (h *hub) publish(data string) (listeners int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		select {
		case l <- data:
		default:
			close(l)
			delete(h.listeners, l)
			slog.Warn("dropped a slow listener")
		}
	}
	return len(h.listeners)
}

// events streams events until the client leaves, is dropped, or the server shuts down. A client that was dropped connects again by
// itself, as EventSource does in browsers.
func (h *hub) events(c *web.Ctx) error {
	l := h.listen()
	defer h.leave(l)
	return c.SSEWith(web.SSEOptions{Retry: time.Second}, func(s *web.EventStream) error {
		for {
			select {
			case <-c.Done():
				return nil
			case data, ok := <-l:
				if !ok {
					return nil
				}
				if err := s.Send(web.Event{Data: data}); err != nil {
					return err
				}
			}
		}
	})
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h := &hub{listeners: map[chan string]bool{}}
	app := web.New(web.Config{Server: &gallop.Server{ShutdownTimeout: 5 * time.Second}})
	app.Use(middleware.Recover{}, middleware.BodyLimit{Size: 64 << 10})
	app.Get("/events", h.events)
	app.Post("/publish", func(c *web.Ctx) error {
		return c.JSON(map[string]int{"listeners": h.publish(string(c.Body()))})
	})
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = app.Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}

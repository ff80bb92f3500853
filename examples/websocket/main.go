// Command websocket is a chat: each message that a client sends goes to all clients. It shows how an http.Handler that upgrades
// connections, here with github.com/coder/websocket, becomes a route of an app.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/gallop-http/gallop/web"
)

// chat is an http.Handler that passes messages on to its members.
type chat struct {
	stop    <-chan struct{} // closed when the program is about to end
	running sync.WaitGroup  // conversations
	members sync.Map        // keys of type chan []byte
}

// ServeHTTP talks with one client. Accept responds with 426 to requests that are no upgrade, and with 403 to pages of other origins.
func (ch *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ch.running.Add(1)
	defer ch.running.Done()
	defer conn.CloseNow()
	conn.SetReadLimit(4 << 10) // a longer message ends the conversation with status 1009
	messages := make(chan []byte, 16)
	ch.members.Store(messages, nil)
	defer ch.members.Delete(messages)
	left := make(chan struct{})
	go func() {
		defer close(left)
		for {
			_, text, err := conn.Read(context.Background()) // ends when the client leaves or the loop below closes conn
			if err != nil {
				return
			}
			ch.send(text)
		}
	}()
	for {
		select {
		case <-left:
			return
		case <-ch.stop:
			conn.Close(websocket.StatusGoingAway, "the server is shutting down")
			return
		case text := <-messages:
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := conn.Write(ctx, websocket.MessageText, text)
			cancel()
			if err != nil {
				return
			}
		}
	}
}

// send never waits: a member whose queue is full misses the message.
func (ch *chat) send(text []byte) {
	for m := range ch.members.Range {
		select {
		case m.(chan []byte) <- text:
		default:
		}
	}
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ch := &chat{stop: ctx.Done()}
	ch.running.Add(1) // for the server, since a WaitGroup must not be at zero when a conversation is added during Wait
	app := web.New(web.Config{})
	app.Get("/chat", web.FromHTTP(ch))
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = app.Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
	ch.running.Done()
	ch.running.Wait() // Run does not wait for connections that a handler has taken over
}

package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/memnet"
)

// listening serves the application in memory and returns what dials it.
func listening(t *testing.T, app *App) (dial func() net.Conn) {
	t.Helper()
	ln := memnet.NewListener()
	serveOn(t, app, ln)
	return func() net.Conn { return mustDial(t, ln.Dial) }
}

// onTCP is listening on the loopback interface, where event loops are used if there are any.
func onTCP(t *testing.T, app *App) (dial func() net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, app, ln)
	return func() net.Conn {
		return mustDial(t, func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) })
	}
}

func serveOn(t *testing.T, app *App, ln net.Listener) {
	served := make(chan error, 1)
	go func() { served <- app.Serve(ln) }()
	t.Cleanup(func() {
		ln.Close()
		<-served
	})
}

func mustDial(t *testing.T, dial func() (net.Conn, error)) net.Conn {
	t.Helper()
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// get sends a request for a target and returns what comes back.
func get(t *testing.T, conn net.Conn, target string, fields ...string) (*bufio.Reader, *http.Response) {
	t.Helper()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, strings.Join(append(fields, ""), "\r\n"))
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, response
}

func TestEvents(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/", func(c *Ctx) error {
		return c.SSE(func(s *EventStream) error {
			s.Send(Event{ID: "1\n", Event: "a\r\nb", Data: "x\r\ny\rz\n", Retry: 1500 * time.Millisecond})
			s.Send(Event{ID: "a\x00"})
			s.Send(Event{Retry: time.Second})
			s.Send(Event{ID: "\r\n", Data: "d"})
			s.Comment("hi\nthere")
			if err := s.SendJSON("j", func() {}); err == nil {
				t.Error("a function as JSON")
			}
			return s.SendJSON("j", map[string]string{"last": s.LastEventID()})
		})
	})
	status, body, h := ask(t, app, "GET", "/", "Last-Event-ID: 7")
	want := "id: 1\nevent: ab\nretry: 1500\ndata: x\ndata: y\ndata: z\ndata: \n\ndata: \n\nretry: 1000\n\ndata: d\n\n: hithere\n\nevent: j\ndata: {\"last\":\"7\"}\n\n"
	if status != 200 || body != want || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %q, want %q (%v)", status, body, want, h)
	}
	if status, body, _ := ask(t, app, "HEAD", "/"); status != 200 || body != "" {
		t.Errorf("HEAD: %d %q", status, body)
	}
	if status := serve(app, "/").Response.StatusCode(); status != 501 {
		t.Errorf("without a server: %d", status)
	}
}

// The context ends with the client, and with it the handler.
func TestEventsEndWithTheClient(t *testing.T) {
	t.Run("memory", func(t *testing.T) { eventsEndWithTheClient(t, listening) })
	t.Run("TCP", func(t *testing.T) { eventsEndWithTheClient(t, onTCP) })
}

func eventsEndWithTheClient(t *testing.T, listening func(t *testing.T, app *App) (dial func() net.Conn)) {
	app := New(Config{Server: quiet()})
	ended := make(chan error, 1)
	app.Get("/", func(c *Ctx) error {
		err := c.SSEWith(SSEOptions{Heartbeat: -1}, func(s *EventStream) error {
			s.Send(Event{Data: "one"})
			<-c.Done()
			return c.Err()
		})
		if c.Context() != context.Context(c.RequestCtx()) {
			t.Error("the context of the stream stayed")
		}
		ended <- err
		return err
	})
	conn := listening(t, app)()
	_, response := get(t, conn, "/")
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if line != "data: one\n" || err != nil {
		t.Errorf("%q %v", line, err)
	}
	conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestEventsEndWithTheServer(t *testing.T) {
	t.Run("memory", func(t *testing.T) { eventsEndWithTheServer(t, listening) })
	t.Run("TCP", func(t *testing.T) { eventsEndWithTheServer(t, onTCP) })
}

func eventsEndWithTheServer(t *testing.T, listening func(t *testing.T, app *App) (dial func() net.Conn)) {
	app := New(Config{Server: quiet()})
	app.Get("/", func(c *Ctx) error {
		return c.SSE(func(s *EventStream) error {
			s.Send(Event{Data: "one"})
			<-c.Done()
			return s.Send(Event{Data: "bye"})
		})
	})
	conn := listening(t, app)()
	_, response := get(t, conn, "/")
	body := bufio.NewReader(response.Body)
	body.ReadString('\n')
	if err := app.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(body); string(rest) != "\ndata: bye\n\n" || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

func TestEventsThatFail(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/", func(c *Ctx) error {
		return c.SSE(func(s *EventStream) error { return errors.New("no") })
	})
	request, _ := http.NewRequest("GET", "/", nil)
	if _, err := app.Test(request); err == nil {
		t.Error("a broken stream looks whole")
	}
}

// An EventStream that was kept after its request cannot write into the response to another request.
func TestEventsThatAreKept(t *testing.T) {
	app := New(Config{Server: quiet()})
	var kept *EventStream
	app.Get("/", func(c *Ctx) error {
		return c.SSE(func(s *EventStream) error {
			if kept == nil {
				kept = s
			} else if err := kept.Send(Event{Data: "stray"}); err == nil {
				t.Error("sent")
			}
			return s.Send(Event{Data: "x"})
		})
	})
	conn := listening(t, app)()
	for range 2 {
		_, response := get(t, conn, "/")
		if body, err := io.ReadAll(response.Body); string(body) != "data: x\n\n" || err != nil {
			t.Errorf("%q %v", body, err)
		}
	}
	conn.Close()
}

// A client that is sent nothing gets a comment now and then, and one that is sent events gets none.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := New(Config{Server: quiet()})
		var left *EventStream
		app.Get("/", func(c *Ctx) error {
			return c.SSE(func(s *EventStream) error {
				left = s
				time.Sleep(DefaultHeartbeat*2 + time.Second)
				s.Send(Event{Data: "x"})
				time.Sleep(DefaultHeartbeat * 2)
				return nil
			})
		})
		client, server := memnet.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() { app.config.Server.ServeConn(server) })
		_, response := get(t, client, "/", "Connection: close")
		body, err := io.ReadAll(response.Body)
		if want := ":\n\n:\n\ndata: x\n\n:\n\n"; string(body) != want || err != nil {
			t.Errorf("%q, want %q (%v)", body, want, err)
		}
		client.Close()
		wg.Wait()
		if err := left.Send(Event{}); err == nil {
			t.Error("sent after the end")
		}
	})
}

// If the client leaves before the first byte, the stream ends as it does later.
func TestEventsWithoutAClient(t *testing.T) {
	for name, listen := range map[string]func(t *testing.T, app *App) (dial func() net.Conn){"memory": listening, "TCP": onTCP} {
		t.Run(name, func(t *testing.T) {
			app := New(Config{Server: quiet()})
			begun, ended := make(chan bool), make(chan error, 1)
			app.Get("/", func(c *Ctx) error {
				if level := c.FailureLevel(); level != slog.LevelError {
					t.Errorf("level %v of a client that is there", level)
				}
				close(begun)
				<-c.Done()
				if level := c.FailureLevel(); level != slog.LevelInfo {
					t.Errorf("level %v of a client that has left", level)
				}
				err := c.SSE(func(s *EventStream) error { return s.Send(Event{Data: "one"}) })
				ended <- err
				return err
			})
			conn := listen(t, app)()
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			<-begun
			conn.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

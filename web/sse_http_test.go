package web

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Under net/http's server each event reaches the client at once, also behind its middleware, and the context ends with the client.
func TestEventsThroughServeHTTP(t *testing.T) {
	passes := FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Middleware", "yes")
			next.ServeHTTP(w, r)
		})
	})
	for name, use := range map[string][]Middleware{"plain": nil, "middleware of net/http": {passes}} {
		for _, http2 := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", HTTP/2"}[http2], func(t *testing.T) {
				app := New(Config{Server: quiet()})
				app.Use(use...)
				read, over := make(chan bool), make(chan error, 1)
				app.Get("/", func(c *Ctx) error {
					c.SetHeader("X-Set", "yes")
					return c.SSEWith(SSEOptions{Heartbeat: -1}, func(s *EventStream) error {
						for range 2 {
							if err := s.Send(Event{Data: s.LastEventID()}); err != nil {
								t.Error(err)
							}
							<-read
						}
						<-c.Done()
						over <- c.Err()
						return nil
					})
				})
				server := httptest.NewUnstartedServer(app)
				server.EnableHTTP2 = http2
				server.StartTLS()
				defer server.Close()
				request, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
				request.Header.Set("Last-Event-ID", "7")
				response, err := server.Client().Do(request)
				if err != nil {
					t.Fatal(err)
				}
				if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Set") != "yes" ||
					(response.Header.Get("X-Middleware") == "yes") != (use != nil) || (response.ProtoMajor == 2) != http2 {
					t.Errorf("%s %d %v", response.Proto, response.StatusCode, response.Header)
				}
				lines := bufio.NewReader(response.Body)
				for range 2 {
					event, _ := lines.ReadString('\n')
					if _, err := lines.ReadString('\n'); event != "data: 7\n" || err != nil {
						t.Fatalf("%q %v", event, err)
					}
					read <- true
				}
				response.Body.Close()
				if err := <-over; err == nil {
					t.Error("the context has not ended")
				}
			})
		}
	}
}

// A stream's output reaches the client whenever it is flushed. If the stream fails, the response is broken off.
func TestStreamsThroughServeHTTP(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/whole", func(c *Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { w.WriteString("whole"); return w.Flush() })
	})
	app.Get("/broken", func(c *Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { w.WriteString("part"); w.Flush(); return io.ErrUnexpectedEOF })
	})
	server := httptest.NewServer(app)
	defer server.Close()
	for target, want := range map[string]string{"/whole": "whole <nil>", "/broken": "part unexpected EOF"} {
		response, err := server.Client().Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if got := string(body) + " " + errText(err); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return strings.TrimSpace(err.Error())
}

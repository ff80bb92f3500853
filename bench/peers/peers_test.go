package peers

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// echo returns the request in every form that a Response supports.
func echo(r Request) Response {
	answer := Response{Status: 200, Fields: []ResponseField{{"X-Back", r.Field("X-There")}}, Body: r.Body}
	switch string(r.Path) {
	case "/chunked":
		answer.Chunked = true
	case "/static":
		answer.Static, answer.Body = true, []byte("always this")
	case "/none":
		answer.Status = 204
	}
	return answer
}

// TestServersAgree shows that a Simple app behaves the same on all servers, so that comparing them makes sense.
func TestServersAgree(t *testing.T) {
	for name := range servers {
		if name == "floor" {
			continue // does not parse requests
		}
		t.Run(name, func(t *testing.T) {
			address := serve(t, name, Simple(echo))
			for _, test := range []struct {
				path   string
				status int
				body   string
				length int64
			}{
				{"/", 200, "hello", 5},
				{"/chunked", 200, "hello", -1},
				{"/static", 200, "always this", 11},
				{"/none", 204, "", 0},
			} {
				req, err := http.NewRequest("POST", "http://"+address+test.path, strings.NewReader("hello"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-There", "there")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != test.status || string(body) != test.body ||
					resp.ContentLength != test.length || resp.Header.Get("X-Back") != "there" {
					t.Errorf("%s: %d %q of length %d, X-Back %q, %v", test.path, resp.StatusCode, body, resp.ContentLength, resp.Header.Get("X-Back"), err)
				}
			}
		})
	}
}

// serve serves an app until the test ends, and returns its address.
func serve(t *testing.T, name string, app App) (address string) {
	t.Helper()
	server, err := New(name, app, Options{Timeouts: true})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if stats, onLoops := OnLoops(server); name == "gallop" && runtime.GOOS == "linux" && !onLoops {
			t.Errorf("gallop has not served on event loops: %+v", stats)
		}
	})
	return ln.Addr().String()
}

func TestNoSuchServer(t *testing.T) {
	if s, err := New("apache", App{}, Options{}); err == nil || s != nil {
		t.Errorf("got %v, %v", s, err)
	}
}

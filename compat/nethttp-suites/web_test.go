package suites

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	gorilla "github.com/gorilla/websocket"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// serveApp serves an application and returns its address.
func serveApp(t *testing.T, app *web.App) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(ln)
	t.Cleanup(func() { app.Shutdown(context.WithoutCancel(t.Context())) })
	return ln.Addr().String()
}

// fetch returns the response from a URL.
func fetch(t *testing.T, url string) (status int, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var r io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text), response.Header
}

// chi's middleware works around handlers of web, and a chi.Router can be mounted beside them.
func TestWebBehindChi(t *testing.T) {
	app := web.New(web.Config{Server: &gallop.Server{Logger: silent{}}})
	log := make(chan string, 1)
	for _, m := range []func(http.Handler) http.Handler{
		middleware.RequestLogger(&middleware.DefaultLogFormatter{Logger: lineLog(log), NoColor: true}),
		middleware.Recoverer, middleware.RequestID, middleware.Timeout(time.Minute), middleware.Compress(5), middleware.NoCache,
	} {
		app.Use(web.FromMiddleware(m))
	}
	app.Get("/text/:name", func(c *web.Ctx) error {
		return c.SendString(c.Params("name") + strings.Repeat(" and again", 1000) + fmt.Sprint(middleware.GetReqID(c) != ""))
	})
	app.Get("/late", web.FromMiddleware(middleware.Timeout(50*time.Millisecond)), func(c *web.Ctx) error { <-c.Done(); return web.NewError(504) })
	app.Get("/panics", func(*web.Ctx) error { panic("no") })
	app.Get("/error", func(*web.Ctx) error { return web.NewError(409, "taken") })
	router := chi.NewRouter()
	router.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "user ", chi.URLParam(r, "id")) })
	app.MountHTTP("/chi", router)
	base := "http://" + serveApp(t, app)
	for path, want := range map[string]string{
		"/text/x": "200 x" + strings.Repeat(" and again", 1000) + "true", "/late": "504 Gateway Timeout", "/panics": "500 ",
		"/error": "409 taken", "/missing": "404 Not Found", "/chi/users/7": "200 user 7", "/chi/none": "404 404 page not found\n",
	} {
		status, body, h := fetch(t, base+path)
		if got := fmt.Sprint(status, " ", body); got != want || h.Get("Cache-Control") == "" {
			t.Errorf("%s: %.100q, want %.100q (%v)", path, got, want, h)
		}
		if line := <-log; !strings.Contains(line, fmt.Sprint(" - ", status, " ")) {
			t.Errorf("%s was logged as %s", path, line)
		}
		if zipped := h.Get("Content-Encoding") == "gzip"; path == "/text/x" && !zipped {
			t.Error("not compressed")
		}
	}
}

type lineLog chan string

func (l lineLog) Print(v ...any) { l <- fmt.Sprint(v...) }

// WebSocket packages work in routes of web.
func TestWebSocketsInWeb(t *testing.T) {
	app := web.New(web.Config{})
	app.Get("/coder/:name", web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := coder.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		conn.Write(r.Context(), coder.MessageText, []byte("hello "+r.PathValue("name")))
		conn.Close(coder.StatusNormalClosure, "")
	})))
	upgrader := gorilla.Upgrader{}
	app.Get("/gorilla", web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		conn.WriteMessage(gorilla.TextMessage, []byte("hello"))
	})))
	address := serveApp(t, app)
	for path, want := range map[string]string{"/coder/x": "hello x", "/gorilla": "hello"} {
		conn, _, err := coder.Dial(t.Context(), "ws://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, text, err := conn.Read(t.Context()); string(text) != want || err != nil {
			t.Errorf("%s: %q %v", path, text, err)
		}
		conn.CloseNow()
	}
}

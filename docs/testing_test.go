package docs_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/web"
)

// The code of testing.md.

func greet(ctx *gallop.RequestCtx) {
	name := ctx.QueryArgs().Peek("name")
	if len(name) == 0 {
		ctx.Error("name is missing", gallop.StatusBadRequest)
		return
	}
	ctx.WriteString("hello, " + string(name))
}

func TestGreet(t *testing.T) {
	for _, tt := range []struct {
		target string
		status int
		body   string
	}{
		{"/?name=gopher", 200, "hello, gopher"},
		{"/", 400, "name is missing"},
	} {
		var req gallop.Request
		req.SetRequestURI(tt.target)
		resp := galloptest.Do(greet, &req)
		if resp.StatusCode() != tt.status || string(resp.Body()) != tt.body {
			t.Errorf("%s: got %d %q", tt.target, resp.StatusCode(), resp.Body())
		}
	}
}

func newApp() *web.App {
	app := web.New(web.Config{})
	app.Get("/orders/{id<int>}", func(c *web.Ctx) error {
		return c.JSON(map[string]string{"id": c.Params("id")})
	})
	return app
}

func TestApp(t *testing.T) {
	resp, err := newApp().Test(httptest.NewRequest("GET", "/orders/7", nil))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || string(body) != `{"id":"7"}` {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestUploadLimit(t *testing.T) {
	client, url := galloptest.Start(t, &gallop.Server{
		Handler:            func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(gallop.StatusCreated) },
		MaxRequestBodySize: 10,
	})
	var req gallop.Request
	var resp gallop.Response
	req.Header.SetMethod(gallop.MethodPost)
	req.SetRequestURI(url + "/upload")
	for _, tt := range []struct {
		body   string
		status int
	}{
		{"0123456789", 201},
		{"0123456789+", 413},
	} {
		req.SetBodyString(tt.body)
		if err := client.DoContext(t.Context(), &req, &resp); err != nil || resp.StatusCode() != tt.status {
			t.Errorf("%d bytes: got %d, %v", len(tt.body), resp.StatusCode(), err)
		}
	}
}

func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx *gallop.RequestCtx) { time.Sleep(time.Minute) }
		client, url := galloptest.Serve(t, gallop.TimeoutHandler(slow, 10*time.Second, "too slow"))

		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI(url)
		begun := time.Now()
		err := client.DoContext(t.Context(), &req, &resp)
		if err != nil || resp.StatusCode() != gallop.StatusRequestTimeout || time.Since(begun) != 10*time.Second {
			t.Errorf("got %d after %v, %v", resp.StatusCode(), time.Since(begun), err)
		}
		time.Sleep(time.Minute) // a bubble waits for its goroutines, and slow still runs
	})
}

func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, url := galloptest.Serve(t, func(ctx *gallop.RequestCtx) { <-ctx.Done() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var req gallop.Request
		req.SetRequestURI(url)
		if err := client.DoContext(ctx, &req, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestKeepsNoView(t *testing.T) {
	var kept []byte
	s := &gallop.Server{
		PoisonReleased: true,
		Handler:        func(ctx *gallop.RequestCtx) { kept = ctx.Path() }, // a bug: the bytes expire when the handler returns
	}
	client, server := memnet.Pipe()
	io.WriteString(client, "GET /gopher HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	client.Close()
	s.ServeConn(server) // returns when the connection is closed
	if string(kept) == "/gopher" {
		t.Error("the bytes outlived the handler")
	}
}

type issue struct {
	Title string `json:"title"`
}

func TestAPIClient(t *testing.T) {
	fake := web.New(web.Config{})
	fake.Get("/issues/{id}", func(c *web.Ctx) error {
		if c.Params("id") != "1" {
			return web.ErrNotFound
		}
		return c.JSON(issue{Title: "it rains"})
	})
	client, url := galloptest.Serve(t, fake.Handler())

	api, err := rest.New(url, rest.WithClient(client))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rest.Get[issue](t.Context(), api, "issues/{id}", rest.SetPathValue("id", "1"))
	if err != nil || got.Title != "it rains" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = rest.Get[issue](t.Context(), api, "issues/{id}", rest.SetPathValue("id", "2"))
	if rest.StatusOf(err) != 404 {
		t.Errorf("got %v", err)
	}
}

func TestTransport(t *testing.T) {
	ln := memnet.NewListener()
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	go s.Serve(ln)
	defer s.Close()

	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestTLS(t *testing.T) {
	cert, roots := galloptest.Certificate("localhost")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{
		Handler:   func(ctx *gallop.RequestCtx) { ctx.WriteString(string(ctx.URI().Scheme())) },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
	}
	go s.ServeTLS(ln, "", "")
	defer s.Close()

	client := gallop.Client{TLSConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
	defer client.CloseIdleConnections()
	status, body, err := client.Get(nil, "https://"+ln.Addr().String())
	if err != nil || status != 200 || string(body) != "https" {
		t.Errorf("got %d %q, %v", status, body, err)
	}
}

func TestHTTPHandler(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello, "+r.URL.Path) })
	client, url := galloptest.Start(t, nethttp.NewServer(hello))
	if status, body, err := client.Get(nil, url+"/gopher"); err != nil || status != 200 || string(body) != "hello, /gopher" {
		t.Errorf("got %d %q, %v", status, body, err)
	}
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := memnet.NewListener()
		started := make(chan struct{})
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			close(started)
			time.Sleep(3 * time.Second)
			ctx.WriteString("done")
		}}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- s.Run(ctx, ln) }()
		go func() {
			<-started
			stop() // what SIGTERM does
		}()

		client := gallop.Client{DialContext: ln.DialContext}
		if status, body, err := client.Get(nil, "http://example.com/"); err != nil || status != 200 || string(body) != "done" {
			t.Errorf("got %d %q, %v", status, body, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// App.Test works in a bubble.
func TestAppInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := web.New(web.Config{})
		app.Get("/", func(c *web.Ctx) error {
			time.Sleep(time.Hour)
			return c.SendString("at last")
		})
		resp, err := app.Test(httptest.NewRequest("GET", "/", nil))
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

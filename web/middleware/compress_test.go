package middleware_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

var long = strings.Repeat("all work and no play ", 50)

func TestCompress(t *testing.T) {
	app := newApp(middleware.Compress{}.Handler())
	app.Get("/text", says(long))
	app.Get("/tagged", func(c *web.Ctx) error {
		c.SetHeader("ETag", `"a"`).SetHeader("Accept-Ranges", "bytes")
		return c.SendString(long)
	})
	app.Get("/weak", func(c *web.Ctx) error { c.SetHeader("ETag", `W/"a"`); return c.SendString(long) })
	app.Get("/short", says("short"))
	app.Get("/image", func(c *web.Ctx) error { c.Type("png"); return c.Send([]byte(long)) })
	app.Get("/kept", func(c *web.Ctx) error {
		c.SetHeader("Cache-Control", "public, no-transform")
		return c.SendString(long)
	})
	app.Get("/coded", func(c *web.Ctx) error { c.SetHeader("Content-Encoding", "zstd"); return c.SendString(long) })
	app.Get("/secret", func(c *web.Ctx) error { c.SetHeader("Content-Encoding", "identity"); return c.SendString(long) })
	app.Get("/part", func(c *web.Ctx) error {
		c.Status(206).SetHeader("Content-Range", "bytes 0-1049/2000")
		return c.SendString(long)
	})
	app.Get("/error", func(*web.Ctx) error { return web.NewError(400, long) })
	app.Get("/failed", func(c *web.Ctx) error { c.SendString(long); return web.NewError(400) })
	app.Get("/none", func(c *web.Ctx) error { return c.SendStatus(204) })
	const accept = "Accept-Encoding: gzip, br;q=0.5"
	for _, tc := range []struct{ method, target, accept, coding, vary, etag string }{
		{"GET", "/text", accept, "gzip", "Accept-Encoding", ""},
		{"HEAD", "/text", accept, "gzip", "Accept-Encoding", ""},
		{"GET", "/text", "Accept-Encoding: gzip;q=0, br", "br", "Accept-Encoding", ""},
		{"GET", "/text", "Accept-Encoding: identity", "", "Accept-Encoding", ""},
		{"GET", "/text", "Accept-Encoding: *;q=0", "", "Accept-Encoding", ""},
		{"GET", "/text", "X: y", "", "Accept-Encoding", ""},
		{"GET", "/tagged", accept, "gzip", "Accept-Encoding", `W/"a"`},
		{"GET", "/tagged", "X: y", "", "Accept-Encoding", `"a"`},
		{"GET", "/weak", accept, "gzip", "Accept-Encoding", `W/"a"`},
		{"GET", "/short", accept, "", "", ""},
		{"GET", "/image", accept, "", "", ""},
		{"GET", "/kept", accept, "", "", ""},
		{"GET", "/coded", accept, "zstd", "", ""},
		{"GET", "/secret", accept, "identity", "", ""},
		{"GET", "/part", accept, "", "Accept-Encoding", ""},
		{"GET", "/error", accept, "", "", ""},
		{"GET", "/failed", accept, "", "", ""},
		{"GET", "/none", accept, "", "", ""},
	} {
		t.Run(tc.method+tc.target+tc.accept, func(t *testing.T) {
			a := ask(t, app, tc.method, tc.target, tc.accept)
			a.want(t, "Content-Encoding", tc.coding)
			a.want(t, "Vary", tc.vary)
			a.want(t, "ETag", tc.etag)
			if tc.coding == "gzip" {
				a.want(t, "Accept-Ranges", "")
			}
			if tc.method == "HEAD" && a.body != "" {
				t.Errorf("a body of %d bytes", len(a.body))
			}
			if tc.coding == "gzip" && tc.method == "GET" && gunzip(t, a.body) != long {
				t.Error("something else came out")
			}
		})
	}
}

func gunzip(t *testing.T, s string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An event arrives before the next one is made.
func TestCompressLetsEventsThrough(t *testing.T) {
	for name, h := range map[string]func(next <-chan struct{}) web.Handler{
		"a stream writer": func(next <-chan struct{}) web.Handler {
			return func(c *web.Ctx) error {
				c.Type("text/event-stream")
				c.RequestCtx().SetBodyStreamWriter(func(w *bufio.Writer) {
					w.WriteString("data: 1\n\n")
					w.Flush()
					<-next
					w.WriteString("data: 2\n\n")
				})
				return nil
			}
		},
		"a handler's stream": func(next <-chan struct{}) web.Handler {
			return func(c *web.Ctx) error {
				c.Type("text/event-stream")
				s, err := c.RequestCtx().StreamResponse()
				if err != nil {
					return err
				}
				s.WriteString("data: 1\n\n")
				s.Flush()
				<-next
				s.WriteString("data: 2\n\n")
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			app := newApp(middleware.Compress{}.Handler(), middleware.ETag{}.Handler())
			app.Get("/", h(next))
			client, base := serve(t, app)
			response, err := client.Get(base) // whose client asks for gzip, and decodes it
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			lines := bufio.NewReader(response.Body)
			if line, err := lines.ReadString('\n'); line != "data: 1\n" {
				t.Errorf("%q, %v", line, err)
			}
			close(next)
			if rest, err := io.ReadAll(lines); string(rest) != "\ndata: 2\n\n" || err != nil {
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
}

// serve serves the application in memory, until the test ends.
func serve(t *testing.T, app *web.App) (client *http.Client, base string) {
	t.Helper()
	ln := memnet.NewListener()
	server := &gallop.Server{Handler: app.Handler(), Logger: newQuiet(), StreamRequestBody: true}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	transport := &http.Transport{DialContext: ln.DialContext}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Shutdown()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &http.Client{Transport: transport}, "http://example.com"
}

// Responses with secrets can be left alone: by the middleware for some requests, by a handler for itself.
func TestCompressSkips(t *testing.T) {
	compress := middleware.Compress{Skip: func(c *web.Ctx) bool { return c.ReqHeader("Cookie") != "" }}
	app := newApp(compress.Handler())
	app.Get("/text", says(long))
	app.Get("/identity", func(c *web.Ctx) error { c.SetHeader("Content-Encoding", "identity"); return c.SendString(long) })
	app.Get("/no-transform", func(c *web.Ctx) error { c.SetHeader("Cache-Control", "no-transform"); return c.SendString(long) })
	app.Get("/error", func(*web.Ctx) error { return web.NewError(400, long) })
	for _, tc := range []struct{ target, cookie, coding string }{
		{"/text", "X: y", "gzip"}, {"/text", "Cookie: a=b", ""}, {"/text", "cookie:", "gzip"},
		{"/identity", "X: y", "identity"}, {"/no-transform", "X: y", ""}, {"/error", "Cookie: a=b", ""},
	} {
		a := ask(t, app, "GET", tc.target, "Accept-Encoding: gzip", tc.cookie)
		a.want(t, "Content-Encoding", tc.coding)
	}
}

func TestCompressPolicy(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options middleware.Compress
		fields  []string
		want    string
	}{
		{"default", middleware.Compress{}, []string{"Cookie: a=b"}, "gzip"},
		{"default, from another site", middleware.Compress{}, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site"}, ""},
		{"off", middleware.Compress{Guard: gallop.CompressGuardOff}, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site"}, "gzip"},
		{"credentials", middleware.Compress{Guard: gallop.CompressGuardCredentials}, []string{"Cookie: a=b"}, ""},
		{"size", middleware.Compress{MinSize: len(long)}, nil, "gzip"},
		{"too small", middleware.Compress{MinSize: len(long) + 1}, nil, ""},
		{"type", middleware.Compress{Types: []string{"text/*"}}, nil, "gzip"},
		{"another type", middleware.Compress{Types: []string{"application/json"}}, nil, ""},
	} {
		app := newApp(tc.options.Handler())
		app.Get("/", says(long))
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, app, "GET", "/", append([]string{"Accept-Encoding: gzip"}, tc.fields...)...)
			a.want(t, "Content-Encoding", tc.want)
		})
	}
}

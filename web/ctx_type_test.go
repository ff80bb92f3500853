package web

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gallop-http/gallop"
)

// A Content-Type that a handler or middleware has set stays, whichever method sends the body.
func TestContentTypeStays(t *testing.T) {
	files := fstest.MapFS{"f.txt": {Data: []byte("text")}}
	views, err := NewTemplates(TemplatesConfig{FS: fstest.MapFS{"page.html": {Data: []byte("<p>")}}})
	if err != nil {
		t.Fatal(err)
	}
	senders := map[string]Handler{
		"Send":             func(c *Ctx) error { return c.Send([]byte("x")) },
		"SendString":       says("x"),
		"Write":            func(c *Ctx) error { _, err := io.WriteString(c, "x"); return err },
		"HTML":             func(c *Ctx) error { return c.HTML("<p>") },
		"JSON":             func(c *Ctx) error { return c.JSON(1) },
		"XML":              func(c *Ctx) error { return c.XML(1) },
		"Encode":           func(c *Ctx) error { return c.Encode("application/json", 1) },
		"Render":           func(c *Ctx) error { return c.Render("page", nil) },
		"SendStatus":       func(c *Ctx) error { return c.SendStatus(404) },
		"SendStream":       func(c *Ctx) error { return c.SendStream(strings.NewReader("x")) },
		"SendStreamWriter": func(c *Ctx) error { return c.SendStreamWriter(func(w *bufio.Writer) error { return w.WriteByte('x') }) },
		"SendFS":           func(c *Ctx) error { return c.SendFS(files, "f.txt") },
		"SendFile":         func(c *Ctx) error { return c.SendFile("ctx_type.go") },
		"Download":         func(c *Ctx) error { return c.DownloadAs("ctx_type.go", "x.pdf") },
		"default format":   func(c *Ctx) error { return c.Format(Offer{"default", says("x")}) },
		"gallop handler":   func(c *Ctx) error { c.RequestCtx().SetBodyString("x"); return nil },
	}
	for _, mediaType := range []string{"application/x-mine; a=b", "text/html; charset=utf-8", typeText} {
		for how, set := range map[string]func(c *Ctx){
			"Type":    func(c *Ctx) { c.Type(mediaType) },
			"Set":     func(c *Ctx) { c.SetHeader("content-type", mediaType) },
			"request": func(c *Ctx) { c.RequestCtx().SetContentType(mediaType) },
			"after":   func(c *Ctx) { c.JSON("replaced"); c.Type(mediaType) },
		} {
			app := New(Config{Views: views, Server: quiet()})
			behind := app.Group("/behind", Handler(func(c *Ctx) error { set(c); return c.Next() }))
			for name, send := range senders {
				if how == "after" && (strings.HasPrefix(name, "Send") && name != "Send" && name != "SendString" || name == "Download" || name == "Write") {
					continue // the type goes with the body
				}
				path := "/" + strings.ReplaceAll(name, " ", "-")
				app.Get(path, func(c *Ctx) error { set(c); return send(c) })
				behind.Get(path, send)
				for _, target := range []string{path, "/behind" + path} {
					if _, _, h := ask(t, app, "GET", target); h.Get("Content-Type") != mediaType {
						t.Errorf("%s %s %s: %q, want %q", how, target, name, h.Get("Content-Type"), mediaType)
					}
				}
			}
		}
	}
}

// These methods need a Content-Type of their own: another one would be wrong, or dangerous.
func TestContentTypeIsChosen(t *testing.T) {
	files := fstest.MapFS{"f.html": {Data: []byte("<p>")}}
	for name, test := range map[string]struct {
		handler Handler
		want    string
	}{
		"an error":                {func(c *Ctx) error { c.Type("html"); return NewError(400, "<script>") }, typeText},
		"another error":           {func(c *Ctx) error { c.Type("json"); return errors.New("x") }, typeText},
		"DefaultErrorHandler":     {func(c *Ctx) error { c.Type("html"); DefaultErrorHandler(c, NewError(400, "<script>")); return nil }, typeText},
		"AutoFormat":              {func(c *Ctx) error { c.Type("html"); return c.AutoFormat(1) }, typeJSON},
		"Format":                  {func(c *Ctx) error { c.Type("html"); return c.Format(Offer{"json", says("1")}) }, typeJSON},
		"SSE":                     {func(c *Ctx) error { c.Type("html"); return c.SSE(func(*EventStream) error { return nil }) }, "text/event-stream"},
		"JSON in place of text":   {func(c *Ctx) error { c.SendString("x"); return c.JSON(1) }, typeJSON},
		"text in place of HTML":   {func(c *Ctx) error { c.HTML("<p>"); return c.SendString("<script>") }, typeText},
		"HTML in place of JSON":   {func(c *Ctx) error { c.JSON(1); return c.HTML("<p>") }, typeHTML},
		"JSON in place of a file": {func(c *Ctx) error { c.SendFS(files, "f.html"); return c.JSON(1) }, typeJSON},
		"status in place of HTML": {func(c *Ctx) error { c.HTML("<p>"); return c.SendStatus(404) }, typeText},
		"nothing set":             {func(c *Ctx) error { c.SetHeader("Content-Type", ""); return c.JSON(1) }, typeJSON},
		"kept until the next one": {func(c *Ctx) error { c.Type("csv"); c.SendString("x"); return c.JSON(1) }, "text/csv; charset=utf-8"},
	} {
		app := New(Config{Server: quiet()})
		app.Get("/", test.handler)
		if _, _, h := ask(t, app, "GET", "/", "Accept: application/json"); h.Get("Content-Type") != test.want {
			t.Errorf("%s: %q, want %q", name, h.Get("Content-Type"), test.want)
		}
	}
}

// A Ctx that is used again does not remember the type of the request before.
func TestChosenTypeEndsWithTheRequest(t *testing.T) {
	app := New(Config{})
	app.Get("/text", says("x"))
	app.Get("/typed", func(c *Ctx) error { c.SetHeader("Content-Type", typeText); return c.JSON(1) })
	for range 3 {
		serve(app, "/text")
		if got := string(serve(app, "/typed").Response.Header.ContentType()); got != typeText {
			t.Fatal(got)
		}
	}
}

// The negotiated type is the one that is sent, also by methods that would choose another one.
func TestNegotiatedTypeIsSent(t *testing.T) {
	form := func(mediaType, body string) Offer { return Offer{mediaType, says(body)} }
	forms := []Offer{
		form("application/json", `{"hello":"world"}`), form("text/html", "<p>Hello, World!</p>"),
		form("application/xml", "<hello>World</hello>"), form("text/plain", "Hello, World!"),
		{"text/csv", func(c *Ctx) error {
			w := csv.NewWriter(c)
			defer w.Flush()
			return w.Write([]string{"hello", "world"})
		}},
		form("text/tab-separated-values", "hello\tworld"),
		{"application/vnd.api+json", func(c *Ctx) error { return c.JSON("hello") }},
		{"application/hal+json", func(c *Ctx) error { return c.Encode("application/json", "hello") }},
	}
	app := New(Config{Server: &gallop.Server{Name: "test"}})
	app.Get("/format", func(c *Ctx) error { return c.Format(forms...) })
	app.Get("/formats", Formats(forms...))
	for accept, want := range map[string][2]string{
		"application/json": {"application/json", `{"hello":"world"}`},
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": {"text/html", "<p>Hello, World!</p>"},
		"application/xml":                          {"application/xml", "<hello>World</hello>"},
		"text/plain;q=0.5, application/json;q=0.4": {"text/plain", "Hello, World!"},
		"image/png, */*;q=0.1":                     {"application/json", `{"hello":"world"}`},
		"text/csv":                                 {"text/csv", "hello,world\n"},
		"text/tab-separated-values":                {"text/tab-separated-values", "hello\tworld"},
		"application/vnd.api+json":                 {"application/vnd.api+json", `"hello"`},
		"application/hal+json":                     {"application/hal+json", `"hello"`},
	} {
		for _, target := range []string{"/format", "/formats"} {
			status, body, h := ask(t, app, "GET", target, "Accept: "+accept)
			got := map[string]string{}
			for name, values := range h {
				got[name] = strings.Join(values, "|")
			}
			if got["Date"] == "" {
				t.Errorf("%s: no Date", accept)
			}
			delete(got, "Date")
			fields := map[string]string{
				"Server": "test", "Content-Type": want[0], "Content-Length": fmt.Sprint(len(want[1])), "Vary": "Accept",
			}
			if status != 200 || body != want[1] || !maps.Equal(got, fields) {
				t.Errorf("%s %s: %d %q %v, want %q %v", target, accept, status, body, got, want[1], fields)
			}
		}
	}
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// serve lets the application answer a request without a server, with fields "Name: value".
func serve(app *App, target string, fields ...string) *gallop.RequestCtx {
	request := &gallop.RequestCtx{}
	request.Request.SetRequestURI(target)
	request.Request.Header.SetHost("example.com")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Request.Header.Add(name, value)
	}
	app.serve(request)
	return request
}

func TestRequest(t *testing.T) {
	app := New(Config{})
	app.Get("/a/:x/*rest", func(c *Ctx) error {
		return c.SendString(fmt.Sprint(c.Method(), "|", c.Path(), "|", c.Params("x"), "|", c.Params("rest"), "|", c.Params("none"), "|",
			c.Query("q"), "|", c.Query("empty", "d"), "|", c.Query("none", "d"), "|", c.Cookies("k"), "|", c.Cookies("none", "d"), "|",
			c.ReqHeader("x-field"), "|", c.ReqHeader("none", "d"), "|", string(c.Body())))
	})
	got := serve(app, "/a/%C3%A9%2F/b/c?q=1+2&q=3&empty=", "Cookie: k=v", "X-Field: f").Response.Body()
	if want := "GET|/a/é%2F/b/c|é%2F|b/c||1 2|d|d|v|d|f|d|"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Strings from a Ctx stay valid after the request has ended.
func TestStringsMayBeKept(t *testing.T) {
	var kept []string
	app := New(Config{Server: &gallop.Server{PoisonReleased: true}})
	app.Host(":h.com").Get("/:x/*rest", func(c *Ctx) error {
		kept = append(kept, c.Method(), c.Path(), c.Params("h"), c.Params("x"), c.Params("rest"), c.Query("q"), c.Cookies("k"), c.ReqHeader("X-Field"))
		return nil
	})
	for range 3 {
		ask(t, app, "GET", "/one/two?q=3", "Cookie: k=v", "X-Field: f")
		ask(t, app, "GET", "/xxx/yyy?q=z", "Cookie: k=w", "X-Field: g")
	}
	want := strings.Repeat("GET,/one/two,example,one,two,3,v,f,GET,/xxx/yyy,example,xxx,yyy,z,w,g,", 3)
	if got := strings.Join(kept, ",") + ","; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLocalsAndContext(t *testing.T) {
	type key struct{}
	app := New(Config{})
	app.Get("/", func(c *Ctx) error {
		c.SetLocal("n", 7)
		c.SetContext(context.WithValue(c.Context(), key{}, "value"))
		return c.Next()
	}, func(c *Ctx) error {
		n, ok := Local[int](c, "n")
		_, wrong := Local[string](c, "n")
		_, missing := Local[int](c, "m")
		return c.SendString(fmt.Sprintln(n, ok, wrong, missing, c.Value(key{}), c.Value("n"), c.Err()))
	})
	if got := string(serve(app, "/").Response.Body()); got != "7 true false false value 7 <nil>\n" {
		t.Errorf("%q", got)
	}
	app.Get("/ends", func(c *Ctx) error {
		ctx, cancel := context.WithCancel(c.Context())
		c.SetContext(ctx)
		cancel()
		<-c.Done()
		return c.SendString(fmt.Sprint(c.Err()))
	})
	if got := string(serve(app, "/ends").Response.Body()); got != "context canceled" {
		t.Errorf("%q", got)
	}
	app.Get("/itself", func(c *Ctx) error {
		defer func() { c.SendString(fmt.Sprint(recover() != nil, c.Value(key{}), c.Err())) }()
		c.SetContext(context.WithValue(c, key{}, "value"))
		return nil
	})
	if got := string(serve(app, "/itself").Response.Body()); got != "true <nil> <nil>" {
		t.Errorf("a context of the Ctx itself: %q", got)
	}
	app.Get("/new", func(c *Ctx) error { return c.SendString(fmt.Sprint(c.Value(key{}), c.Err())) })
	if got := string(serve(app, "/new").Response.Body()); got != "<nil> <nil>" {
		t.Errorf("what another request left: %q", got)
	}
}

type shouting struct{ mediaType string }

func (s shouting) ContentType() string           { return s.mediaType }
func (shouting) Encode(w io.Writer, _ any) error { _, err := io.WriteString(w, `"LOUD"`); return err }
func (shouting) Decode(d []byte, v any) error    { return json.Unmarshal(d, v) }

func TestAnswers(t *testing.T) {
	type item struct {
		Name string `json:"name" xml:"name"`
	}
	app := New(Config{})
	for path, handler := range map[string]Handler{
		"/text":    says("é"),
		"/html":    func(c *Ctx) error { return c.HTML("<b>") },
		"/json":    func(c *Ctx) error { return c.Status(201).JSON(item{"a"}) },
		"/xml":     func(c *Ctx) error { return c.XML(item{"<"}) },
		"/bytes":   func(c *Ctx) error { return c.Type(".png").Send([]byte("x")) },
		"/type":    func(c *Ctx) error { return c.Type("csv").Send([]byte("x")) },
		"/latin":   func(c *Ctx) error { return c.Type("csv; charset=latin1").Send([]byte("x")) },
		"/unknown": func(c *Ctx) error { return c.Type("nonsense").Send([]byte("x")) },
		"/status":  func(c *Ctx) error { return c.SendStatus(404) },
		"/empty":   func(c *Ctx) error { c.SendString("gone"); return c.SendStatus(204) },
		"/reset":   func(c *Ctx) error { c.SendString("gone"); return c.SendStatus(205) },
		"/split":   func(c *Ctx) error { return c.SetHeader("X-A", "a\r\nX-B: b").SendString("") },
		"/bad":     func(c *Ctx) error { return c.JSON(func() {}) },
		"/badxml":  func(c *Ctx) error { return c.XML(1i) },
		"/problem": func(c *Ctx) error { return c.Encode("application/problem+json", item{"a"}) },
		"/profile": func(c *Ctx) error { return c.Encode("application/LD+JSON; profile=x", item{"a"}) },
		"/svg":     func(c *Ctx) error { return c.Encode("image/svg+xml", item{"a"}) },
		"/nocodec": func(c *Ctx) error { return c.Encode("text/csv", item{"a"}) },
	} {
		app.Get(path, handler)
	}
	app.config.Server.Logger = discard{}
	for path, want := range map[string]string{
		"/text":    "200 text/plain; charset=utf-8 é",
		"/html":    "200 text/html; charset=utf-8 <b>",
		"/problem": `200 application/problem+json {"name":"a"}`,
		"/profile": `200 application/LD+JSON; profile=x {"name":"a"}`,
		"/svg":     "200 image/svg+xml <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<item><name>a</name></item>",
		"/nocodec": "500 text/plain; charset=utf-8 Internal Server Error",
		"/json":    `201 application/json {"name":"a"}`,
		"/xml":     "200 application/xml; charset=utf-8 <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<item><name>&lt;</name></item>",
		"/bytes":   "200 image/png x",
		"/type":    "200 text/csv; charset=utf-8 x",
		"/latin":   "200 text/csv; charset=latin1 x",
		"/unknown": "200 application/octet-stream x",
		"/status":  "404 text/plain; charset=utf-8 Not Found",
		"/empty":   "204  ",
		"/reset":   "205 text/plain; charset=utf-8 ",
		"/split":   "200 text/plain; charset=utf-8 ",
		"/bad":     "500 text/plain; charset=utf-8 Internal Server Error",
		"/badxml":  "500 text/plain; charset=utf-8 Internal Server Error",
	} {
		status, body, header := ask(t, app, "GET", path)
		got := fmt.Sprint(status, " ", header.Get("Content-Type"), " ", body)
		if path == "/empty" {
			got = fmt.Sprint(status, " ", " ", body)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if header.Get("X-B") != "" {
			t.Errorf("%s: the answer was split", path)
		}
	}
	loud := New(Config{Codecs: []codec.Codec{shouting{"application/json"}}})
	loud.Get("/", func(c *Ctx) error { return c.JSON(1) })
	if _, body, _ := ask(t, loud, "GET", "/"); body != `"LOUD"` {
		t.Errorf("another codec: %q", body)
	}
}

func TestVary(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error {
		c.Vary("Origin")
		c.Vary("origin")
		c.Vary("Accept-Encoding", "Accept")
		c.Vary("Accept")
		return nil
	})
	app.Get("/star", func(c *Ctx) error { c.Vary("Accept"); c.Vary("*"); c.Vary("Origin"); return nil })
	app.Get("/lines", func(c *Ctx) error {
		c.RequestCtx().Response.Header.Add("Vary", "A")
		c.RequestCtx().Response.Header.Add("Vary", "B")
		c.Vary("C")
		return nil
	})
	app.Get("/none", func(c *Ctx) error { c.Vary(); return nil })
	for path, want := range map[string]string{"/none": "", "/": "Origin, Accept-Encoding, Accept", "/star": "*", "/lines": "A,B, C"} {
		if _, _, header := ask(t, app, "GET", path); strings.Join(header.Values("Vary"), "|") != want || (want == "") != (header["Vary"] == nil) {
			t.Errorf("%s: %q, want %q", path, header.Values("Vary"), want)
		}
	}
}

// with returns the handler's Ctx for a request with the fields, and what it answered.
func with(t *testing.T, fields []string, handler Handler) *gallop.RequestCtx {
	t.Helper()
	app := New(Config{})
	app.Get("/", handler)
	return serve(app, "/", fields...)
}

func TestAccepts(t *testing.T) {
	with(t, []string{
		"Accept: text/plain;q=0.5", "Accept: application/json", "Accept-Charset: utf-8;q=0.1", "Accept-Charset: iso-8859-1",
		"Accept-Encoding: deflate;q=0.3", "Accept-Encoding: gzip", "Accept-Language: de-CH", "Accept-Language: *-US;q=0.5",
	}, func(c *Ctx) error {
		for want, got := range map[string]string{
			"application/json": c.Accepts("text/plain", "application/json"),
			"iso-8859-1":       c.AcceptsCharsets("utf-8", "iso-8859-1"),
			"gzip":             c.AcceptsEncodings("deflate", "gzip"),
			"de-CH":            c.AcceptsLanguages("de", "de-CH"),
			"en-US":            c.AcceptsLanguagesExtended("en-US", "de"),
			"de":               c.LookupLanguage("en", "de"),
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		return nil
	})
}

const chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		name, accept, formats string // accept "-" is no field
		status                int
		body, mediaType       string
	}{
		{"a browser", chrome, "application/xhtml+xml application/xml foo/bar", 200, "application/xhtml+xml", "application/xhtml+xml"},
		{"a browser, others", chrome, "foo/bar;a=b", 200, "foo/bar;a=b", "foo/bar;a=b"},
		{"not acceptable", "application/json", "text/html", 406, "not acceptable; there is: text/html", typeText},
		{"default", "application/vnd.msgpack", "text/html default", 200, "default", ""},
		{"no field", "-", "default application/json", 200, "application/json", "application/json"},
		{"no field, only default", "-", "default", 200, "default", ""},
		{"an empty field", "", "text/html application/json", 200, "text/html", "text/html"},
		{"two lines", "text/plain;q=0.5|text/html", "application/json text/html", 200, "text/html", "text/html"},
		{"short names", "application/json", "html json", 200, "json", "application/json"},
		{"short names of text", chrome, "html json", 200, "html", typeHTML},
		{"not a range", "json", "xml html json", 406, "not acceptable; there is: xml, html, json", typeText},
		{"a kind", "text/csv", "text/*", 200, "text/*", typeText},
		{"many", "a/j", "a/a a/b a/c a/d a/e a/f a/g a/h a/i a/j", 200, "a/j", "a/j"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var fields []string
			for line := range strings.SplitSeq(tc.accept, "|") {
				if line != "-" {
					fields = append(fields, "Accept: "+line)
				}
			}
			var formats []Offer
			for mediaType := range strings.FieldsSeq(tc.formats) {
				formats = append(formats, Offer{mediaType, func(c *Ctx) error { return c.Send([]byte(mediaType)) }})
			}
			prepared := &with(t, fields, Formats(formats...)).Response
			r := &with(t, fields, func(c *Ctx) error { return c.Format(formats...) }).Response
			if r.String() != prepared.String() {
				t.Errorf("prepared: %s", prepared)
			}
			if r.StatusCode() != tc.status || string(r.Body()) != tc.body || string(r.Header.Peek("Vary")) != "Accept" {
				t.Errorf("%d %q, Vary %q; want %d %q", r.StatusCode(), r.Body(), r.Header.Peek("Vary"), tc.status, tc.body)
			}
			if tc.mediaType != "" && string(r.Header.ContentType()) != tc.mediaType {
				t.Errorf("type %q, want %q", r.Header.ContentType(), tc.mediaType)
			}
		})
	}
	mustPanic(t, "no formats", func() { Formats() })
	mustPanic(t, "index 0", func() { Formats(Offer{MediaType: "json"}) })
	with(t, nil, func(c *Ctx) error {
		if err := c.Format(); !errors.Is(err, ErrNoHandlers) {
			t.Errorf("without formats: %v", err)
		}
		err := c.Format(Offer{"json", says("x")}, Offer{MediaType: "text/html"})
		if err == nil || !strings.Contains(err.Error(), "text/html") || !strings.Contains(err.Error(), "index 1") {
			t.Errorf("without a handler: %v", err)
		}
		if len(c.RequestCtx().Response.Body()) > 0 {
			t.Error("something was written")
		}
		want := errors.New("mine")
		if err := c.Format(Offer{"json", func(*Ctx) error { return want }}); err != want {
			t.Errorf("the handler's error became %v", err)
		}
		return nil
	})
}

func TestAutoFormat(t *testing.T) {
	for _, tc := range []struct {
		accept    string
		v         any
		mediaType string
		body      string
	}{
		{"text/plain", []byte("Hello, World!"), typeText, "Hello, World!"},
		{"text/html", "Hello, World!", typeHTML, "<p>Hello, World!</p>"},
		{"text/html", "<script>", typeHTML, "<p>&lt;script&gt;</p>"},
		{"text/html", struct{ A string }{"<"}, typeHTML, "<p>{&lt;}</p>"},
		{"application/json", "x", typeJSON, `"x"`},
		{"application/xml", "x", "application/xml; charset=utf-8", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<string>x</string>"},
		{"broken/accept", "x", typeText, "x"},
		{"", "x", typeHTML, "<p>x</p>"},
	} {
		r := &with(t, []string{"Accept: " + tc.accept}, func(c *Ctx) error { return c.AutoFormat(tc.v) }).Response
		if string(r.Body()) != tc.body || string(r.Header.ContentType()) != tc.mediaType || string(r.Header.Peek("Vary")) != "Accept" {
			t.Errorf("%q, %v: %q %q, Vary %q", tc.accept, tc.v, r.Header.ContentType(), r.Body(), r.Header.Peek("Vary"))
		}
	}
	coded := New(Config{Codecs: []codec.Codec{shouting{"application/cbor"}}})
	coded.Get("/", func(c *Ctx) error { return c.AutoFormat(1) })
	if r := &serve(coded, "/", "Accept: application/cbor").Response; string(r.Body()) != `"LOUD"` || string(r.Header.ContentType()) != "application/cbor" {
		t.Errorf("a codec: %s", r)
	}
	with(t, []string{"Accept: application/xml"}, func(c *Ctx) error {
		if err := c.AutoFormat(1i); err == nil {
			t.Error("a complex number became XML")
		}
		return nil
	})
}

func TestNothingAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	app := New(Config{})
	app.Get("/static/route", func(*Ctx) error { return nil })
	app.Get("/repos/:owner/:repo/issues/:n<int>/*rest", func(c *Ctx) error {
		if len(c.ParamsBytes("owner")) == 0 || len(c.ParamsBytes("rest")) == 0 || c.Method() != "GET" {
			t.Error("something is missing")
		}
		return c.Next()
	}, func(c *Ctx) error { return c.SendString("text") })
	app.Get("/format", func(c *Ctx) error {
		ok := func(*Ctx) error { return nil }
		return c.Format(Offer{"application/xml", ok}, Offer{"text/html", ok}, Offer{"text/plain;format=fixed", ok}, Offer{"text/plain;format=flowed", ok})
	})
	app.Get("/formats", Formats(Offer{"application/xml", says("")}, Offer{"text/html", says("")}, Offer{"json", says("")}))
	app.Get("/accepts", func(c *Ctx) error {
		if c.Accepts(".xml", "json") == "" || c.AcceptsEncodings("gzip", "identity") != "gzip" {
			t.Error("nothing is acceptable")
		}
		return nil
	})
	app.Host(":tenant.example.org").Get("/", func(*Ctx) error { return nil })
	for _, target := range []string{"/static/route", "/repos/gallop/web/issues/7/a/b", "/format", "/formats", "/accepts"} {
		request := &gallop.RequestCtx{}
		request.Request.SetRequestURI(target)
		request.Request.Header.SetHost("example.com")
		request.Request.Header.Set("Accept", "application/json,text/plain; format=flowed; q=0.9")
		request.Request.Header.Set("Accept-Encoding", "deflate, gzip;q=1.0, *;q=0.5")
		if n := testing.AllocsPerRun(200, func() {
			request.Response.Reset()
			app.serve(request)
		}); n != 0 {
			t.Errorf("%s: %v allocations", target, n)
		}
	}
}

// Contexts that are derived from a Ctx look at it when they learn of its end, on a goroutine of their own: when the handler has
// returned, and the Ctx stands for something else, or would serve the next request.
func TestContextsOutliveTheirRequest(t *testing.T) {
	app := New(Config{Server: quiet()})
	type key struct{}
	derived := make(chan context.Context, 1)
	derives := func(c *Ctx) error {
		ctx, cancel := context.WithCancel(c)
		t.Cleanup(cancel)
		derived <- ctx
		return nil
	}
	app.Get("/plain", derives)
	app.Get("/set", func(c *Ctx) error {
		outer := c.Context()
		defer c.SetContext(outer)
		c.SetContext(context.WithValue(outer, key{}, 1))
		return c.Next()
	}, derives)
	app.Get("/other", func(c *Ctx) error { c.SetContext(ends{t.Context()}); return c.Next() }, derives) // which goes on
	app.Get("/nethttp", FromMiddleware(func(next http.Handler) http.Handler { return next }), derives)
	app.Get("/early", func(c *Ctx) error {
		outer := c.Context()
		inner, end := context.WithCancel(outer)
		c.SetContext(ends{inner})
		err := c.Next()
		c.SetContext(outer)
		end()
		ctx := <-derived
		<-ctx.Done()
		derived <- ctx
		if c.Err() != nil {
			t.Error("what was around has ended, too")
		}
		return err
	}, derives)
	app.Get("/next", func(c *Ctx) error { return c.SendString(fmt.Sprint(c.Err())) })
	listen := map[string]func(*testing.T, *App) func() net.Conn{"memory": listening, "TCP": onTCP}
	for name, listen := range listen {
		dial := listen(t, app)
		for _, target := range []string{"/plain", "/set", "/other", "/nethttp", "/early"} {
			for range 20 {
				conn := dial()
				get(t, conn, target)
				r, response := get(t, conn, "/next")
				if body, err := io.ReadAll(response.Body); string(body) != "<nil>" || err != nil || r.Buffered() > 0 {
					t.Errorf("%s: %s: the context of another request says %q, %v", name, target, body, err)
				}
				conn.Close()
				ctx := <-derived
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
					t.Fatalf("%s: %s: the context does not end", name, target)
				}
				if ctx.Err() != context.Canceled {
					t.Errorf("%s: %s: %v", name, target, ctx.Err())
				}
			}
		}
	}
}

// ends is a context that is none of package context.
type ends struct{ of context.Context }

func (e ends) Deadline() (time.Time, bool) { return e.of.Deadline() }
func (e ends) Done() <-chan struct{}       { return e.of.Done() }
func (e ends) Err() error                  { return e.of.Err() }
func (e ends) Value(any) any               { return nil }

// SetContext may be called while other goroutines ask for what it replaces.
func TestSetContextWhileOthersAsk(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error {
		done := make(chan error)
		go func() {
			var err error
			for range 1000 {
				err = errors.Join(err, c.Err())
			}
			done <- err
		}()
		for range 1000 {
			c.SetContext(context.WithoutCancel(c.Context()))
			c.SetContext(context.Background())
		}
		return <-done
	})
	if status, _, _ := ask(t, app, "GET", "/"); status != 200 {
		t.Error(status)
	}
}

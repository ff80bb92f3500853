package middleware_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// benchRequest measures requests for "/". Names of headers and their values take turns in fields.
func benchRequest(b *testing.B, app *web.App, method string, fields ...string) {
	b.Helper()
	handler := app.Handler()
	request := &gallop.RequestCtx{}
	request.Request.Header.SetMethod(method)
	request.Request.SetRequestURI("/")
	request.Request.Header.SetHost("example.com")
	for i := 0; i < len(fields); i += 2 {
		request.Request.Header.Set(fields[i], fields[i+1])
	}
	handler(request)
	if request.Response.StatusCode() != 200 {
		b.Fatalf("%d %s", request.Response.StatusCode(), request.Response.Body())
	}
	b.ReportAllocs()
	for b.Loop() {
		request.Response.Reset()
		handler(request)
		request.ResetUserValues()
	}
}

// each measures a handler without middleware and with it.
func each(b *testing.B, method string, m web.Middleware, handler web.Handler, fields ...string) {
	b.Helper()
	for _, name := range []string{"without", "with"} {
		app := newApp()
		if name == "with" {
			app.Use(m)
		}
		app.All("/", handler)
		b.Run(name, func(b *testing.B) { benchRequest(b, app, method, fields...) })
	}
}

func hello(c *web.Ctx) error { return c.SendString("hello") }

func BenchmarkCSRF(b *testing.B) {
	b.Run("fetch metadata", func(b *testing.B) {
		each(b, "POST", middleware.CSRF{}, hello, "Sec-Fetch-Site", "same-origin", "Origin", "http://example.com", "Cookie", "a=b")
	})
	b.Run("origin", func(b *testing.B) {
		each(b, "POST", middleware.CSRF{}, hello, "Origin", "http://example.com", "Cookie", "a=b")
	})
	b.Run("GET", func(b *testing.B) {
		each(b, "GET", middleware.CSRF{}, hello, "Sec-Fetch-Site", "same-origin", "Cookie", "a=b")
	})
}

func BenchmarkSecureHeaders(b *testing.B) {
	each(b, "GET", middleware.SecureHeaders{}, hello)
	b.Run("nonce", func(b *testing.B) {
		app := newApp(middleware.SecureHeaders{})
		app.Get("/", func(c *web.Ctx) error { middleware.Nonce(c); return hello(c) })
		benchRequest(b, app, "GET")
	})
}

func BenchmarkHostAllow(b *testing.B) {
	each(b, "GET", middleware.HostAllow{Hosts: []string{"example.com", "*.example.org"}}, hello)
}

func BenchmarkBasicAuth(b *testing.B) {
	each(b, "GET", middleware.BasicAuth{Users: map[string]string{"ada": fewRounds("secret")}}, hello, "Authorization", basic("ada:secret")[len("Authorization: "):])
}

func BenchmarkKeyAuth(b *testing.B) {
	key, hash := middleware.NewAPIKey("k")
	each(b, "GET", middleware.KeyAuth{Keys: []middleware.APIKey{{Name: "a", Hash: hash}}}, hello, "Authorization", "Bearer "+key)
}

func BenchmarkSession(b *testing.B) {
	for name, user := range map[string]string{"visitor": "", "user": "ada"} {
		b.Run(name, func(b *testing.B) {
			s := &middleware.Session[visit]{}
			app := newApp(s)
			app.Post("/", func(c *web.Ctx) error { return s.Start(c, user, visit{7, "ada"}) })
			app.Get("/", func(c *web.Ctx) error { return hello(c) })
			app.Get("/get", func(c *web.Ctx) error {
				if _, _, err := s.Get(c); err != nil {
					return err
				}
				return hello(c)
			})
			request := &gallop.RequestCtx{}
			request.Request.Header.SetMethod("POST")
			request.Request.SetRequestURI("/")
			app.Handler()(request)
			cookie := &gallop.Cookie{}
			cookie.SetKey(sessionName)
			if !request.Response.Header.Cookie(cookie) {
				b.Fatal("no cookie")
			}
			id := string(cookie.Value())
			b.Run("unused", func(b *testing.B) { benchRequest(b, app, "GET", "Cookie", sessionName+"="+id) })
			app = newApp(s)
			app.Get("/", func(c *web.Ctx) error {
				if v, found, err := s.Get(c); err != nil || !found || v.N != 7 {
					b.Error(v, found, err)
				}
				return hello(c)
			})
			b.Run("read", func(b *testing.B) { benchRequest(b, app, "GET", "Cookie", sessionName+"="+id) })
			app = newApp(s)
			app.Get("/", func(c *web.Ctx) error {
				if err := s.Update(c, func(v *visit) error { v.N++; return nil }); err != nil {
					b.Error(err)
				}
				return hello(c)
			})
			b.Run("update", func(b *testing.B) { benchRequest(b, app, "GET", "Cookie", sessionName+"="+id) })
		})
	}
}

func BenchmarkCookies(b *testing.B) {
	for name, box := range map[string]cookieBox{"signed": &middleware.SignedCookies{Keys: [][]byte{keyA}}, "encrypted": &middleware.EncryptCookies{Keys: [][]byte{keyA}}} {
		app := newApp()
		app.Post("/", func(c *web.Ctx) error { return box.Set(c, web.Cookie{Name: "c", Value: "value"}) })
		app.Get("/", func(c *web.Ctx) error {
			if _, ok := box.Get(c, "c"); !ok {
				b.Error("no cookie")
			}
			return hello(c)
		})
		request := &gallop.RequestCtx{}
		request.Request.Header.SetMethod("POST")
		request.Request.SetRequestURI("/")
		app.Handler()(request)
		cookie := &gallop.Cookie{}
		cookie.SetKey("c")
		request.Response.Header.Cookie(cookie)
		value := string(cookie.Value())
		b.Run(name+"/set", func(b *testing.B) { benchRequest(b, app, "POST") })
		b.Run(name+"/get", func(b *testing.B) { benchRequest(b, app, "GET", "Cookie", "c="+value) })
	}
}

// BenchmarkSecurityChain is the chain of an app with pages and logins.
func BenchmarkSecurityChain(b *testing.B) {
	benchChain(b, "ada", middleware.RequestID{}, middleware.Recover{}, middleware.SecureHeaders{}, middleware.CSRF{})
}

// BenchmarkUsualChain is the chain that most apps begin with.
func BenchmarkUsualChain(b *testing.B) {
	logger := middleware.Logger{Log: slog.New(silent{})}
	for name, user := range map[string]string{"visitor": "", "user": "ada"} {
		b.Run(name, func(b *testing.B) {
			benchChain(b, user, middleware.RequestID{}, logger, middleware.Recover{}, middleware.SecureHeaders{})
		})
	}
	b.Run("without", func(b *testing.B) {
		app := newApp()
		app.Get("/", hello)
		benchRequest(b, app, "GET", "Sec-Fetch-Site", "same-origin")
	})
}

// silent is a slog.Handler that takes records and writes nothing, so that a benchmark does not measure log/slog's encoders.
type silent struct{}

func (silent) Enabled(context.Context, slog.Level) bool  { return true }
func (silent) Handle(context.Context, slog.Record) error { return nil }
func (s silent) WithAttrs([]slog.Attr) slog.Handler      { return s }
func (s silent) WithGroup(string) slog.Handler           { return s }

// benchChain measures a request that reads a session behind other middleware.
func benchChain(b *testing.B, user string, chain ...web.Middleware) {
	b.Helper()
	s := &middleware.Session[visit]{}
	app := newApp(append(chain, s)...)
	app.Get("/", func(c *web.Ctx) error {
		if _, _, err := s.Get(c); err != nil {
			return err
		}
		return hello(c)
	})
	app.Post("/", func(c *web.Ctx) error { return s.Start(c, user, visit{7, "ada"}) })
	request := &gallop.RequestCtx{}
	request.Request.Header.SetMethod("POST")
	request.Request.SetRequestURI("/")
	app.Handler()(request)
	cookie := &gallop.Cookie{}
	cookie.SetKey(sessionName)
	request.Response.Header.Cookie(cookie)
	benchRequest(b, app, "GET", "Cookie", sessionName+"="+string(cookie.Value()), "Sec-Fetch-Site", "same-origin")
}

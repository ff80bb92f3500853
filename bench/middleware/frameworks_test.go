package middleware

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"
)

// hello is the body of all responses.
const hello = "Hello, World!"

// host is the host of all requests.
const host = "example.com"

var client = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 50000}

func ofGallop(add func(app *web.App), handlers ...web.Handler) func(on bool) handler {
	return func(on bool) handler {
		app := web.New(web.Config{Server: &gallop.Server{ErrorLog: slog.New(nowhere{})}}) // Session warns about http
		var handle web.Handler = func(c *web.Ctx) error { return c.SendString(hello) }
		if on {
			add(app)
			if len(handlers) > 0 {
				handle = handlers[0]
			}
		}
		app.All("/", handle)
		serve := app.Handler()
		start := func(r request) *gallop.RequestCtx {
			ctx := &gallop.RequestCtx{}
			ctx.SetRemoteAddr(client)
			ctx.Request.Header.SetMethod(r.method)
			ctx.Request.SetRequestURI(r.target)
			ctx.Request.Header.SetHost(host)
			for i := 0; i < len(r.fields); i += 2 {
				ctx.Request.Header.Set(r.fields[i], r.fields[i+1])
			}
			return ctx
		}
		return handler{
			do: func(r request) (int, string) {
				ctx := start(r)
				serve(ctx)
				defer ctx.ResetUserValues()
				return ctx.Response.StatusCode(), string(ctx.Response.Header.Peek("Set-Cookie"))
			},
			prepare: func(r request) func() {
				ctx := start(r)
				return func() {
					ctx.Response.Reset()
					serve(ctx)
					ctx.ResetUserValues()
				}
			},
		}
	}
}

func ofFiber(add func(app *fiber.App), handlers ...fiber.Handler) func(on bool) handler {
	return func(on bool) handler {
		app := fiber.New(fiber.Config{CaseSensitive: true, StrictRouting: true})
		handle := func(c fiber.Ctx) error { return c.SendString(hello) }
		if on {
			add(app)
			if len(handlers) > 0 {
				handle = handlers[0]
			}
		}
		app.All("/", handle)
		serve := app.Handler()
		start := func(r request) *fasthttp.RequestCtx {
			ctx := &fasthttp.RequestCtx{}
			ctx.SetRemoteAddr(client)
			ctx.Request.Header.SetMethod(r.method)
			ctx.Request.SetRequestURI(r.target)
			ctx.Request.Header.SetHost(host)
			for i := 0; i < len(r.fields); i += 2 {
				ctx.Request.Header.Set(r.fields[i], r.fields[i+1])
			}
			return ctx
		}
		return handler{
			do: func(r request) (int, string) {
				ctx := start(r)
				serve(ctx)
				return ctx.Response.StatusCode(), string(ctx.Response.Header.Peek("Set-Cookie"))
			},
			prepare: func(r request) func() {
				ctx := start(r)
				return func() {
					ctx.Response.Reset()
					serve(ctx)
					ctx.ResetUserValues()
				}
			},
		}
	}
}

func ofEcho(add func(app *echo.Echo)) func(on bool) handler {
	return func(on bool) handler {
		app := echo.New()
		if on {
			add(app)
		}
		app.Any("/", func(c echo.Context) error { return c.String(200, hello) })
		start := func(r request) *http.Request {
			q := httptest.NewRequest(r.method, r.target, nil)
			q.Host, q.RemoteAddr = host, client.String()
			for i := 0; i < len(r.fields); i += 2 {
				q.Header.Set(r.fields[i], r.fields[i+1])
			}
			return q
		}
		return handler{
			do: func(r request) (int, string) {
				w := httptest.NewRecorder()
				app.ServeHTTP(w, start(r))
				return w.Code, w.Header().Get("Set-Cookie")
			},
			prepare: func(r request) func() {
				q, w := start(r), nowhere{http.Header{}}
				return func() {
					clear(w.header)
					app.ServeHTTP(w, q)
				}
			},
		}
	}
}

// nowhere is a ResponseWriter, an io.Writer and a slog.Handler that discards everything.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header                     { return w.header }
func (w nowhere) Write(p []byte) (int, error)             { return len(p), nil }
func (w nowhere) WriteHeader(int)                         {}
func (nowhere) Enabled(context.Context, slog.Level) bool  { return true }
func (nowhere) Handle(context.Context, slog.Record) error { return nil }
func (w nowhere) WithAttrs([]slog.Attr) slog.Handler      { return w }
func (w nowhere) WithGroup(string) slog.Handler           { return w }

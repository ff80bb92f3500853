package middleware

import (
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/gofiber/fiber/v3"
	fiberbasicauth "github.com/gofiber/fiber/v3/middleware/basicauth"
	fibercors "github.com/gofiber/fiber/v3/middleware/cors"
	fibercsrf "github.com/gofiber/fiber/v3/middleware/csrf"
	fiberearlydata "github.com/gofiber/fiber/v3/middleware/earlydata"
	fiberetag "github.com/gofiber/fiber/v3/middleware/etag"
	fiberfavicon "github.com/gofiber/fiber/v3/middleware/favicon"
	fiberhelmet "github.com/gofiber/fiber/v3/middleware/helmet"
	fiberhosts "github.com/gofiber/fiber/v3/middleware/hostauthorization"
	fiberidempotency "github.com/gofiber/fiber/v3/middleware/idempotency"
	fiberkeyauth "github.com/gofiber/fiber/v3/middleware/keyauth"
	fiberlimiter "github.com/gofiber/fiber/v3/middleware/limiter"
	fiberlogger "github.com/gofiber/fiber/v3/middleware/logger"
	fiberrecover "github.com/gofiber/fiber/v3/middleware/recover"
	fiberrequestid "github.com/gofiber/fiber/v3/middleware/requestid"
	fibersession "github.com/gofiber/fiber/v3/middleware/session"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"
)

func use(m ...web.Middleware) func(*web.App) { return func(app *web.App) { app.Use(m...) } }

func useFiber(m ...any) func(*fiber.App) { return func(app *fiber.App) { app.Use(m...) } }

func useEcho(m ...echo.MiddlewareFunc) func(*echo.Echo) {
	return func(app *echo.Echo) { app.Use(m...) }
}

const (
	origin = "https://app.example.com"
	secret = "correct-horse-battery-staple" // a password and a key
	plenty = 1 << 30                        // requests, so that no limit is reached
)

func isSecret(s string) bool { return subtle.ConstantTimeCompare([]byte(s), []byte(secret)) == 1 }

var rows = []row{
	{
		name:   "RequestID",
		gallop: ofGallop(use(middleware.RequestID{})),
		fiber:  ofFiber(useFiber(fiberrequestid.New())),
		echo:   ofEcho(useEcho(echomiddleware.RequestID())),
	},
	{
		// Each framework's usual line of text, written to nowhere. fiber's line has no level, no route and no size of the body, and its time
		// of the day comes from a goroutine that formats it twice a second.
		name:   "Logger",
		gallop: ofGallop(use(middleware.Logger{Log: slog.New(slog.NewTextHandler(nowhere{}, nil))})),
		fiber:  ofFiber(useFiber(fiberlogger.New(fiberlogger.Config{Stream: nowhere{}}))),
		echo:   ofEcho(useEcho(echomiddleware.LoggerWithConfig(echomiddleware.LoggerConfig{Output: nowhere{}}))),
	},
	{
		// Equal work: the same record of log/slog, which goes to a handler that does nothing. echo's logger adds all attributes to the
		// record.
		name:   "LoggerRecord",
		gallop: ofGallop(use(middleware.Logger{Log: slog.New(nowhere{})})),
		fiber:  ofFiber(useFiber(fiberlogger.New(fiberlogger.Config{LoggerFunc: fiberRecords(slog.New(nowhere{}))}))),
		echo:   ofEcho(useEcho(echoRecords(slog.New(nowhere{})))),
	},
	{
		name:   "Recover",
		gallop: ofGallop(use(middleware.Recover{})),
		fiber:  ofFiber(useFiber(fiberrecover.New())),
		echo:   ofEcho(useEcho(echomiddleware.Recover())),
	},
	{
		name:   "SecureHeaders",
		gallop: ofGallop(use(middleware.SecureHeaders{})),
		fiber:  ofFiber(useFiber(fiberhelmet.New(fiberhelmet.Config{ContentSecurityPolicy: policy}))),
		echo:   ofEcho(useEcho(echomiddleware.SecureWithConfig(secure))),
	},
	{
		name:    "CORS",
		request: request{fields: []string{"Origin", origin}},
		gallop:  ofGallop(use(middleware.CORS{Origins: []string{origin}})),
		fiber:   ofFiber(useFiber(fibercors.New(fibercors.Config{AllowOrigins: []string{origin}}))),
		echo:    ofEcho(useEcho(echomiddleware.CORSWithConfig(echomiddleware.CORSConfig{AllowOrigins: []string{origin}}))),
	},
	{
		name:    "CSRF",
		request: request{method: "POST", fields: []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + host}},
		gallop:  ofGallop(use(middleware.CSRF{})),
		fiber:   ofFiber(useFiber(fibercsrf.New())),
		echo:    ofEcho(useEcho(echomiddleware.CSRF())),
		of:      map[string]func(handler, request) request{"fiber": withToken},
	},
	{
		name:    "CSRFSafe",
		request: request{fields: []string{"Sec-Fetch-Site", "same-origin"}},
		gallop:  ofGallop(use(middleware.CSRF{})),
		fiber:   ofFiber(useFiber(fibercsrf.New())),
		echo:    ofEcho(useEcho(echomiddleware.CSRF())),
	},
	{
		name:   "Limiter",
		gallop: ofGallop(use(middleware.Limiter{Rates: []middleware.Rate{{Limit: 1000, Window: time.Second, Burst: plenty}}})),
		fiber:  ofFiber(useFiber(fiberlimiter.New(fiberlimiter.Config{Max: plenty}))),
		echo:   ofEcho(useEcho(echomiddleware.RateLimiter(echomiddleware.NewRateLimiterMemoryStore(rate.Limit(plenty))))),
	},
	{
		name: "LimiterWindow",
		gallop: ofGallop(use(middleware.Limiter{Algorithm: middleware.FixedWindow,
			Rates: []middleware.Rate{{Limit: plenty, Window: time.Minute}}})),
		fiber: ofFiber(useFiber(fiberlimiter.New(fiberlimiter.Config{Max: plenty}))),
	},
	{
		name:   "Session",
		gallop: gallopSession(),
		fiber:  fiberSession(),
		login:  login,
	},
	{
		name:    "BasicAuth",
		request: request{fields: []string{"Authorization", basic("ada", secret)}},
		gallop: ofGallop(use(middleware.BasicAuth{Check: func(_ *web.Ctx, user, password string) (bool, error) {
			return user == "ada" && isSecret(password), nil
		}})),
		fiber: ofFiber(useFiber(fiberbasicauth.New(fiberbasicauth.Config{Authorizer: func(user, password string, _ fiber.Ctx) bool {
			return user == "ada" && isSecret(password)
		}}))),
		echo: ofEcho(useEcho(echomiddleware.BasicAuth(func(user, password string, _ echo.Context) (bool, error) {
			return user == "ada" && isSecret(password), nil
		}))),
	},
	{
		name:    "KeyAuth",
		request: request{fields: []string{"Authorization", "Bearer " + secret}},
		gallop: ofGallop(use(middleware.KeyAuth{Check: func(_ *web.Ctx, key string) (*middleware.APIKey, error) {
			if !isSecret(key) {
				return nil, nil
			}
			return apiKey, nil
		}})),
		fiber: ofFiber(useFiber(fiberkeyauth.New(fiberkeyauth.Config{Validator: func(_ fiber.Ctx, key string) (bool, error) { return isSecret(key), nil }}))),
		echo:  ofEcho(useEcho(echomiddleware.KeyAuth(func(key string, _ echo.Context) (bool, error) { return isSecret(key), nil }))),
	},
	{
		name:   "ETag",
		gallop: ofGallop(use(middleware.ETag{})),
		fiber:  ofFiber(useFiber(fiberetag.New())),
	},
	{
		name:    "IdempotencyReplay",
		request: request{method: "POST", fields: []string{"Idempotency-Key", idempotencyKey, "X-Idempotency-Key", idempotencyKey}},
		gallop:  ofGallop(use(middleware.Idempotency{})),
		fiber:   ofFiber(useFiber(fiberidempotency.New())),
	},
	{
		name:   "HostAllow",
		gallop: ofGallop(use(middleware.HostAllow{Hosts: []string{host}})),
		fiber:  ofFiber(useFiber(fiberhosts.New(fiberhosts.Config{AllowedHosts: []string{host}}))),
	},
	{
		name:   "EarlyData",
		gallop: ofGallop(use(middleware.EarlyData{})),
		fiber:  ofFiber(useFiber(fiberearlydata.New())),
	},
	{
		name:   "FaviconOther", // a request for another path
		gallop: ofGallop(use(middleware.Favicon{})),
		fiber:  ofFiber(useFiber(fiberfavicon.New())),
	},
	{
		name:   "Timeout", // the middleware sets a deadline of the request's context
		gallop: ofGallop(use(middleware.Timeout{After: time.Minute})),
		echo:   ofEcho(useEcho(echomiddleware.ContextTimeout(time.Minute))),
	},
	{
		name:    "BodyLimit",
		request: request{method: "POST"},
		gallop:  ofGallop(use(middleware.BodyLimit{Size: 1 << 20})),
		echo:    ofEcho(useEcho(echomiddleware.BodyLimit("1M"))),
	},
	{
		name: "Chain", // RequestID, Logger, Recover, SecureHeaders, Session
		gallop: gallopSession(middleware.RequestID{}, middleware.Logger{Log: slog.New(nowhere{})}, middleware.Recover{},
			middleware.SecureHeaders{}),
		fiber: fiberSession(fiberrequestid.New(), fiberlogger.New(fiberlogger.Config{Stream: nowhere{}}), fiberrecover.New(),
			fiberhelmet.New(fiberhelmet.Config{ContentSecurityPolicy: policy})),
		login: login,
	},
}

const idempotencyKey = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

var apiKey = &middleware.APIKey{Name: "ada"}

// policy is about as long as gallop's default.
const policy = "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

var secure = echomiddleware.SecureConfig{
	XSSProtection: "0", ContentTypeNosniff: "nosniff", XFrameOptions: "DENY", ReferrerPolicy: "strict-origin-when-cross-origin",
	HSTSMaxAge: 63072000, ContentSecurityPolicy: policy,
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// echoRecords is echo's logger as its documentation shows it for log/slog.
func echoRecords(to *slog.Logger) echo.MiddlewareFunc {
	return echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
		LogMethod: true, LogURIPath: true, LogStatus: true, LogLatency: true, LogRemoteIP: true, LogRoutePath: true, LogResponseSize: true,
		LogValuesFunc: func(c echo.Context, v echomiddleware.RequestLoggerValues) error {
			to.LogAttrs(c.Request().Context(), slog.LevelInfo, "request", slog.String("method", v.Method), slog.String("path", v.URIPath),
				slog.Int("status", v.Status), slog.Duration("duration", v.Latency), slog.String("client", v.RemoteIP),
				slog.String("route", v.RoutePath), slog.Int64("bytes", v.ResponseSize))
			return nil
		},
	})
}

// fiberRecords makes fiber's logger write the same records, and as cheaply as gallop's Logger: it passes method and route to WithAttrs
// once, and does not look for its caller, as LogAttrs would. The benchmark has one goroutine, so the map needs no lock.
func fiberRecords(to *slog.Logger) func(c fiber.Ctx, data *fiberlogger.Data, cfg *fiberlogger.Config) error {
	type names struct {
		route  *fiber.Route
		method string
	}
	known := map[names]slog.Handler{}
	return func(c fiber.Ctx, data *fiberlogger.Data, _ *fiberlogger.Config) error {
		n := names{c.Route(), c.Method()}
		h := known[n]
		if h == nil {
			h = to.Handler().WithAttrs([]slog.Attr{slog.String("method", n.method), slog.String("route", n.route.Path)})
			known[n] = h
		}
		if !h.Enabled(c, slog.LevelInfo) {
			return nil
		}
		r := slog.NewRecord(data.Stop, slog.LevelInfo, "request", 0)
		r.AddAttrs(slog.String("path", string(c.Request().URI().PathOriginal())), slog.Int("status", c.Response().StatusCode()),
			slog.Duration("duration", data.Stop.Sub(data.Start)), slog.String("client", c.IP()), slog.Int("bytes", len(c.Response().Body())))
		return h.Handle(c, r)
	}
}

// withToken makes a request one with fiber's token for requests that change something.
func withToken(h handler, r request) request {
	_, line := h.do(request{method: "GET", target: "/"})
	cookie, _, _ := strings.Cut(line, ";")
	_, token, _ := strings.Cut(cookie, "=")
	r.fields = append(slices.Clone(r.fields), "Cookie", cookie, "X-Csrf-Token", token)
	return r
}

// login begins a session with a POST, and adds its cookie to a request.
func login(h handler, r request) request {
	_, line := h.do(request{method: "POST", target: "/"})
	cookie, _, _ := strings.Cut(line, ";")
	r.fields = append(slices.Clone(r.fields), "Cookie", cookie)
	return r
}

type visit struct {
	N    int
	Name string
}

// gallopSession is a handler that begins a session for POST and reads it otherwise.
func gallopSession(others ...web.Middleware) func(on bool) handler {
	sessions := &middleware.Session[visit]{}
	return ofGallop(use(append(others, sessions)...), func(c *web.Ctx) error {
		if c.Method() == "POST" {
			return sessions.Start(c, "", visit{7, "ada"})
		}
		v, found, err := sessions.Get(c)
		if err != nil || !found || v.N != 7 {
			return web.NewError(500, "no session")
		}
		return c.SendString(hello)
	})
}

func fiberSession(others ...any) func(on bool) handler {
	return ofFiber(func(app *fiber.App) { app.Use(append(others, fibersession.New())...) }, func(c fiber.Ctx) error {
		s := fibersession.FromContext(c)
		if c.Method() == "POST" {
			s.Set("n", 7)
			s.Set("name", "ada")
			return nil
		}
		if n, ok := s.Get("n").(int); !ok || n != 7 {
			return fiber.NewError(500, "no session")
		}
		if name, ok := s.Get("name").(string); !ok || name != "ada" {
			return fiber.NewError(500, "no session")
		}
		return c.SendString(hello)
	})
}

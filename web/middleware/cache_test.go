package middleware_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// counted is an app whose handler counts its calls and sends the count.
type counted struct {
	*web.App
	calls int
}

// newCounted returns an app with a Cache. The function respond makes the response, and its body is the number of the call.
func newCounted(m middleware.Cache, respond func(c *web.Ctx)) *counted {
	a := &counted{App: newApp(m)}
	a.All("/{path...}", func(c *web.Ctx) error {
		a.calls++
		respond(c)
		return c.SendString("call " + strconv.Itoa(a.calls))
	})
	return a
}

// sends returns a function that sets headers. Fields are "Name: value".
func sends(fields ...string) func(c *web.Ctx) {
	return func(c *web.Ctx) {
		for _, field := range fields {
			name, value, _ := strings.Cut(field, ": ")
			c.RequestCtx().Response.Header.Add(name, value)
		}
	}
}

// isStored reports whether a second request gets the response to the first one.
func isStored(t *testing.T, a *counted, target string, fields ...string) bool {
	t.Helper()
	first := ask(t, a.App, "GET", target, fields...)
	second := ask(t, a.App, "GET", target, fields...)
	return first.body == second.body
}

// Which responses are stored (RFC 9111 §3, §3.5, §5.2.2, §5.3).
func TestCacheStores(t *testing.T) {
	const hour = "Cache-Control: max-age=3600"
	later := "Expires: " + time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, test := range map[string]struct {
		response, request []string
		want              bool
	}{
		"max-age":                         {[]string{hour}, nil, true},
		"s-maxage":                        {[]string{"Cache-Control: s-maxage=9"}, nil, true},
		"s-maxage over max-age":           {[]string{"Cache-Control: max-age=9, s-maxage=0"}, nil, false},
		"Expires":                         {[]string{later}, nil, true},
		"Expires after Date":              {[]string{"Date: Sat, 01 Jan 2000 00:00:00 GMT", "Expires: Sat, 01 Jan 2000 01:00:00 GMT"}, nil, false},
		"Expires is 0":                    {[]string{"Expires: 0"}, nil, false},
		"two Expires":                     {[]string{later, later}, nil, false},
		"max-age over Expires":            {[]string{"Expires: 0", hour}, nil, true},
		"nothing":                         {nil, nil, false},
		"only Last-Modified":              {[]string{"Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"}, nil, false},
		"public":                          {[]string{"Cache-Control: public"}, nil, false},
		"two max-age":                     {[]string{"Cache-Control: max-age=9, max-age=8"}, nil, false},
		"a negative max-age":              {[]string{"Cache-Control: max-age=-9"}, nil, false},
		"max-age with a fraction":         {[]string{"Cache-Control: max-age=1.5"}, nil, false},
		"a large max-age":                 {[]string{"Cache-Control: max-age=99999999999999999999"}, nil, true},
		"a quoted max-age":                {[]string{`Cache-Control: max-age="9"`}, nil, true},
		"max-age with spaces":             {[]string{"Cache-Control: max-age= 9"}, nil, false},
		"no-store":                        {[]string{hour, "Cache-Control: no-store"}, nil, false},
		"NO-STORE":                        {[]string{"cache-control: max-age=9, NO-STORE"}, nil, false},
		"no-store first":                  {[]string{"Cache-Control: No-Store,max-age=9"}, nil, false},
		"no-store with an argument":       {[]string{"Cache-Control: max-age=9, no-store=1"}, nil, false},
		"private":                         {[]string{"Cache-Control: private, max-age=9"}, nil, false}, // CVE-2026-24472
		"Private":                         {[]string{"Cache-Control: max-age=9, Private"}, nil, false},
		"private, tabs":                   {[]string{"Cache-Control: max-age=9\t,\tprivate\t"}, nil, false},
		"private for fields":              {[]string{`Cache-Control: max-age=9, private="X-User"`}, nil, false},
		"private and public":              {[]string{"Cache-Control: public, private, max-age=9"}, nil, false},
		"no-cache":                        {[]string{"Cache-Control: no-cache, max-age=9"}, nil, false},
		"no-cache for fields":             {[]string{`Cache-Control: no-cache="Set-Cookie, X-A", max-age=9`}, nil, false},
		"a comma in a quoted argument":    {[]string{`Cache-Control: x="a, private", max-age=9`}, nil, true},
		"private after a quoted comma":    {[]string{`Cache-Control: x="a, b", private, max-age=9`}, nil, false},
		"a quote in a quoted argument":    {[]string{`Cache-Control: x="a\", private", max-age=9`}, nil, true},
		"private after a quoted quote":    {[]string{`Cache-Control: x="a\"", private, max-age=9`}, nil, false},
		"a quoted argument without end":   {[]string{`Cache-Control: max-age=9, x="a, private`}, nil, false},
		"a quote inside an argument":      {[]string{`Cache-Control: max-age=9, x=a"b, private"`}, nil, false},
		"bytes after a quoted argument":   {[]string{`Cache-Control: max-age=9, x="a"b`}, nil, false},
		"Set-Cookie":                      {[]string{hour, "Set-Cookie: a=b"}, nil, false},
		"set-cookie":                      {[]string{"Cache-Control: public, s-maxage=9", "set-cookie: a=b"}, nil, false},
		"Vary: *":                         {[]string{hour, "Vary: Accept, *"}, nil, false},
		"Vary":                            {[]string{hour, "Vary: Accept"}, nil, true},
		"Vary with too many names":        {[]string{hour, "Vary: " + manyNames(17)}, nil, false},
		"Vary with many names":            {[]string{hour, "Vary: " + manyNames(16)}, nil, true},
		"Authorization":                   {[]string{hour}, []string{"Authorization: Basic eDp5"}, false},
		"authorization":                   {[]string{hour}, []string{"authorization: Basic eDp5"}, false},
		"AUTHORIZATION":                   {[]string{hour}, []string{"AUTHORIZATION: Basic eDp5"}, false},
		"Authorization and Expires":       {[]string{later}, []string{"Authorization: Basic eDp5"}, false},
		"Authorization, public":           {[]string{"Cache-Control: PUBLIC, max-age=9"}, []string{"Authorization: Basic eDp5"}, true},
		"Authorization, s-maxage":         {[]string{"Cache-Control: s-maxage=9"}, []string{"Authorization: Basic eDp5"}, true},
		"Authorization, must-revalidate":  {[]string{"Cache-Control: must-revalidate, max-age=9"}, []string{"Authorization: Basic eDp5"}, true},
		"Authorization, proxy-revalidate": {[]string{"Cache-Control: proxy-revalidate, max-age=9"}, []string{"Authorization: Basic eDp5"}, false},
		"Authorization, no-store":         {[]string{"Cache-Control: public, no-store, max-age=9"}, []string{"Authorization: Basic eDp5"}, false},
		"no-store in the request":         {[]string{hour}, []string{"Cache-Control: no-store"}, false},
		"old":                             {[]string{"Cache-Control: max-age=9", "Age: 9"}, nil, false},
		"not quite old":                   {[]string{"Cache-Control: max-age=99", "Age: 9"}, nil, true},
		"a malformed Age":                 {[]string{"Cache-Control: max-age=99", "Age: 1.5"}, nil, false},
		"two Age":                         {[]string{"Cache-Control: max-age=99", "Age: 0", "Age: 0"}, nil, false},
		"an old Date":                     {[]string{"Cache-Control: max-age=9", "Date: Sat, 01 Jan 2000 00:00:00 GMT"}, nil, false},
		"trailers":                        {[]string{hour, "Trailer: X-Sum"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			respond := sends(test.response...)
			if name == "trailers" {
				respond = func(c *web.Ctx) {
					c.SetHeader("Cache-Control", "max-age=9")
					c.RequestCtx().Response.Header.AddTrailer("X-Sum")
				}
			}
			if got := isStored(t, newCounted(middleware.Cache{}, respond), "/", test.request...); got != test.want {
				t.Errorf("stored: %v, want %v", got, test.want)
			}
		})
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("X-", i))
	}
	return strings.Join(names, ",")
}

// Which statuses are stored.
func TestCacheStatuses(t *testing.T) {
	t.Parallel()
	explicit := map[int]bool{200: true, 203: true, 204: true, 300: true, 301: true, 302: true, 303: true, 307: true, 308: true, 404: true, 405: true, 410: true, 414: true, 451: true, 501: true}
	guessed := map[int]bool{200: true, 203: true, 204: true, 300: true, 301: true, 308: true, 404: true, 405: true, 410: true, 414: true, 501: true}
	for status := 200; status < 600; status++ {
		for _, test := range []struct {
			ttl    time.Duration
			header string
			stored map[int]bool
		}{{0, "Cache-Control: max-age=9", explicit}, {time.Minute, "X-A: b", guessed}} {
			a := newApp(middleware.Cache{TTL: test.ttl})
			calls := 0
			a.Get("/", func(c *web.Ctx) error {
				calls++
				sends(test.header)(c)
				c.Status(status)
				return nil
			})
			ask(t, a, "GET", "/")
			ask(t, a, "GET", "/")
			if got := calls == 1; got != test.stored[status] {
				t.Errorf("%d, %s: stored: %v", status, test.header, got)
			}
		}
	}
	a := newApp(middleware.Cache{TTL: time.Minute})
	calls := 0
	a.Get("/error", func(c *web.Ctx) error {
		calls++
		c.SetHeader("Cache-Control", "max-age=60")
		return web.NewError(404)
	})
	ask(t, a, "GET", "/error")
	if ask(t, a, "GET", "/error"); calls != 2 {
		t.Error("an error was stored")
	}
}

// A reused response has the headers of the handler, and those of outer middleware are new for each request.
func TestCacheHeaders(t *testing.T) {
	calls := 0
	app := newApp(middleware.RequestID{}, middleware.CORS{Origins: []string{"https://a.example", "https://b.example"}}, middleware.SecureHeaders{})
	app.UseFunc(func(c *web.Ctx) error {
		calls++
		sends(fmt.Sprint("X-Many: outer ", calls), fmt.Sprint("X-Replaced: outer ", calls))(c)
		return c.Next()
	})
	app.Use(middleware.Cache{})
	app.Get("/", func(c *web.Ctx) error {
		sends("Cache-Control: max-age=60", "X-Many: one", "X-Many: two", "Connection: x-hop", "X-Hop: 1", "Keep-Alive: 1", "Proxy-Authenticate: Basic",
			"Cache-Status: origin; hit", "Content-Type: text/css", "Etag: \"1\"")(c)
		c.SetHeader("X-Replaced", "inner")
		return c.Send([]byte("a{}"))
	})
	first := ask(t, app, "GET", "/", "Origin: https://a.example")
	second := ask(t, app, "GET", "/", "Origin: https://a.example")
	first.want(t, "Cache-Status", "origin; hit | gallop; fwd=uri-miss; stored")
	second.want(t, "Cache-Status", "origin; hit | gallop; hit; ttl=60")
	second.want(t, "Age", "0")
	second.want(t, "X-Many", "outer 2 | one | two")
	second.want(t, "X-Replaced", "inner")
	second.want(t, "Content-Type", "text/css")
	second.want(t, "Etag", `"1"`)
	second.want(t, "Access-Control-Allow-Origin", "https://a.example")
	for _, name := range []string{"X-Hop", "Keep-Alive", "Proxy-Authenticate"} {
		second.want(t, name, "")
	}
	if first.header.Get("X-Request-ID") == second.header.Get("X-Request-ID") || first.body != "a{}" || second.body != "a{}" {
		t.Errorf("%v\n%v", first, second)
	}
	other := ask(t, app, "GET", "/", "Origin: https://b.example")
	other.want(t, "Access-Control-Allow-Origin", "https://b.example")
}

// HEAD, conditions and ranges are served from the store. Before there is a stored response, the handler sees HEAD and ranges, but no
// conditions.
func TestCacheForms(t *testing.T) {
	app := newApp(middleware.Cache{})
	var saw []string
	app.Get("/", func(c *web.Ctx) error {
		saw = append(saw, c.Method()+" "+c.ReqHeader("Range")+c.ReqHeader("If-None-Match")+c.ReqHeader("If-Modified-Since"))
		sends("Cache-Control: max-age=60", `Etag: "v1"`, "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT")(c)
		return c.SendString("0123456789")
	})
	is := func(method string, status int, body string, fields ...string) answer {
		t.Helper()
		a := ask(t, app, method, "/", fields...)
		if a.status != status || a.body != body {
			t.Errorf("%s %v: %d %q, want %d %q", method, fields, a.status, a.body, status, body)
		}
		return a
	}
	is("HEAD", 200, "")
	is("GET", 200, "0123456789", "Range: bytes=0-1")
	is("GET", 304, "", `If-None-Match: "v1"`)
	is("GET", 200, "0123456789")
	is("HEAD", 200, "").want(t, "Content-Length", "10")
	is("GET", 304, "", `If-None-Match: "v0", W/"v1"`).want(t, "Age", "0")
	is("HEAD", 304, "", `If-None-Match: *`)
	is("GET", 200, "0123456789", `If-None-Match: "v2"`)
	is("GET", 304, "", "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT")
	is("GET", 200, "0123456789", "If-Modified-Since: Fri, 31 Dec 1999 00:00:00 GMT")
	is("GET", 200, "0123456789", "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT", `If-None-Match: "v2"`)
	is("GET", 206, "345", "Range: bytes=3-5").want(t, "Content-Range", "bytes 3-5/10")
	is("GET", 206, "89", "Range: bytes=-2", `If-Range: "v1"`)
	is("GET", 200, "0123456789", "Range: bytes=-2", `If-Range: "v2"`)
	is("GET", 416, "Requested Range Not Satisfiable", "Range: bytes=10-")
	if got := strings.Join(saw, ", "); got != "HEAD , GET bytes=0-1, GET " {
		t.Errorf("the handler saw %q", got)
	}
	is("GET", 200, "0123456789", `If-Match: "v1"`) // for the handler
	if len(saw) != 4 {
		t.Error("If-Match did not reach the handler")
	}
}

// A stale response with validators is validated, and a 304 updates its headers (RFC 9111 §4.3).
func TestCacheValidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version, seen, made := "1", "", 0
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error {
			seen = c.ReqHeader("If-None-Match")
			c.SetHeader("X-Made", fmt.Sprint(made)).SetHeader("Cache-Control", "max-age=10").ETag(version)
			if c.Fresh() {
				c.NotModified()
				c.SetHeader("Content-Encoding", "of the 304").ETag("of the 304")
				return nil
			}
			made++
			c.SetHeader("Content-Encoding", "identity")
			c.SetHeader("X-Link", "a")
			return c.SendString("version " + version)
		})
		is := func(status int, body, saw, cacheStatus string, fields ...string) answer {
			t.Helper()
			seen = ""
			a := ask(t, app, "GET", "/", fields...)
			if a.status != status || a.body != body || seen != saw {
				t.Errorf("%d %q, the handler saw %q; want %d %q and %q", a.status, a.body, seen, status, body, saw)
			}
			a.want(t, "Cache-Status", cacheStatus)
			return a
		}
		is(200, "version 1", "", "gallop; fwd=uri-miss; stored")
		time.Sleep(5 * time.Second)
		is(200, "version 1", "", "gallop; hit; ttl=5").want(t, "Age", "5")
		time.Sleep(5 * time.Second)
		is(200, "version 1", `"1"`, "gallop; fwd=stale; fwd-status=304; stored").want(t, "X-Link", "a")
		a := is(200, "version 1", "", "gallop; hit; ttl=10")
		a.want(t, "X-Made", "1")
		a.want(t, "X-Link", "a")
		a.want(t, "Content-Encoding", "identity")
		a.want(t, "Etag", `"1"`)
		time.Sleep(20 * time.Second)
		is(304, "", `"1"`, "gallop; fwd=stale; fwd-status=304; stored", `If-None-Match: "1"`)
		time.Sleep(20 * time.Second)
		is(200, "version 1", `"1"`, "gallop; fwd=stale; fwd-status=304; stored", `If-None-Match: "0"`)
		version = "2"
		is(200, "version 1", "", "gallop; hit; ttl=10")
		is(200, "version 2", `"1"`, "gallop; fwd=request; stored", "Cache-Control: no-cache", `If-None-Match: "1"`)
		is(304, "", "", "gallop; hit; ttl=10", `If-None-Match: "2"`)
		if made != 2 {
			t.Errorf("the handler made %d responses", made)
		}
	})
}

// Requests choose how old responses may be (RFC 9111 §5.2.1).
func TestCacheRequestDirectives(t *testing.T) {
	for name, test := range map[string]struct {
		response string
		after    time.Duration
		request  []string
		status   int
		called   bool
	}{
		"fresh":                       {"max-age=10", 9 * time.Second, nil, 200, false},
		"stale":                       {"max-age=10", 10 * time.Second, nil, 200, true},
		"no-cache":                    {"max-age=10", 1 * time.Second, []string{"Cache-Control: No-Cache"}, 200, true},
		"Pragma":                      {"max-age=10", 1 * time.Second, []string{"Pragma: no-cache"}, 200, true},
		"Pragma and Cache-Control":    {"max-age=10", 1 * time.Second, []string{"Pragma: no-cache", "Cache-Control: max-age=5"}, 200, false},
		"max-age":                     {"max-age=10", 5 * time.Second, []string{"Cache-Control: max-age=4"}, 200, true},
		"max-age, young":              {"max-age=10", 4 * time.Second, []string{"Cache-Control: max-age=4"}, 200, false},
		"max-age malformed":           {"max-age=10", 4 * time.Second, []string{"Cache-Control: max-age=x"}, 200, true},
		"max-age=0":                   {"max-age=10", time.Second, []string{"Cache-Control: max-age=0"}, 200, true},
		"min-fresh":                   {"max-age=10", 5 * time.Second, []string{"Cache-Control: min-fresh=6"}, 200, true},
		"min-fresh, enough":           {"max-age=10", 4 * time.Second, []string{"Cache-Control: min-fresh=6"}, 200, false},
		"max-stale":                   {"max-age=10, stale-if-error=60", 15 * time.Second, []string{"Cache-Control: max-stale=5"}, 200, false},
		"max-stale, too stale":        {"max-age=10, stale-if-error=60", 16 * time.Second, []string{"Cache-Control: max-stale=5"}, 200, true},
		"any max-stale":               {"max-age=10, stale-if-error=60", 60 * time.Second, []string{"Cache-Control: max-stale"}, 200, false},
		"max-stale, must-revalidate":  {"max-age=10, must-revalidate, stale-if-error=60", 11 * time.Second, []string{"Cache-Control: max-stale"}, 200, true},
		"max-stale, proxy-revalidate": {"max-age=10, proxy-revalidate, stale-if-error=60", 11 * time.Second, []string{"Cache-Control: max-stale"}, 200, true},
		"max-stale, s-maxage":         {"s-maxage=10, stale-if-error=60", 11 * time.Second, []string{"Cache-Control: max-stale"}, 200, true},
		"only-if-cached":              {"max-age=10", 9 * time.Second, []string{"Cache-Control: only-if-cached"}, 200, false},
		"only-if-cached, stale":       {"max-age=10", 10 * time.Second, []string{"Cache-Control: Only-If-Cached"}, 504, false},
		"only-if-cached, revalidate":  {"max-age=10, stale-while-revalidate=9", 11 * time.Second, []string{"Cache-Control: only-if-cached"}, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, ignore := range []bool{false, true} {
					a := newCounted(middleware.Cache{IgnoreClient: ignore}, sends("Cache-Control: "+test.response, "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"))
					ask(t, a.App, "GET", "/")
					time.Sleep(test.after)
					got := ask(t, a.App, "GET", "/", test.request...)
					status, calls := test.status, 1
					if test.called {
						calls++
					}
					if ignore {
						if status, calls = 200, 1; test.after >= 10*time.Second {
							calls++
						}
					}
					if got.status != status || a.calls != calls {
						t.Errorf("ignore %v: %d, %d calls, want %d and %d", ignore, got.status, a.calls, status, calls)
					}
				}
			})
		})
	}
	a := newCounted(middleware.Cache{}, sends("Cache-Control: max-age=9"))
	got := ask(t, a.App, "GET", "/", "Cache-Control: only-if-cached")
	if got.status != 504 || a.calls != 0 {
		t.Errorf("%d, %d calls", got.status, a.calls)
	}
	got.want(t, "Cache-Status", "gallop; fwd=uri-miss")
}

// TTL and Heuristic apply to responses that do not state their freshness, and only for clients without credentials.
func TestCacheGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const changed = "Last-Modified: 100 seconds ago"
		for name, test := range map[string]struct {
			use       middleware.Cache
			response  []string
			for_      time.Duration
			fields    []string
			wantCalls int
		}{
			"TTL":                     {middleware.Cache{TTL: time.Minute}, nil, 59 * time.Second, nil, 1},
			"TTL is over":             {middleware.Cache{TTL: time.Minute}, nil, 60 * time.Second, nil, 2},
			"TTL, max-age":            {middleware.Cache{TTL: time.Minute}, []string{"Cache-Control: max-age=1"}, 2 * time.Second, nil, 2},
			"TTL, Cookie":             {middleware.Cache{TTL: time.Minute}, nil, 0, []string{"Cookie: a=b"}, 2},
			"TTL, Cookie, public":     {middleware.Cache{TTL: time.Minute}, []string{"Cache-Control: public"}, 0, []string{"Cookie: a=b"}, 1},
			"TTL, Authorization":      {middleware.Cache{TTL: time.Minute}, nil, 0, []string{"Authorization: x"}, 2},
			"TTL, must-revalidate":    {middleware.Cache{TTL: time.Minute}, []string{"Cache-Control: must-revalidate"}, 0, []string{"Authorization: x"}, 2},
			"Heuristic":               {middleware.Cache{Heuristic: true}, []string{changed}, 9 * time.Second, nil, 1},
			"Heuristic is over":       {middleware.Cache{Heuristic: true}, []string{changed}, 200 * time.Second, nil, 2},
			"Heuristic, no date":      {middleware.Cache{Heuristic: true}, nil, 0, nil, 2},
			"Heuristic, Cookie":       {middleware.Cache{Heuristic: true}, []string{changed}, 0, []string{"Cookie: a=b"}, 2},
			"Heuristic, no date, TTL": {middleware.Cache{Heuristic: true, TTL: time.Minute}, nil, 0, nil, 1},
			"Heuristic, at most 24 h": {middleware.Cache{Heuristic: true}, []string{"Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"}, 24 * time.Hour, nil, 2},
		} {
			modified := "Last-Modified: " + time.Now().Add(-100*time.Second).UTC().Format(http.TimeFormat)
			for i, line := range test.response {
				if line == changed {
					test.response[i] = modified
				}
			}
			a := newCounted(test.use, sends(test.response...))
			ask(t, a.App, "GET", "/", test.fields...)
			time.Sleep(test.for_)
			if ask(t, a.App, "GET", "/", test.fields...); a.calls != test.wantCalls {
				t.Errorf("%s: %d calls, want %d", name, a.calls, test.wantCalls)
			}
		}
		a := newCounted(middleware.Cache{TTL: time.Minute}, sends())
		ask(t, a.App, "GET", "/")
		if got := ask(t, a.App, "GET", "/", "Cookie: user=ada"); got.body != "call 2" {
			t.Errorf("a visitor with a cookie got %q, which is for anybody", got.body)
		}
		if got := ask(t, a.App, "GET", "/"); got.body != "call 1" {
			t.Errorf("%q", got.body)
		}
	})
}

// Streams, large bodies and hijacked connections pass.
func TestCachePasses(t *testing.T) {
	app := newApp(middleware.Cache{MaxBody: 10})
	calls := 0
	cached := func(h web.Handler) web.Handler {
		return func(c *web.Ctx) error {
			calls++
			c.SetHeader("Cache-Control", "max-age=60")
			return h(c)
		}
	}
	app.Get("/large", cached(says("0123456789a")))
	app.Get("/small", cached(says("0123456789")))
	app.Get("/reader", cached(func(c *web.Ctx) error { return c.SendStream(strings.NewReader("abc")) }))
	app.Get("/writer", cached(func(c *web.Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { _, err := w.WriteString("abc"); return err })
	}))
	app.Get("/http", cached(web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "abc") }))))
	app.Get("/file", cached(func(c *web.Ctx) error { return c.SendFile("cache.go") }))
	app.Get("/timeout", cached(func(c *web.Ctx) error { c.RequestCtx().TimeoutErrorWithCode("late", 503); return nil }))
	for target, want := range map[string]int{"/timeout": 2, "/file": 2, "/large": 2, "/small": 1, "/reader": 2, "/writer": 2, "/http": 1} {
		calls = 0
		first, second := ask(t, app, "GET", target), ask(t, app, "GET", target)
		if calls != want || first.body != second.body || len(first.body) < 3 {
			t.Errorf("%s: %d calls, %q, %q", target, calls, first.body, second.body)
		}
	}
}

// Unsafe methods and Purge remove stored responses (RFC 9111 §4.4).
func TestCacheInvalidates(t *testing.T) {
	use := middleware.Cache{Store: new(middleware.MemoryStore), Name: "test"}
	var respond func(c *web.Ctx) error
	app := newApp(use)
	calls := 0
	app.Get("/{path...}", func(c *web.Ctx) error {
		calls++
		c.SetHeader("Cache-Control", "max-age=60")
		if c.Path() == "/vary" {
			c.Vary("X-A")
		}
		return c.SendString(fmt.Sprint(calls))
	})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "BREW", "QUERY"} {
		app.Add(method, "/{path...}", func(c *web.Ctx) error { return respond(c) })
	}
	status := func(n int, fields ...string) func(c *web.Ctx) error {
		return func(c *web.Ctx) error { sends(fields...)(c); return c.SendStatus(n) }
	}
	for name, test := range map[string]struct {
		method, target string
		respond        func(c *web.Ctx) error
		page           string
		gone           bool
	}{
		"POST":                       {"POST", "/a", status(200), "/a", true},
		"PUT, 204":                   {"PUT", "/a", status(204), "/a", true},
		"DELETE, 303":                {"DELETE", "/a", status(303), "/a", true},
		"an unknown method":          {"BREW", "/a", status(200), "/a", true},
		"a safe method":              {"QUERY", "/a", status(200), "/a", false},
		"OPTIONS":                    {"OPTIONS", "/a", nil, "/a", false},
		"a failure":                  {"POST", "/a", status(400), "/a", false},
		"a server error":             {"POST", "/a", status(500), "/a", false},
		"an error":                   {"POST", "/a", func(*web.Ctx) error { return web.NewError(403) }, "/a", false},
		"another query":              {"POST", "/a?x", status(200), "/a", false},
		"variants":                   {"POST", "/vary", status(200), "/vary", true},
		"Location":                   {"POST", "/b", status(201, "Location: /a"), "/a", true},
		"Location, relative":         {"POST", "/b/c", status(201, "Location: ../a"), "/a", true},
		"Location, query":            {"POST", "/b", status(201, "Location: /a?x=1"), "/a?x=1", true},
		"Location, absolute":         {"POST", "/b", status(201, "Location: http://EXAMPLE.com/a"), "/a", true},
		"Location, another host":     {"POST", "/b", status(201, "Location: http://evil.example/a"), "/a", false},
		"Location, another scheme":   {"POST", "/b", status(201, "Location: https://example.com/a"), "/a", false},
		"Location, another port":     {"POST", "/b", status(201, "Location: http://example.com:81/a"), "/a", false},
		"Content-Location":           {"PUT", "/b", status(200, "Content-Location: /a"), "/a", true},
		"Content-Location of failed": {"PUT", "/b", status(404, "Content-Location: /a"), "/a", false},
	} {
		respond = test.respond
		before := ask(t, app, "GET", test.page).body
		ask(t, app, test.method, test.target)
		if gone := ask(t, app, "GET", test.page).body != before; gone != test.gone {
			t.Errorf("%s: gone: %v, want %v", name, gone, test.gone)
		}
	}
	before := ask(t, app, "GET", "/a?q=%20").body
	if err := use.Purge(t.Context(), "http://Example.com/a?q=%20"); err != nil {
		t.Error(err)
	}
	if ask(t, app, "GET", "/a?q=%20").body == before {
		t.Error("Purge left the response")
	}
	for _, url := range []string{"", "/a", "example.com/a", "ftp://example.com/a", "http://a b/"} {
		if use.Purge(t.Context(), url) == nil {
			t.Errorf("Purge of %q succeeded", url)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := use.Purge(stopped, "http://example.com/a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCacheSettings(t *testing.T) {
	mustPanic(t, "needs a Name", func() { middleware.Cache{Store: new(middleware.MemoryStore)}.Handler() })
	mustPanic(t, "needs a Name", func() { middleware.Cache{Store: new(middleware.MemoryStore), Name: "a b"}.Handler() })
	mustPanic(t, "Adder", func() { middleware.Cache{Store: struct{ middleware.Store }{}, Name: "a"}.Handler() })
	mustPanic(t, "not the name of a header", func() { middleware.Cache{KeyHeaders: []string{"*"}}.Handler() })
	mustPanic(t, "not the name of a header", func() { middleware.Cache{KeyHeaders: []string{"X A"}}.Handler() })
	mustPanic(t, "more than 16", func() { middleware.Cache{KeyHeaders: strings.Split(manyNames(17), ",")}.Handler() })
	mustPanic(t, "needs a Store", func() { middleware.Cache{}.Purge(t.Context(), "http://example.com/") })
}

// Responses to clients with different KeyHeaders and Vary differ. The spelling of a value does not matter if it means the same.
func TestCacheVariants(t *testing.T) {
	for name, test := range map[string]struct {
		vary        string
		first, then []string
		same        bool
	}{
		"equal":                   {"Accept-Language", []string{"Accept-Language: de"}, []string{"Accept-Language: de"}, true},
		"another language":        {"Accept-Language", []string{"Accept-Language: de"}, []string{"Accept-Language: en"}, false},
		"spaces and case":         {"accept-LANGUAGE", []string{"Accept-Language: de, EN;q=0.5"}, []string{"Accept-Language: DE,en; q=0.5"}, true},
		"two lines":               {"Accept-Language", []string{"Accept-Language: de,en"}, []string{"Accept-Language: de", "Accept-Language: en"}, false}, // a handler may read one line only
		"another order":           {"Accept-Language", []string{"Accept-Language: de, en"}, []string{"Accept-Language: en, de"}, false},
		"missing and empty":       {"X-A", []string{"X-A: "}, nil, false},
		"case of another header":  {"X-A", []string{"X-A: a"}, []string{"X-A: A"}, false},
		"spaces inside":           {"X-A", []string{"X-A: a b"}, []string{"X-A: ab"}, false},
		"spaces in quotes":        {"Accept", []string{`Accept: text/html;x="a b"`}, []string{`Accept: text/html;x="ab"`}, false},
		"case of Accept":          {"Accept", []string{`Accept: text/html;x=a`}, []string{`Accept: text/html;x=A`}, false},
		"two headers, moved text": {"X-A, X-B", []string{"X-A: ab"}, []string{"X-A: a", "X-B: b"}, false},
		"lines and commas":        {"X-A", []string{"X-A: a,b"}, []string{"X-A: a", "X-A: b"}, false},
		"not in Vary":             {"X-A", []string{"X-B: a"}, []string{"X-B: b"}, true},
		"KeyHeaders":              {"X-A", []string{"X-Key: a"}, []string{"X-Key: b"}, false},
		"KeyHeaders, equal":       {"X-A", []string{"x-key: a"}, []string{"X-Key: a"}, true},
	} {
		a := newCounted(middleware.Cache{KeyHeaders: []string{"x-key"}}, sends("Cache-Control: max-age=9", "Vary: "+test.vary))
		first := ask(t, a.App, "GET", "/", test.first...)
		then := ask(t, a.App, "GET", "/", test.then...)
		if same := first.body == then.body; same != test.same {
			t.Errorf("%s: the same response: %v, want %v", name, same, test.same)
		}
		if again := ask(t, a.App, "GET", "/", test.first...); again.body != first.body {
			t.Errorf("%s: the first variant is gone", name)
		}
	}
	vary := ""
	a := newCounted(middleware.Cache{}, func(c *web.Ctx) { sends("Cache-Control: max-age=9")(c); c.Vary(vary) })
	for _, vary = range []string{"X-A", "X-B", "X-C"} { // headers that come later count, too
		ask(t, a.App, "GET", "/", vary+": 1", "Cache-Control: no-cache")
	}
	if !isStored(t, a, "/", "X-A: 1", "X-B: 2") || isStored(t, a, "/", "X-A: 2", "X-B: 2") == false {
		t.Error("not stored")
	}
	if ask(t, a.App, "GET", "/", "X-A: 1", "X-B: 2").body == ask(t, a.App, "GET", "/", "X-A: 2", "X-B: 2").body {
		t.Error("an earlier Vary was forgotten")
	}
	if ask(t, a.App, "GET", "/", "X-A: 1", "X-C: 1").body == ask(t, a.App, "GET", "/", "X-A: 1", "X-C: 2").body {
		t.Error("a later Vary was ignored")
	}
}

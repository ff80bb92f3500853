package framing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// setters put a string from somewhere into a response.
var setters = map[string]func(*gallop.RequestCtx, string){
	"Header.Set value": func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set("X-A", s) },
	"Header.Set name":  func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set(s, "v") },
	"Header.Add value": func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Add("X-A", s) },
	"Header.Add name":  func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Add(s, "v") },
	"Header.SetBytesKV": func(ctx *gallop.RequestCtx, s string) {
		ctx.Response.Header.SetBytesKV([]byte(s), []byte(s))
	},
	"Header.SetCanonical": func(ctx *gallop.RequestCtx, s string) {
		ctx.Response.Header.SetCanonical([]byte(s), []byte(s))
	},
	"Header.SetContentType":     func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.SetContentType(s) },
	"Header.SetContentEncoding": func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.SetContentEncoding(s) },
	"Header.SetServer":          func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.SetServer(s) },
	"Header.SetStatusMessage":   func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.SetStatusMessage([]byte(s)) },
	"Header.SetProtocol":        func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.SetProtocol([]byte(s)) },
	"Header.SetTrailer":         func(ctx *gallop.RequestCtx, s string) { _ = ctx.Response.Header.SetTrailer(s) },
	"Header.AddTrailer":         func(ctx *gallop.RequestCtx, s string) { _ = ctx.Response.Header.AddTrailer(s) },
	"Header.DelClientCookie":    func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.DelClientCookie(s) },
	"trailer value": func(ctx *gallop.RequestCtx, s string) {
		_ = ctx.Response.Header.SetTrailer("X-T")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("body") })
		ctx.Response.Header.Set("X-T", s)
	},
	"Set of Content-Length":    func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set("Content-Length", s) },
	"Set of Transfer-Encoding": func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set("Transfer-Encoding", s) },
	"Set of Connection":        func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set("Connection", s) },
	"Set of Set-Cookie":        func(ctx *gallop.RequestCtx, s string) { ctx.Response.Header.Set("Set-Cookie", s) },
	"Redirect":                 func(ctx *gallop.RequestCtx, s string) { ctx.Redirect(s, gallop.StatusFound) },
	"Redirect to a path":       func(ctx *gallop.RequestCtx, s string) { ctx.Redirect("/"+s, gallop.StatusFound) },
	"Redirect to a URL":        func(ctx *gallop.RequestCtx, s string) { ctx.Redirect("http://a/"+s, gallop.StatusFound) },
	"Redirect to a host":       func(ctx *gallop.RequestCtx, s string) { ctx.Redirect("http://"+s+"/", gallop.StatusFound) },
	"cookie key":               cookieSetter(func(c *gallop.Cookie, s string) { c.SetKey(s) }),
	"cookie value":             cookieSetter(func(c *gallop.Cookie, s string) { c.SetValue(s) }),
	"cookie domain":            cookieSetter(func(c *gallop.Cookie, s string) { c.SetDomain(s) }),
	"cookie path":              cookieSetter(func(c *gallop.Cookie, s string) { c.SetPath(s) }),
	"Error":                    func(ctx *gallop.RequestCtx, s string) { ctx.Error(s, 500) },
	"Success":                  func(ctx *gallop.RequestCtx, s string) { ctx.SuccessString(s, s) },
	"EarlyHints": func(ctx *gallop.RequestCtx, s string) {
		ctx.Response.Header.Set("Link", s)
		_ = ctx.EarlyHints()
	},
}

func cookieSetter(set func(*gallop.Cookie, string)) func(*gallop.RequestCtx, string) {
	return func(ctx *gallop.RequestCtx, s string) {
		var c gallop.Cookie
		c.SetKey("k")
		c.SetValue("v")
		set(&c, s)
		ctx.Response.Header.SetCookie(&c)
	}
}

// TestServerRefusesInjection puts every injection through every setter: what the
// server writes must be one strict response, which says nothing that was injected,
// and then the response to the next request.
func TestServerRefusesInjection(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, set := range setters {
			t.Run(name, func(t *testing.T) {
				for _, s := range wiretest.Injections {
					r := respond(t, on, func(ctx *gallop.RequestCtx) {
						ctx.SetBodyString("body")
						set(ctx, s)
					}, fmt.Sprintf("%q", s))
					if r == nil {
						continue
					}
					if len(r.Values("Injected")) > 0 || len(r.Trailers) > 1 {
						t.Errorf("%q: fields %q, trailers %q", s, r.Fields, r.Trailers)
					}
					for _, f := range r.Fields {
						if f.Name == "Set-Cookie" && strings.Count(f.Value, ";") > 1 {
							t.Errorf("%q: cookie %q", s, f.Value)
						}
					}
				}
			})
		}
	})
}

// TestServerRefusesCookieAttributes is the same for what ends a cookie's part.
func TestServerRefusesCookieAttributes(t *testing.T) {
	parts := map[string]func(*gallop.Cookie, string){
		"key":    (*gallop.Cookie).SetKey,
		"value":  (*gallop.Cookie).SetValue,
		"domain": (*gallop.Cookie).SetDomain,
		"path":   (*gallop.Cookie).SetPath,
	}
	for name, set := range parts {
		for _, s := range []string{"sid; secure", "abc; domain=evil.com", `"abc; domain=evil.com`, `e"vil; HttpOnly`, ";", "a;b", "a; path=/x"} {
			r := respond(t, servertest.Goroutines, func(ctx *gallop.RequestCtx) { cookieSetter(set)(ctx, s) }, name)
			if r == nil {
				continue
			}
			cookie := r.Get("Set-Cookie")
			allowed := 0
			if name == "domain" || name == "path" {
				allowed = 1
			}
			if strings.Count(cookie, ";") > allowed {
				t.Errorf("%s %q: Set-Cookie: %s", name, s, cookie)
			}
		}
	}
}

// respond serves one request with the handler and a plain one behind it. It returns
// the final response to the first, or nil after it failed the test.
func respond(t *testing.T, on servertest.Transport, handler gallop.RequestHandler, what string) *wiretest.Response {
	t.Helper()
	s := &gallop.Server{Logger: new(servertest.Log)}
	s.Handler = func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/next" {
			ctx.SetBodyString("next")
			return
		}
		handler(ctx)
	}
	out, err := wiretest.Converse(on.Serve(s), []byte(get("A: b")+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	var finals []*wiretest.Response
	for len(out) > 0 {
		r, n, err := wiretest.Parse(out, "GET", true)
		if err != nil {
			t.Errorf("%s: response %d: %v", what, len(finals)+1, err)
			return nil
		}
		if out = out[n:]; !r.Interim() {
			finals = append(finals, r)
		}
	}
	switch {
	case len(finals) == 0 || len(finals) > 2:
		t.Errorf("%s: %d responses", what, len(finals))
		return nil
	case len(finals) == 2 && string(finals[1].Body) != "next":
		t.Errorf("%s: the second response is %q", what, finals[1].Body)
	case len(finals) == 1 && !strings.EqualFold(finals[0].Get("Connection"), "close"):
		t.Errorf("%s: one response, and it does not say that the connection closes: %q", what, finals[0].Fields)
	}
	return finals[0]
}

// requestSetters put a string from somewhere into a request that a client sends.
var requestSetters = map[string]func(*gallop.Request, string){
	"SetRequestURI":                   (*gallop.Request).SetRequestURI,
	"SetHost":                         (*gallop.Request).SetHost,
	"Header.SetMethod":                func(r *gallop.Request, s string) { r.Header.SetMethod(s) },
	"Header.SetRequestURI":            func(r *gallop.Request, s string) { r.Header.SetRequestURI(s) },
	"Header.SetHost":                  func(r *gallop.Request, s string) { r.Header.SetHost(s) },
	"Header.SetProtocol":              func(r *gallop.Request, s string) { r.Header.SetProtocol(s) },
	"Header.Set value":                func(r *gallop.Request, s string) { r.Header.Set("X-A", s) },
	"Header.Set name":                 func(r *gallop.Request, s string) { r.Header.Set(s, "v") },
	"Header.Add value":                func(r *gallop.Request, s string) { r.Header.Add("X-A", s) },
	"Header.Add name":                 func(r *gallop.Request, s string) { r.Header.Add(s, "v") },
	"Header.SetCookie key":            func(r *gallop.Request, s string) { r.Header.SetCookie(s, "v") },
	"Header.SetCookie value":          func(r *gallop.Request, s string) { r.Header.SetCookie("k", s) },
	"Header.SetUserAgent":             func(r *gallop.Request, s string) { r.Header.SetUserAgent(s) },
	"Header.SetReferer":               func(r *gallop.Request, s string) { r.Header.SetReferer(s) },
	"Header.SetContentType":           func(r *gallop.Request, s string) { r.Header.SetContentType(s) },
	"Header.SetContentEncoding":       func(r *gallop.Request, s string) { r.Header.SetContentEncoding(s) },
	"Header.SetMultipartFormBoundary": func(r *gallop.Request, s string) { r.Header.SetMultipartFormBoundary(s) },
	"Header.SetTrailer":               func(r *gallop.Request, s string) { _ = r.Header.SetTrailer(s) },
	"Header.AddTrailer":               func(r *gallop.Request, s string) { _ = r.Header.AddTrailer(s) },
	"Header.Set of Content-Length":    func(r *gallop.Request, s string) { r.Header.Set("Content-Length", s) },
	"Header.Set of Transfer-Encoding": func(r *gallop.Request, s string) { r.Header.Set("Transfer-Encoding", s) },
	"Header.Set of Host":              func(r *gallop.Request, s string) { r.Header.Set("Host", s) },
	"Header.Set of Connection":        func(r *gallop.Request, s string) { r.Header.Set("Connection", s) },
	"URI.SetHost":                     func(r *gallop.Request, s string) { r.URI().SetHost(s) },
	"URI.SetPath":                     func(r *gallop.Request, s string) { r.URI().SetPath(s) },
	"URI.SetQueryString":              func(r *gallop.Request, s string) { r.URI().SetQueryString(s) },
	"URI.SetHash":                     func(r *gallop.Request, s string) { r.URI().SetHash(s) },
	"URI.SetUsername":                 func(r *gallop.Request, s string) { r.URI().SetUsername(s); r.URI().SetPassword(s) },
	"URI.QueryArgs":                   func(r *gallop.Request, s string) { r.URI().QueryArgs().Set(s, s) },
	"URI.SetScheme":                   func(r *gallop.Request, s string) { r.URI().SetScheme(s) },
	"PostArgs":                        func(r *gallop.Request, s string) { r.SetBody(nil); r.PostArgs().Set(s, s) },
}

// TestRequestRefusesInjection wants an error from writing the request, or one request
// that net/http reads to its end, without what was injected.
func TestRequestRefusesInjection(t *testing.T) {
	for name, set := range requestSetters {
		t.Run(name, func(t *testing.T) {
			for _, s := range wiretest.Injections {
				var r gallop.Request
				r.SetRequestURI("http://host/path")
				r.Header.SetMethod("POST")
				r.SetBodyString("body")
				set(&r, s)
				var out bytes.Buffer
				w := bufio.NewWriter(&out)
				if err := r.Write(w); err != nil {
					continue
				}
				_ = w.Flush()
				wantOneRequest(t, out.Bytes(), fmt.Sprintf("%q", s))
			}
		})
	}
}

func wantOneRequest(t *testing.T, b []byte, what string) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(b))
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Errorf("%s: %v: %q", what, err, b)
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		t.Errorf("%s: body: %v: %q", what, err, b)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 || req.Header.Get("Injected") != "" || strings.Count(string(b), "\r") != strings.Count(string(b), "\r\n") {
		t.Errorf("%s: more than one request in %q", what, b)
	}
}

// FuzzResponseRoundTrip holds that whatever a handler sets, the server writes one
// response that the strict parser reads back, and that good fields and the body
// arrive as they were set.
func FuzzResponseRoundTrip(f *testing.F) {
	f.Add(200, "X-A", "b", "text/plain", "k", "v", "OK", "body", false)
	f.Add(204, "Content-Length", "7", "a\r\nb: c", "k; secure", "v\n", "No\r\n\r\n", "body", true)
	f.Add(304, "Transfer-Encoding", "chunked", "", "", "", "", "", true)
	f.Add(101, "Connection", "close", " ", "a b", "\"", "x", "0\r\n\r\n", false)
	f.Add(999, "Trailer", "X-T", "é", "é", "é", "é", "é", true)
	f.Fuzz(func(t *testing.T, status int, name, value, contentType, key, cookie, reason, body string, stream bool) {
		status = 200 + (status%800+800)%800
		r := respond(t, servertest.Goroutines, func(ctx *gallop.RequestCtx) {
			ctx.SetStatusCode(status)
			ctx.SetContentType(contentType)
			ctx.Response.Header.SetStatusMessage([]byte(reason))
			ctx.Response.Header.Set("X-"+name, value)
			ctx.Response.Header.Add(name, value)
			cookieSetter(func(c *gallop.Cookie, s string) { c.SetKey(key); c.SetValue(s) })(ctx, cookie)
			if stream {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(body) })
			} else {
				ctx.SetBodyString(body)
			}
		}, "handler")
		if r == nil {
			return
		}
		if status != 204 && status != 304 && status != 205 && string(r.Body) != body {
			t.Errorf("status %d: body %q, want %q", status, r.Body, body)
		}
		if goodName("X-"+name) && goodValue(value) && r.Get("X-"+name) != value {
			t.Errorf("X-%s: %q, want %q", name, r.Get("X-"+name), value)
		}
	})
}

func goodName(s string) bool {
	for _, c := range []byte(s) {
		if !strings.ContainsRune("-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rune(c)) {
			return false
		}
	}
	return true
}

func goodValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return s == strings.Trim(s, " ")
}

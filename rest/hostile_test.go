package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// ok is an HTTP answer with a body.
func ok(body string, headers ...string) string { return answered("200 OK", body, headers...) }

func answered(status, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\nContent-Length: %d\r\n", status, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n" + body
}

func many(n int, each func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(each(i))
	}
	return b.String()
}

// either stands for the outcome of a response that transports judge differently: an error or none.
type either struct{}

// Answers of servers that are broken or mean harm end in a value or in an error of the right kind, soon. The text of
// the error fits in a log, and the next call works.
func TestHostileAnswers(t *testing.T) {
	long := strings.Repeat("9", 3<<20)
	type all struct {
		Login string
		N     int
		F     float64
		At    time.Time
		Any   any
		Kids  []all
	}
	decode, api, request, none := new(*rest.DecodeError), new(*rest.APIError), new(*rest.RequestError), any(nil)
	for _, tc := range []struct {
		name, answer string
		err          any
	}{
		{"HTML", ok("<!DOCTYPE html><title>Sign in</title>", "Content-Type: text/html"), decode},
		{"JSON as HTML", ok(`{"login":"a"}`, "Content-Type: text/html"), none},
		{"JSON as nonsense", ok(`{"login":"a"}`, "Content-Type: ;;;/;q=\"", "Content-Type: application/json"), none},
		{"UTF-16", ok("\xff\xfe{\x00}\x00"), decode},
		{"a byte order mark", ok("\ufeff{}"), decode},
		{"NULs", ok(strings.Repeat("\x00", 100)), decode},
		{"invalid UTF-8", ok("{\"login\":\"\xff\xc0\xaf\"}"), none},
		{"duplicate keys", ok(`{"login":"a","LOGIN":"b","login":"c"}`), none},
		{"a number out of range", ok(`{"n":9223372036854775808}`), decode},
		{"a float out of range", ok(`{"f":1e999}`), decode},
		{"a number of 3 MB", ok(`{"n":` + long + `}`), decode},
		{"a number of 3 MB for anything", ok(`{"any":` + long + `}`), decode},
		{"a number of 3 MB that is ignored", ok(`{"x":` + long + `}`), none},
		{"a time of 3 MB", ok(`{"at":"` + long + `"}`), decode},
		{"a time with lines", ok(`{"at":"x\nforged\u001b[2J"}`), decode},
		{"a key of 3 MB", ok(`{"` + long + `":1}`), none},
		{"lists, deep", ok(`{"any":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`), decode},
		{"objects, deep", ok(strings.Repeat(`{"kids":[`, 20_000) + strings.Repeat("]}", 20_000)), decode},
		{"lists without an end", ok(`{"any":` + strings.Repeat("[", 3<<20)), decode},
		{"brackets that do not match", ok(`{"any":[}`), decode},
		{"a list for an object", ok(`[{"login":"a"}]`), decode},
		{"an object of other types", ok(`{"login":{"a":[1]},"n":"x","kids":{"a":1}}`), decode},
		{"null", ok("null"), none},
		{"two values", ok("{} {}"), none},
		{"half a value", ok(`{"login":"a`), decode},
		{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", none},
		{"204 with chunks", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", none},
		{"205 with a body", answered("205 Reset Content", "{}"), none},
		{"206 that nobody asked for", answered("206 Partial Content", `{"login":"a"}`, "Content-Range: bytes 0-12/99"), none},
		{"100 and an answer", "HTTP/1.1 100 Continue\r\n\r\n" + ok("{}"), none},
		{"103 and an answer", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok("{}"), none},
		{"many 1xx", strings.Repeat("HTTP/1.1 102 Processing\r\nX: y\r\n\r\n", 10_000), request},
		{"101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello", errors.New("any")},
		{"status 99", "HTTP/1.1 099 X\r\n\r\n", errors.New("any")},
		{"status 999", answered("999 X", "{}"), api},
		{"status 2000", answered("2000 X", "{}"), request},
		{"no status", "HTTP/1.1 \r\n\r\n", request},
		{"HTTP/9.9", strings.Replace(ok("{}"), "HTTP/1.1", "HTTP/9.9", 1), either{}},
		{"an error that is no JSON", answered("500 X", "<html>\x00\x1b[2J</html>", "Content-Type: application/json"), api},
		{"an error that is half JSON", answered("404 X", `{"message":"m"`, "Content-Type: application/problem+json"), api},
		{"an error of other types", answered("404 X", `{"message":{"a":[1]},"errors":{"a":1,"b":[null,{"message":[2]}]},"error":true,"code":1e999}`), api},
		{"an error of a number", answered("404 X", "1"), api},
		{"an error with a huge code", answered("404 X", `{"code":`+long[:1<<19]+`,"message":"m"}`), api},
		{"a reason of 10 KB", answered("404 "+strings.Repeat("x", 10_000), ""), api},
		{"unknown coding", ok("{}", "Content-Encoding: br"), none},
		{"codings in a row", ok(zipped(zipped("{}")), "Content-Encoding: gzip, gzip"), decode},
		{"gzip that is none", ok("{}", "Content-Encoding: gzip"), request},
		{"gzip of nothing", ok(zipped(""), "Content-Encoding: gzip"), none},
		{"gzip of nothing, endlessly", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + strings.Repeat(zipped(""), 80_000), either{}},
		{"gzip with more behind it", ok(zipped("{}")+"x", "Content-Encoding: gzip"), request},
		{"many header fields", ok("{}", many(3000, func(i int) string { return fmt.Sprintf("X%x: y\r\n", i) })+"X: y"), request},
		{"a field of 60 KB", ok("{}", "X: "+strings.Repeat("y", 60<<10)), none},
		{"redirect to itself", answered("302 Found", "", "Location: a"), new(*rest.RedirectError)},
		{"redirect to a URL of 50 KB", answered("302 Found", "", "Location: ftp://"+strings.Repeat("x", 50<<10)+".test/"), new(*rest.RedirectError)},
		{"redirect to itself, of 50 KB", answered("302 Found", "", "Location: /"+strings.Repeat("x", 50<<10)), new(*rest.RedirectError)},
		{"redirect to nowhere", answered("307 X", ""), new(*rest.RedirectError)},
		{"300", answered("300 Multiple Choices", "", "Location: /b"), api},
		{"305", answered("305 Use Proxy", "", "Location: http://evil.test/"), api},
		{"a challenge of 50 KB", answered("401 X", "", "WWW-Authenticate: "+strings.Repeat("x", 50<<10)), new(*rest.AuthError)},
		{"407", answered("407 X", "", "Proxy-Authenticate: Basic"), api},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wire(t, []string{tc.answer}, func(t *testing.T, over rest.Option) {
				c, err := rest.New("http://api.test/", over, rest.WithRetry(rest.Retry{}), rest.WithCache(1<<20), rest.WithTimeout(time.Minute), rest.WithMaxBody(5<<20))
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				_, err = rest.Get[all](t.Context(), c, "a")
				if took := time.Since(begun); took > time.Second {
					t.Errorf("took %v", took)
				}
				switch want := tc.err.(type) {
				case nil:
					if err != nil {
						t.Errorf("%.500s", err)
					}
				case either:
				case error:
					if err == nil {
						t.Error("no error")
					}
				default:
					if err == nil || !errors.As(err, want) {
						t.Errorf("got %T %.500s, want %T", err, err, want)
					}
				}
				if err == nil {
					return
				}
				if text := err.Error(); len(text) > 2000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%d bytes of error: %.300q", len(text), text)
				}
			})
		})
	}
}

// A body of empty gzip members has no content that a limit counts.
func TestEmptyGzip(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + strings.Repeat(zipped(""), 80_000)
	wire(t, []string{answer}, func(t *testing.T, over rest.Option) {
		if strings.HasSuffix(t.Name(), "nethttp") {
			t.Skip("net/http decompresses itself")
		}
		c, err := rest.New("http://api.test/", over, rest.WithRetry(rest.Retry{}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rest.Get[string](t.Context(), c, "a")
		as[*rest.RequestError](t, err)
	})
}

// A RoundTripper may return a head of any size. Fields are compared with each other, so their number is bounded.
func TestManyFields(t *testing.T) {
	for n, want := range map[int]bool{1024: true, 1025: false, 200_000: false} {
		h := http.Header{}
		for i := range n {
			h[fmt.Sprintf("X-%x", i)] = []string{"y"}
		}
		closed := 0
		c, err := rest.New("http://api.test/", rest.WithRetry(rest.Retry{}), rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: h, Body: closeCounter{&closed}, ContentLength: -1, Request: r}, nil
		})))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := c.Request().Get("a", nil); (err == nil) != want || closed != 1 {
			t.Errorf("%d fields: %v, closed %d times", n, err, closed)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%d fields: %v", n, took)
		}
	}
}

type closeCounter struct{ n *int }

func (closeCounter) Read([]byte) (int, error) { return 0, io.EOF }

func (c closeCounter) Close() error {
	*c.n++
	return nil
}

// Pages without elements give a loop no chance to end, so that they end themselves, and names of pages may be long.
func TestHostilePages(t *testing.T) {
	page := 0
	handler := func(elements string) gallop.RequestHandler {
		return func(ctx *gallop.RequestCtx) {
			page++
			answer(ctx, 200, fmt.Sprintf(`{"elements":%s,"next":"%d"}`, elements, page), fmt.Sprintf("Link: <?page=%d>; rel=next", page))
		}
	}
	lists := func(ctx *gallop.RequestCtx) {
		page++
		answer(ctx, 200, "[]", fmt.Sprintf("Link: <?page=%d>; rel=next", page))
	}
	type paged struct {
		Elements []int
		Next     string
	}
	split := func(p paged) ([]int, string) { return p.Elements, p.Next }
	for name, tc := range map[string]struct {
		handler gallop.RequestHandler
		pages   func(c *rest.Client) func(func(int, error) bool)
	}{
		"linked": {lists, func(c *rest.Client) func(func(int, error) bool) { return rest.PagesByLink[int](t.Context(), c, "a") }},
		"cursors": {handler("[]"), func(c *rest.Client) func(func(int, error) bool) {
			return rest.PagesByCursor(t.Context(), c, "a", "after", split)
		}},
		"null": {handler("null"), func(c *rest.Client) func(func(int, error) bool) {
			return rest.PagesByCursor(t.Context(), c, "a", "after", split)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, tc.handler)
			c := a.client()
			list, err := collected(tc.pages(c))
			if !errors.Is(err, rest.ErrPagesEmpty) || len(list) > 0 || a.calls.Load() > 101 {
				t.Errorf("%d elements of %d pages, %v", len(list), a.calls.Load(), err)
			}
		})
	}
	a := serve(t, func(ctx *gallop.RequestCtx) { // fewer than a hundred, again and again, are fine
		page++
		elements, next := "[]", fmt.Sprint(page)
		if page%60 == 0 {
			elements = "[1]"
		}
		if page > 1000 {
			next = ""
		}
		answer(ctx, 200, fmt.Sprintf(`{"elements":%s,"next":%q}`, elements, next))
	})
	page = 0
	list, err := collected(rest.PagesByCursor(t.Context(), a.client(), "a", "after", split))
	if err != nil || len(list) != 1000/60 {
		t.Errorf("%d elements, %v", len(list), err)
	}
}

// A validator that a server would refuse is not sent back to it.
func TestHostileValidators(t *testing.T) {
	for _, header := range []string{`ETag: "` + strings.Repeat("x", 3000) + `"`, "Last-Modified: " + strings.Repeat("x", 3000)} {
		a := serve(t, func(ctx *gallop.RequestCtx) {
			if len(ctx.Request.Header.Peek("If-None-Match"))+len(ctx.Request.Header.Peek("If-Modified-Since")) > 0 {
				answer(ctx, 431, "")
				return
			}
			answer(ctx, 200, `"a"`, header, "Cache-Control: no-cache")
		})
		c := a.client(rest.WithCache(1 << 20))
		for range 2 {
			if got, err := rest.Get[string](t.Context(), c, "a"); err != nil || got != "a" {
				t.Errorf("%.20s: %q, %v", header, got, err)
			}
		}
	}
}

// MaxPause bounds what a server makes a client believe, whichever field says it.
func TestHostileReset(t *testing.T) {
	for _, fields := range [][]string{
		{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999"}, {`RateLimit: "x";r=0;t=999999999`}, {"Retry-After: 99999999"}, {"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"},
	} {
		for _, status := range []int{200, 403, 429} {
			eachScript(t, []gallop.RequestHandler{text(status, "", fields...), text(200, "")}, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over, rest.WithRateLimit(rest.RateLimit{MaxPause: time.Minute}), rest.WithRetry(rest.Retry{}))
				_, _ = c.Request().Get("a", nil)
				time.Sleep(62 * time.Second)
				if _, err := c.Request().Get("a", nil); err != nil {
					t.Errorf("%d, %q: %v", status, fields, err)
				}
			})
		}
	}
}

// A function that gets tokens may fail in every way: the call fails, with an error that fits in a log, and the next
// call gets a token again.
func TestHostileTokens(t *testing.T) {
	for name, token := range map[string]func() (rest.Token, error){
		"an error of lines": func() (rest.Token, error) {
			return rest.Token{}, errors.New("a\nforged\x1b[2J" + strings.Repeat("x", 100_000))
		},
		"none":                  func() (rest.Token, error) { return rest.Token{}, nil },
		"lines":                 func() (rest.Token, error) { return rest.Token{Value: "a\r\nX: y"}, nil },
		"lines in its type":     func() (rest.Token, error) { return rest.Token{Value: "a", Type: "b\r\nX: y"}, nil },
		"a panic":               func() (rest.Token, error) { panic("no token") },
		"a token with an error": func() (rest.Token, error) { return rest.Token{Value: "a"}, io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, text(200, `"a"`))
			asked := 0
			c := a.client(rest.WithRetry(rest.Retry{}), rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
				if asked++; asked > 1 {
					return rest.Token{Value: "good"}, nil
				}
				return token()
			})))
			err := func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = fmt.Errorf("%w: %v", &rest.AuthError{Err: io.EOF}, v)
					}
				}()
				_, err = c.Request().Get("a", nil)
				return err
			}()
			as[*rest.AuthError](t, err)
			if text := err.Error(); len(text) > 2000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || a.calls.Load() > 0 {
				t.Errorf("%.200q after %d requests", text, a.calls.Load())
			}
			if got, err := rest.Get[string](t.Context(), c, "a"); err != nil || got != "a" {
				t.Errorf("then: %q, %v", got, err)
			}
		})
	}
}

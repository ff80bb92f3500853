package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
)

// wire runs a test over both transports with a server that answers the nth connection with the nth text,
// whatever was asked, and closes it, and all others with the last.
func wire(t *testing.T, answers []string, test func(t *testing.T, over rest.Option)) {
	t.Helper()
	for _, name := range []string{"gallop", "nethttp"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := memnet.NewListener()
				defer ln.Close()
				go serveTexts(ln, answers)
				if name == "gallop" {
					test(t, rest.WithClient(&gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }, MaxResponseHeaderBytes: 256 << 10}))
					return
				}
				tr := &http.Transport{DialContext: ln.DialContext}
				defer tr.CloseIdleConnections()
				test(t, rest.WithTransport(tr))
			})
		})
	}
}

func serveTexts(ln net.Listener, answers []string) {
	for i := 0; ; i++ {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			var head []byte
			for buf := make([]byte, 4096); !bytes.Contains(head, []byte("\r\n\r\n")); {
				n, err := conn.Read(buf)
				if head = append(head, buf[:n]...); err != nil {
					return
				}
			}
			_, _ = io.WriteString(conn, answers[min(i, len(answers)-1)])
		}()
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	z.Close()
	return b.String()
}

// Half a response never passes for a whole one, and surplus bytes never become the next response.
func TestLyingBodies(t *testing.T) {
	gz := zipped(`{"login":"` + strings.Repeat("a", 3000) + `"}`)
	ok := "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"login\":\"yes\"}"
	for _, tc := range []struct {
		name, answer string
		want         string // the login, or an error
	}{
		{"longer than it says", "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"login\":\"a\"}HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"login\":\"b\"}", "a"},
		{"shorter than it says", "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"login\":\"a\"}", ""},
		{"far shorter", "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n{\"login\":\"a\"}", ""},
		{"longer than there is memory", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n{\"login\":\"a\"}", ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Length: 12\r\n\r\n{\"login\":\"a\"}", ""},
		{"negative", "HTTP/1.1 200 OK\r\nContent-Length: -13\r\n\r\n{\"login\":\"a\"}", ""},
		{"chunks without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{\"login\":\"a\"}\r\n", ""},
		{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"login\":\"a\"}", ""},
		{"to the end", "HTTP/1.1 200 OK\r\n\r\n{\"login\":\"a\"}", "a"},
		{"half of gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz[:len(gz)/2], ""},
		{"gzip without its sum", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz[:len(gz)-4], ""},
		{"gzip with a wrong sum", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gz[:len(gz)-1] + "!", ""},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Le", ""},
		{"no HTTP", "{\"login\":\"a\"}", ""},
		{"a NUL", "HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 13\r\n\r\n{\"login\":\"a\"}", ""},
		{"nothing", "", ""},
		{"half an error", "HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n{\"message\":\"m\"}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wire(t, []string{tc.answer, ok}, func(t *testing.T, over rest.Option) {
				c, err := rest.New("http://api.test/", over, rest.WithRetry(rest.Retry{}), rest.WithCache(1<<20))
				if err != nil {
					t.Fatal(err)
				}
				got, err := rest.Get[gopher](t.Context(), c, "a")
				if (err == nil) != (tc.want != "") || err == nil && got.Login != tc.want {
					t.Errorf("got %q, %v, want %q", got.Login, err, tc.want)
				}
				if err != nil && !strings.HasPrefix(err.Error(), "rest: GET http://api.test/a: ") {
					t.Error(err)
				}
				if got, err := rest.Get[gopher](t.Context(), c, "a"); err != nil || got.Login != "yes" {
					t.Errorf("then: %q, %v", got.Login, err)
				}
			})
		})
	}
}

func TestBombs(t *testing.T) {
	size := 30 << 20
	if rest.RaceEnabled {
		size = 6 << 20
	}
	bomb := zipped(`"` + strings.Repeat("0", size) + `"`)
	eachTransport(t, func(ctx *gallop.RequestCtx) {
		answer(ctx, 200+300*ctx.QueryArgs().GetUintOrZero("bad"), bomb, "Content-Encoding: gzip")
	}, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithMaxBody(2<<20), rest.WithCache(1<<20))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := rest.Get[string](t.Context(), c, "a"); !errors.Is(err, rest.ErrBodyTooLarge) {
			t.Error(err)
		}
		_, err := rest.Get[string](t.Context(), c, "a?bad=1")
		if got := as[*rest.APIError](t, err); len(got.Body) != 1<<20 {
			t.Error(len(got.Body))
		}
		if _, err := c.Request().Get("a", nil); err != nil {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 25<<20 && !rest.RaceEnabled {
			t.Errorf("%d MiB were allocated", used>>20)
		}
	})
}

// origins records what each origin gets, and answers the first request with a redirect.
type origins struct {
	location string
	got      []string
}

func (o *origins) RoundTrip(r *http.Request) (*http.Response, error) {
	secret := r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("X-Key") + r.Header.Get("Private-Token")
	o.got = append(o.got, strings.TrimSpace(r.URL.String()+" "+secret))
	if len(o.got) > 1 {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: 307, Header: http.Header{"Location": {o.location}}, Body: http.NoBody}, nil
}

// Credentials go to the origin that they are for, wherever a redirect leads.
func TestRedirectsToOrigins(t *testing.T) {
	const all = "Bearer hushc=hushhushhush"
	for _, tc := range []struct{ location, want string }{ // what arrives, "" if it is not followed
		{"/x", "https://api.test/x " + all},
		{"https://api.test:443/x", "https://api.test/x " + all},
		{"HTTPS://API.TEST/x", "https://api.test/x " + all},
		{"//api.test/x", "https://api.test/x " + all},
		{"https://api.test./x", "https://api.test./x"},
		{"https://api.test:8443/x", "https://api.test:8443/x"},
		{"https://sub.api.test/x", "https://sub.api.test/x"},
		{"https://api.test.evil.test/x", "https://api.test.evil.test/x"},
		{"https://api.test@evil.test/x", "https://evil.test/x"},
		{"https://user:pass@api.test/x", "https://api.test/x " + all},
		{"//evil.test/x", "https://evil.test/x"},
		{"https://second.test/x", "https://second.test/x Bearer second"},
		{`https:\\evil.test\x`, ""},
		{`/\evil.test/x`, `https://api.test/%5Cevil.test/x ` + all},
		{"http://api.test/x", ""},
		{"http://evil.test/x", ""},
		{"http://second.test/x", ""},
		{"javascript:alert(1)", ""},
		{"file:///etc/passwd", ""},
		{"https://", ""},
		{"https:///x", ""},
		{"https://api.test:99999999/x\r\nX: y", ""},
		{"https://evil\u2024test/x", "https://evil%E2%80%A4test/x"},
	} {
		o := &origins{location: tc.location}
		c, err := rest.New("https://api.test/", rest.WithTransport(o), rest.WithAuth(rest.Bearer("hush")), rest.WithAuth(rest.Bearer("second"), "https://second.test"),
			rest.WithHeader("X-Key", "hush"), rest.WithCookie("c", "hush"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Request().SetHeader("Private-Token", "hush").Get("a", nil)
		if o.got[0] != "https://api.test/a "+all {
			t.Error(o.got[0])
		}
		switch got := o.got[1:]; {
		case tc.want == "" && (err == nil || len(got) > 0):
			t.Errorf("%q: arrives as %q, %v", tc.location, got, err)
		case tc.want == "":
			as[*rest.RedirectError](t, err)
		case err != nil || len(got) != 1 || got[0] != tc.want:
			t.Errorf("%q: arrives as %q, %v, want %q", tc.location, got, err, tc.want)
		}
	}
}

// Limits that no server can mean are not believed, or wait as long as they say and no longer.
func TestLyingLimits(t *testing.T) {
	const year9999 = "Fri, 31 Dec 9999 23:59:59 GMT"
	for _, tc := range []struct {
		name   string
		answer gallop.RequestHandler
		after  time.Duration // of the error; 0 is none
		next   bool          // whether the next request is sent
	}{
		{"in the year 9999", text(429, "", "Retry-After: "+year9999), 200 * 365 * 24 * time.Hour, false},
		{"in many seconds", text(429, "", "Retry-After: 99999999999999999999"), 1e9 * time.Second, false},
		{"before now", text(429, "", "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT"), 0, true},
		{"before now, in seconds", text(429, "", "Retry-After: -5"), -1, true},
		{"no time", text(429, "", "Retry-After: soon"), -1, true},
		{"a negative rest", text(200, "", "X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 60"), 0, true},
		{"a negative reset", text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: -60"), 0, true},
		{"a reset beyond time", text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999999999999999"), 0, true},
		{"numbers with signs", text(200, "", "RateLimit-Remaining: +0", "RateLimit-Reset: +60"), 0, true},
		{"a list of nonsense", text(200, "", `RateLimit: ;;;=,"a";r=;t, r=0;t=-1, "b";r=0;t=x`), 0, true},
		{"a name without end", text(200, "", "X-RateLimit-Remaining: 9", "X-RateLimit-Resource: "+strings.Repeat("x", 10_000)), 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachScript(t, []gallop.RequestHandler{tc.answer, text(200, "")}, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over)
				resp, err := c.Request().Get("a", nil)
				var limited *rest.RateLimitError
				if errors.As(err, &limited) != (resp.StatusCode == 429) {
					t.Fatal(err)
				}
				if limited != nil && (limited.RetryAfter < tc.after || tc.after <= 0 && limited.RetryAfter != tc.after || limited.Error() == "") {
					t.Errorf("RetryAfter %v, want %v", limited.RetryAfter, tc.after)
				}
				if len(resp.Rate().Resource) > 1000 {
					t.Error("the name of the resource is not bounded")
				}
				if _, err = c.Request().Get("a", nil); (err == nil) != tc.next {
					t.Errorf("next: %v", err)
				}
			})
		})
	}
}

// A 304 that the client did not ask for is an error, and claims of a 304 about the missing body are ignored.
func TestStrayNotModified(t *testing.T) {
	script := []gallop.RequestHandler{
		text(304, "", "Cache-Control: max-age=60", `ETag: "x"`), text(200, `"a"`, `ETag: "x"`), text(304, "", `ETag: "y"`, "Content-Length: 0", "Vary: *"),
		text(304, "", `ETag: "x"`),
	}
	eachScript(t, script, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithCache(1<<20))
		if _, err := rest.Get[string](t.Context(), c, "a"); as[*rest.APIError](t, err).StatusCode != 304 {
			t.Error(err)
		}
		for i := range 2 {
			if got, err := rest.Get[string](t.Context(), c, "a"); err != nil || got != "a" {
				t.Errorf("%d: %q, %v", i, got, err)
			}
		}
		_, err := c.Request().SetHeader("If-None-Match", `"own"`).Get("b", nil)
		if as[*rest.APIError](t, err).StatusCode != 304 {
			t.Error(err)
		}
	})
}

// Fields count: a cache does not grow by what is not in bodies.
func TestCacheCountsFields(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		answer(ctx, 200, `""`, "Cache-Control: max-age=60", "X-Long: "+strings.Repeat("x", 30_000))
	})
	c := a.client(rest.WithCache(128 << 10))
	for range 2 {
		for i := range 8 { // of which four have room
			if _, err := c.Request().Get(fmt.Sprint("a?", i), new(string)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := a.calls.Load(); n != 16 {
		t.Errorf("%d requests", n)
	}
}

func TestHugeErrors(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		says       string
	}{
		{"10 MB of detail", `{"title":"t","detail":"` + strings.Repeat("x", 10<<20) + `"}`, "404 Not Found"},
		{"half a megabyte of detail", `{"title":"t","detail":"` + strings.Repeat("ü", 256<<10) + `"}`, "404 t " + strings.Repeat("ü", 150) + "…"},
		{"lines and escapes", `{"message":"a\nERROR forged\u001b[2J\u202e"}`, "404 a ERROR forged [2J "},
		{"items", `{"message":"m","errors":[` + strings.Repeat(`"item",`, 100_000) + `"item"]}`, "404 m; item; item; item; …"},
		{"depth", `{"message":"m","errors":` + strings.Repeat("[", 300_000) + strings.Repeat("]", 300_000) + `}`, "404 Not Found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := serve(t, text(404, tc.body, "Content-Type: application/problem+json"))
			c := a.client()
			_, err := c.Request().Get("a", nil)
			api := as[*rest.APIError](t, err)
			if got := err.Error(); got != "rest: GET http://api.test/v1/a: "+tc.says {
				t.Errorf("got %.1000q", got)
			}
			if len(api.Body) > 1<<20 || len(api.Errors) > 100 {
				t.Error(len(api.Body), len(api.Errors))
			}
		})
	}
}

// Pages that lead nowhere new, or to somebody else, end.
func TestLyingPages(t *testing.T) {
	for _, tc := range []struct {
		link  string
		calls int32
	}{
		{"<http://api.test/v1/a>; rel=next", 1},
		{"<>; rel=next", 1},
		{"<#>; rel=next", 2},
		{"<?>; rel=next", 2},
		{"<http://evil.test/v1/a>; rel=next", 1},
		{"<https://api.test/v1/a>; rel=next", 1},
		{"<http://api.test:81/v1/a>; rel=next", 1},
		{"<http://user:pass@api.test/v1/a>; rel=next", 1},
		{"<//evil.test/>; rel=next", 1},
		{"<javascript:x>; rel=next", 1},
		{"<../../x>; rel=next", 2},
		{"<%2e%2e/x>; rel=next", 1},
		{"<{a}>; rel=next", 2},
	} {
		eachTransport(t, text(200, "[1]", "Link: "+tc.link), func(t *testing.T, a *api, over rest.Option) {
			c := a.client(over, rest.WithAuth(rest.Bearer("hush")))
			_, err := collected(rest.PagesByLink[int](t.Context(), c, "a"))
			if err == nil || a.calls.Load() > tc.calls {
				t.Errorf("%s: %v, %d requests", tc.link, err, a.calls.Load())
			}
		})
	}
}

// Nor do they lead to where a redirect has led: what the request has in its header is for the origin that it names.
func TestPagesBehindRedirects(t *testing.T) {
	for _, next := range []string{"https://evil.test/b", "https://api.test/b"} {
		var got []string
		c, err := rest.New("https://api.test/", rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, strings.TrimSpace(r.URL.String()+" "+r.Header.Get("Private-Token")))
			if r.URL.Host == "api.test" {
				return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://evil.test/a"}}, Body: http.NoBody}, nil
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Link": {"<" + next + ">; rel=next"}}, Body: http.NoBody}, nil
		})))
		if err != nil {
			t.Fatal(err)
		}
		_, err = collected(rest.PagesByLink[int](t.Context(), c, "a", rest.SetHeader("Private-Token", "hush")))
		if err == nil || !slices.Equal(got, []string{"https://api.test/a hush", "https://evil.test/a"}) {
			t.Errorf("%s: %q, %v", next, got, err)
		}
	}
}

// A call ends with its context, whatever it is about.
func TestCancellation(t *testing.T) {
	const tooLong = time.Hour
	stuck := rest.Tokens(func(ctx context.Context) (rest.Token, error) {
		<-ctx.Done()
		return rest.Token{}, ctx.Err()
	})
	drip := func(ctx *gallop.RequestCtx) {
		ctx.SetBodyStream(&dripping{}, -1)
	}
	for _, tc := range []struct {
		name    string
		handler gallop.RequestHandler
		options []rest.Option
		call    func(ctx context.Context, c *rest.Client) error
	}{
		{"waiting for a limit", text(429, "", "Retry-After: 3600"), []rest.Option{rest.WithRateLimit(rest.RateLimit{Wait: true})}, get},
		{"waiting to send again", text(503, "", "Retry-After: 3600"), []rest.Option{rest.WithRetry(rest.Retry{Max: 9, MaxWait: 2 * tooLong})}, nil},
		{"getting a token", text(200, ""), []rest.Option{rest.WithAuth(stuck)}, get},
		{"waiting for the answer", func(*gallop.RequestCtx) { time.Sleep(tooLong) }, nil, get},
		{"decoding", drip, nil, get},
		{"copying", drip, nil, func(ctx context.Context, c *rest.Client) error {
			_, err := c.Request().SetContext(ctx).Get("a", io.Discard)
			return err
		}},
		{"reading an error", func(ctx *gallop.RequestCtx) {
			ctx.SetStatusCode(404)
			drip(ctx)
		}, nil, nil},
		{"reading the way elsewhere", func(ctx *gallop.RequestCtx) {
			if ctx.SetStatusCode(302); string(ctx.Path()) == "/v1/a" {
				ctx.Response.Header.Set("Location", "b")
			}
			drip(ctx)
		}, nil, nil},
		{"sending", func(ctx *gallop.RequestCtx) { time.Sleep(tooLong) }, nil, func(ctx context.Context, c *rest.Client) error {
			_, err := c.Request().SetContext(ctx).SetBodyReader(&dripping{}, -1).Post("a", nil)
			return err
		}},
		{"between pages", text(200, "[1]", "Link: <?page=2>; rel=next"), nil, func(ctx context.Context, c *rest.Client) error {
			for _, err := range rest.PagesByNumber[int](ctx, c, "a", "page", 1) {
				if err != nil {
					return err
				}
				<-ctx.Done()
			}
			return nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachTransport(t, tc.handler, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(append(tc.options, over)...)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				begun := time.Now()
				call := tc.call
				if call == nil {
					call = get
				}
				err := call(ctx, c)
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
				if tc.call != nil && !errors.Is(err, context.Canceled) || err == nil {
					t.Errorf("got %v", err)
				}
				time.Sleep(time.Second) // what reads for the call finds that it is over
			})
		})
	}
}

func get(ctx context.Context, c *rest.Client) error {
	_, err := rest.Get[[]string](ctx, c, "a")
	return err
}

// dripping is a list that does not end.
type dripping struct{ n int }

func (d *dripping) Read(p []byte) (int, error) {
	if d.n++; d.n > 30 {
		return 0, io.ErrUnexpectedEOF
	}
	time.Sleep(100 * time.Millisecond)
	return copy(p, []string{"[", `"a",`}[min(d.n-1, 1)]), nil
}

// One client for many, with all that it can do, against a server that does what it likes.
func TestManyCalls(t *testing.T) {
	var mu sync.Mutex
	n := 0
	h := func(ctx *gallop.RequestCtx) {
		mu.Lock()
		n++
		n := n
		mu.Unlock()
		who := string(ctx.Request.Header.Peek("Authorization")) + string(ctx.Request.Header.Peek("X-Who"))
		switch path := string(ctx.Path()); {
		case n%11 == 0:
			answer(ctx, 503, "", "Retry-After: 0")
		case n%13 == 0:
			answer(ctx, 401, "")
		case n%17 == 0:
			panic(gallop.ErrAbortHandler)
		case path == "/v1/moved":
			answer(ctx, 307, "", "Location: cached")
		case len(ctx.Request.Header.Peek("If-None-Match")) > 0 && n%2 == 0:
			answer(ctx, 304, "", `ETag: "e"`)
		default:
			answer(ctx, 200, fmt.Sprintf(`{"login":%q}`, who), `ETag: "e"`, "Cache-Control: max-age="+fmt.Sprint(n%2), "Vary: Accept-Language",
				fmt.Sprintf("X-RateLimit-Remaining: %d", n%7+1), "X-RateLimit-Reset: 60", fmt.Sprintf("X-RateLimit-Resource: r%d", n%3))
		}
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		tokens := 0
		c := a.client(over, rest.WithCache(1<<16), rest.WithRetry(rest.Retry{Max: 5, Wait: time.Millisecond}), rest.WithTimeout(time.Minute),
			rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
				tokens++
				return rest.Token{Value: "t"}, nil
			})), rest.WithRequestHook(func(_ context.Context, r *rest.Request) error { r.SetQuery("h", "1"); return nil }))
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 40 {
					who := fmt.Sprint(g % 3)
					r := c.Request().SetContext(t.Context()).SetHeader("X-Who", who).SetHeader("Accept-Language", []string{"de", "en"}[i%2])
					var v gopher
					var err error
					if i%5 == 0 {
						_, err = r.SetBody(v).Put("moved", &v)
					} else {
						_, err = r.Get([]string{"cached", "moved"}[i%2], &v)
					}
					if err == nil && v.Login != "Bearer t"+who {
						t.Errorf("%s got what is for %q", who, v.Login)
					}
				}
			})
		}
		all.Wait()
		if tokens == 0 {
			t.Error("no token was asked for")
		}
	})
}

// The caches of two clients are separate, whatever the server says about sharing.
func TestCachesAreApart(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		answer(ctx, 200, `"`+string(ctx.Request.Header.Peek("Authorization"))+`"`, "Cache-Control: public, max-age=60")
	})
	var got []string
	for _, token := range []string{"one", "two"} {
		c := a.client(rest.WithCache(1<<20), rest.WithAuth(rest.Bearer(token)))
		for range 2 {
			v, err := rest.Get[string](t.Context(), c, "a")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
	}
	if !slices.Equal(got, []string{"Bearer one", "Bearer one", "Bearer two", "Bearer two"}) || a.calls.Load() != 2 {
		t.Error(got, a.calls.Load())
	}
}

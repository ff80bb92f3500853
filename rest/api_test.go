package rest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// signer is an Auth that signs what is sent.
type signer struct{ key string }

func (s signer) sum(method, url, body string) string {
	mac := hmac.New(sha256.New, []byte(s.key))
	fmt.Fprintf(mac, "%s\n%s\n%s", method, url, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (s signer) Authorize(_ context.Context, r *rest.AuthRequest) error {
	if _, refused := r.Challenge(); refused {
		return nil
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	all, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	r.SetHeader("X-Signature", s.sum(r.Method(), r.URL(), string(all))+" "+r.Header("Content-Type"))
	return nil
}

func TestAuthSigns(t *testing.T) {
	s := signer{"key"}
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithAuth(s))
		for _, tc := range []struct {
			name string
			r    *rest.Request
			body string
		}{
			{"no body", c.Request().SetTarget("GET", "a?x=y"), ""},
			{"a value", c.Request().SetTarget("GET", "a?x=y").SetBody(gopher{"x"}), `{"login":"x"}`},
			{"a reader that can be read again", c.Request().SetTarget("GET", "a?x=y").SetBody(strings.NewReader("text")), "text"},
		} {
			for range 2 {
				got := said(t, c, tc.r)
				if want := "X-Signature: " + s.sum("GET", "http://api.test/v1/a?x=y", tc.body); !strings.Contains(got, want) || !strings.HasSuffix(got, "\n\n"+tc.body) {
					t.Errorf("%s: got %q, want %q", tc.name, got, want)
				}
			}
		}
		before := a.calls.Load()
		_, err := c.Request().SetBody(onceReader{strings.NewReader("x")}).Post("a", nil)
		if as[*rest.AuthError](t, err); a.calls.Load() != before || !strings.Contains(err.Error(), "read only once") {
			t.Error(err)
		}
	})
}

// changing is an Auth that gives another key after a challenge.
type changing struct{ asked []string }

func (c *changing) Authorize(_ context.Context, r *rest.AuthRequest) error {
	challenge, refused := r.Challenge()
	c.asked = append(c.asked, fmt.Sprint(challenge, refused, r.Header("X-Key")))
	if !refused {
		r.SetHeader("X-Key", "old")
	} else {
		r.SetHeader("X-Key", "new")
	}
	return nil
}

func TestAuthChallenge(t *testing.T) {
	eachTransport(t, func(ctx *gallop.RequestCtx) {
		if string(ctx.Request.Header.Peek("X-Key")) != "new" {
			answer(ctx, 401, "", `WWW-Authenticate: Key realm="a"`, `WWW-Authenticate: Other`)
			return
		}
		echo(ctx)
	}, func(t *testing.T, a *api, over rest.Option) {
		auth := &changing{}
		_, err := a.client(over, rest.WithAuth(auth)).Request().SetBody("x").Put("a", nil)
		if err != nil || !slices.Equal(auth.asked, []string{"false", `Key realm="a", Othertrueold`}) || a.calls.Load() != 2 {
			t.Errorf("%v, %q, %d requests", err, auth.asked, a.calls.Load())
		}
		for name, fixed := range map[string]rest.Auth{"bearer": rest.Bearer("x"), "key": rest.APIKey("X-Key", "x"), "signer": signer{"x"}} {
			before := a.calls.Load()
			_, err := a.client(over, rest.WithAuth(fixed)).Request().Put("a", nil)
			if e := as[*rest.AuthError](t, err); a.calls.Load() != before+1 || rest.StatusOf(err) != 401 || e.Challenge == "" {
				t.Errorf("%s: %v after %d requests", name, err, a.calls.Load()-before)
			}
		}
	})
}

func TestAuthKinds(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithAuth(rest.APIKey("X-Api-Key", "hush")))
		if got := said(t, c, c.Request().SetTarget("GET", "a")); !strings.Contains(got, "X-Api-Key: hush\n") {
			t.Error(got)
		}
		if got := said(t, c, c.Request().SetHeader("x-api-key", "mine").SetTarget("GET", "a")); strings.Contains(got, "hush") || !strings.Contains(got, "mine") {
			t.Error(got)
		}
		if got := said(t, c, c.Request().SetTarget("GET", "http://other.test/a")); strings.Contains(got, "hush") {
			t.Error("a key went to another origin", got)
		}
		c = a.client(over, rest.WithAuth(rest.AuthFunc(func(context.Context) (string, error) { return "Own x", nil })))
		if got := said(t, c, c.Request().SetTarget("GET", "a")); !strings.Contains(got, "Authorization: Own x\n") {
			t.Error(got)
		}
		for _, auth := range []rest.Auth{rest.APIKey("X Key", "x"), rest.APIKey("Host", "x"), rest.APIKey("X-Key", "a\r\nb")} {
			before := a.calls.Load()
			_, err := a.client(over, rest.WithAuth(auth)).Request().Get("a", nil)
			if as[*rest.AuthError](t, err); !errors.Is(err, rest.ErrHeader) || a.calls.Load() != before || rest.StatusOf(err) != 0 {
				t.Error(err)
			}
		}
	})
}

type spanKey struct{}

// A hook gets the context of the call with its timeout, and can put a span into it, for this call only.
func TestHookContext(t *testing.T) {
	eachTransport(t, text(200, "7"), func(t *testing.T, a *api, over rest.Option) {
		var deadlines []time.Duration
		var span any
		c := a.client(over, rest.WithTimeout(time.Minute), rest.WithRequestHook(func(ctx context.Context, r *rest.Request) error {
			deadline, _ := ctx.Deadline()
			deadlines = append(deadlines, time.Until(deadline))
			if ctx != r.Context() {
				t.Error("two contexts")
			}
			r.SetContext(context.WithValue(ctx, spanKey{}, "span"))
			return nil
		}), rest.WithResponseHook(func(r *rest.Request, _ *rest.Response, _ error) { span = r.Context().Value(spanKey{}) }))
		type ownKey struct{}
		own := context.WithValue(t.Context(), ownKey{}, 1)
		r := c.Request().SetContext(own).SetTarget("GET", "a")
		for range 2 {
			var n int
			if _, err := c.Do(r, &n); err != nil || n != 7 || span != "span" || r.Context() != own {
				t.Error(n, err, span)
			}
			time.Sleep(time.Second)
		}
		if !slices.Equal(deadlines, []time.Duration{time.Minute, time.Minute}) {
			t.Error(deadlines)
		}
	})
	slow := func(*gallop.RequestCtx) { time.Sleep(time.Hour) }
	eachTransport(t, slow, func(t *testing.T, a *api, over rest.Option) { // a hook sets another timeout, a shorter or a longer one
		for _, tc := range []struct{ client, hook, want time.Duration }{
			{0, time.Second, time.Second}, {time.Minute, time.Second, time.Second}, {time.Second, time.Minute, time.Minute},
		} {
			c := a.client(over, rest.WithTimeout(tc.client), rest.WithRequestHook(func(_ context.Context, r *rest.Request) error {
				r.SetTimeout(tc.hook)
				return nil
			}))
			begun := time.Now()
			_, err := c.Request().Get("a", nil)
			if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != tc.want {
				t.Errorf("%v after %v, want %v", err, took, tc.want)
			}
		}
		synctest.Wait()
	})
}

func TestRequestBody(t *testing.T) {
	c, err := rest.New("http://api.test/", nil) // a nil option is ignored
	if err != nil {
		t.Fatal(err)
	}
	reader := strings.NewReader("x")
	for name, tc := range map[string]struct {
		r    *rest.Request
		want any
	}{
		"none": {c.Request(), nil}, "a value": {c.Request().SetBody(7), 7}, "a reader": {c.Request().SetBodyReader(reader, 1), reader},
	} {
		if got := tc.r.Body(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := c.NewRequest(t.Context(), "GET", "a", nil, nil, rest.SetHeader("A", "b")); err != nil {
		t.Error(err)
	}
	if _, err := c.Clone(nil); err != nil {
		t.Error(err)
	}
}

// The response of a success is within reach of all generic functions.
func TestIntoResponse(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/v1/missing" {
			answer(ctx, 404, "")
			return
		}
		answer(ctx, 200, `"x"`, `ETag: "1"`, "X-Body: "+string(ctx.PostBody()))
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c, ctx := a.client(over), t.Context()
		var resp *rest.Response
		into := rest.IntoResponse(&resp)
		get := func(path string) error { _, err := rest.Get[string](ctx, c, path, into); return err }
		if err := get("a"); err != nil || resp.Header("ETag") != `"1"` || resp.Protocol != "HTTP/1.1" {
			t.Error(err, resp)
		}
		if err := get("missing"); rest.StatusOf(err) != 404 || resp.StatusCode != 404 {
			t.Error(err, resp)
		}
		if err := get("../a"); err == nil || resp != nil {
			t.Error(err, resp)
		}
		got, resp, err := rest.Send[string](ctx, c, "PROPFIND", "a", 7, func(r *rest.Request) { r.SetTimeout(time.Minute) })
		if err != nil || got != "x" || resp.Header("X-Body") != "7" {
			t.Error(got, err)
		}
		if _, resp, err := rest.Send[string](ctx, c, "GET", "missing", nil); err == nil || resp == nil || resp.StatusCode != 404 {
			t.Error(resp, err)
		}
		if resp, err := rest.Head(ctx, c, "a"); err != nil || resp.Header("ETag") == "" {
			t.Error(err)
		}
		if _, err := rest.Get[string](ctx, c, "a", rest.IntoResponse(nil)); err != nil {
			t.Error(err)
		}
	})
}

func TestEachPage(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		switch page := string(ctx.QueryArgs().Peek("page")); page {
		case "3":
			answer(ctx, 200, `[]`, "X-Page: 3")
		case "2":
			answer(ctx, 200, `[3]`, "X-Page: 2")
		default:
			answer(ctx, 200, `[1,2]`, "X-Page: 1", "Link: <?page=2>; rel=next")
		}
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		var seen []string
		var last *rest.Response
		options := []rest.RequestOption{rest.EachPage(func(r *rest.Response) { seen = append(seen, r.Header("X-Page")) }), rest.IntoResponse(&last)}
		split := func(p []int) ([]int, string) { return p, map[int]string{2: "2", 1: "3"}[len(p)] }
		for name, tc := range map[string]struct {
			all  func(func(int, error) bool)
			want int
		}{
			"link":   {rest.PagesByLink[int](t.Context(), c, "a", options...), 2},
			"number": {rest.PagesByNumber[int](t.Context(), c, "a", "page", 1, options...), 3},
			"cursor": {rest.PagesByCursor(t.Context(), c, "a", "page", split, options...), 3},
		} {
			seen = nil
			list, err := collected(tc.all)
			if err != nil || len(list) != 3 || strings.Join(seen, "") != "123"[:tc.want] || last.Header("X-Page") != seen[len(seen)-1] {
				t.Errorf("%s: %v, %v, pages %q", name, list, err, seen)
			}
		}
		if _, err := collected(rest.PagesByLink[int](t.Context(), c, "../a")); !errors.Is(err, rest.ErrPathForbidden) {
			t.Error(err)
		}
	})
}

func TestRequestClone(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		r := c.Request().SetHeader("X-A", "1").SetQuery("q", "1").SetPathValue("p", "v").SetBody("b").SetTarget("PUT", "a/{p}").SetTimeout(time.Minute)
		want := said(t, c, r)
		n := r.Clone()
		n.SetHeader("X-A", "2").SetQuery("q", "2").SetPathValue("p", "w").SetBody("c")
		if got := said(t, c, r); got != want {
			t.Errorf("the original has changed: %q, want %q", got, want)
		}
		if got := said(t, c, n); !strings.HasPrefix(got, "PUT /v1/a/w?q=2\n") || !strings.Contains(got, "X-A: 2\n") || !strings.HasSuffix(got, `"c"`) {
			t.Error(got)
		}
	})
}

func TestAttempts(t *testing.T) {
	eachTransport(t, text(503, ""), func(t *testing.T, a *api, over rest.Option) {
		var seen []string
		c := a.client(over, rest.WithRetry(rest.Retry{
			Max:     5,
			Backoff: func(at rest.Attempt) time.Duration { return time.Duration(at.Number) * time.Minute },
			If: func(at rest.Attempt) bool {
				method, _ := at.Request.Target()
				seen = append(seen, fmt.Sprint(method, " ", at.Number, " ", at.Elapsed, " ", at.Response.StatusCode, " ", at.Err, " ", at.ReplaySafe, " ", at.Context.Value(spanKey{})))
				return at.Number < 3
			},
		}))
		_, err := c.Request().SetContext(context.WithValue(t.Context(), spanKey{}, "x")).Post("a", nil)
		want := []string{"POST 1 0s 503 <nil> false x", "POST 2 1m0s 503 <nil> false x", "POST 3 3m0s 503 <nil> false x"}
		if as[*rest.APIError](t, err); !slices.Equal(seen, want) || a.calls.Load() != 3 {
			t.Errorf("got %q", seen)
		}
		safe := false
		c = a.client(over, rest.WithRetry(rest.Retry{Max: 1, If: func(at rest.Attempt) bool { safe = at.ReplaySafe; return false }}))
		if _, err := c.Request().Get("a", nil); err == nil || !safe {
			t.Error(err, safe)
		}
	})
	eachTransport(t, text(503, "", "Retry-After: 2"), func(t *testing.T, a *api, over rest.Option) { // the server's word goes first
		c := a.client(over, rest.WithRetry(rest.Retry{Max: 1, Backoff: func(rest.Attempt) time.Duration { return time.Hour }}))
		begun := time.Now()
		if _, err := c.Request().Get("a", nil); err == nil || time.Since(begun) != 2*time.Second {
			t.Error(err, time.Since(begun))
		}
	})
}

func TestStatuses(t *testing.T) {
	if !errors.Is(rest.ErrBodyTooLarge, gallop.ErrBodyTooLarge) {
		t.Error("ErrBodyTooLarge is not the root's")
	}
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"nil", nil, 0},
		{"another error", errFull, 0},
		{"no response", &rest.RequestError{Err: errFull}, 0},
		{"refused by a proxy", &rest.RequestError{Err: &gallop.ProxyError{StatusCode: 407}}, 0},
		{"a response that cannot be parsed", &rest.RequestError{Err: &gallop.ParseError{StatusCode: 400}}, 0},
		{"not decoded", &rest.DecodeError{Err: errFull}, 0},
		{"a body that cannot be parsed", &rest.DecodeError{Err: &gallop.ParseError{StatusCode: 400}}, 0},
		{"a status", &rest.APIError{StatusCode: 418}, 418},
		{"wrapped", fmt.Errorf("x: %w", errors.Join(errFull, &rest.APIError{StatusCode: 404})), 404},
		{"a redirect", &rest.RedirectError{StatusCode: 302}, 302},
		{"a limit, not sent", &rest.RateLimitError{}, 429},
		{"refused", &rest.AuthError{Err: &rest.APIError{StatusCode: 401}}, 401},
		{"the token server is down", &rest.AuthError{Err: &rest.APIError{StatusCode: 503}}, 0},
		{"no token", &rest.AuthError{Err: errFull}, 0},
	} {
		if got := rest.StatusOf(tc.err); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	eachTransport(t, text(403, "", "Retry-After: 60"), func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for _, want := range []int{403, 429} { // the second one is not sent
			if _, err := c.Request().Get("a", nil); rest.StatusOf(err) != want {
				t.Error(err, want)
			}
		}
	})
}

func TestLogger(t *testing.T) {
	eachScript(t, []gallop.RequestHandler{text(503, ""), text(401, ""), text(429, "", "Retry-After: 5"), text(200, "")}, func(t *testing.T, a *api, over rest.Option) {
		var b bytes.Buffer
		l := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
			if at.Key == slog.TimeKey || at.Key == "wait" || at.Key == "until" {
				return slog.Attr{}
			}
			return at
		}}))
		n := 0
		c := a.client(over, rest.WithLogger(l), rest.WithRateLimit(rest.RateLimit{Wait: true}), rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			n++
			return rest.Token{Value: fmt.Sprint("hush", n)}, nil
		})))
		if _, err := c.Request().SetQuery("token", "hush").Get("a", nil); err != nil {
			t.Fatal(err)
		}
		const what = " method=GET url=\"http://api.test/v1/a?token=REDACTED\""
		for _, want := range []string{`msg="rest: send again"` + what + " attempt=2 reason=", `msg="rest: token renewed"` + what, `msg="rest: wait for the rate limit"` + what} {
			if strings.Count(b.String(), want) != 1 {
				t.Errorf("got %s, want %s", b.String(), want)
			}
		}
		if strings.Contains(b.String(), "hush") || strings.Count(b.String(), "level=DEBUG") != 3 {
			t.Error(b.String())
		}
		if _, err := a.client(over, rest.WithLogger(nil)).Request().Get("a", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestResponseCookies(t *testing.T) {
	at := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	eachTransport(t, text(200, "", "Set-Cookie: a=b; Path=/x; Domain=api.test; Max-Age=5; Secure; HttpOnly; SameSite=Strict; Partitioned",
		"Set-Cookie: c=d; Expires="+at.Format(http.TimeFormat), "Set-Cookie: gone=; Max-Age=0"), func(t *testing.T, a *api, over rest.Option) {
		resp, err := a.client(over).Request().Get("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []rest.Cookie{
			{Name: "a", Value: "b", Path: "/x", Domain: "api.test", MaxAge: 5, Secure: true, HTTPOnly: true, Partitioned: true, SameSite: gallop.CookieSameSiteStrictMode},
			{Name: "c", Value: "d", Expires: at}, {Name: "gone", MaxAge: -1},
		}
		if got := resp.Cookies(); !slices.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func TestFromStructTags(t *testing.T) {
	type filter struct {
		Both  string        `query:"q" url:"other"`
		Old   string        `url:"old"`
		Out   string        `query:"-" url:"out"`
		Day   time.Time     `query:"day" layout:"2006-01-02"`
		Days  []time.Time   `query:"days,comma" layout:"2006-01-02"`
		Took  time.Duration `query:"took,omitempty"`
		Bytes []byte        `query:"bytes,required"`
		ID    int           `path:"id" uri:"other"`
		Name  string        `uri:"name"`
	}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	f := filter{Both: "a", Old: "b", Out: "c", Day: day, Days: []time.Time{day, day}, Took: 90 * time.Second, Bytes: []byte("x y"), ID: 7, Name: "n/m"}
	a := serve(t, echo)
	c := a.client()
	got := said(t, c, c.Request().SetTarget("GET", "{id}/{name}").SetQueryFrom(&f).SetPathValuesFrom(f))
	if want := "GET /v1/7/n%2Fm?q=a&old=b&day=2026-01-02&days=2026-01-02%2C2026-01-02&took=1m30s&bytes=x+y\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := rest.Get[int](t.Context(), a.client(), "a", rest.SetQueryFrom(7)); err == nil {
		t.Error(got)
	}
}

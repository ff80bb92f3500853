package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

func TestAPIErrorShapes(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       rest.APIError // what the body says
	}{
		{"text", "it is broken", rest.APIError{}},
		{"nothing", "", rest.APIError{}},
		{"a list", "[1]", rest.APIError{}},
		{"a message", `{"message":"m","documentation_url":"d"}`, rest.APIError{Message: "m", DocsURL: "d"}},
		{
			"errors in detail", `{"message":"m","errors":[{"resource":"r","field":"f","code":"c","message":"e"}]}`,
			rest.APIError{Message: "m", Errors: []rest.ErrorItem{{"r", "f", "c", "e"}}},
		},
		{"errors as texts", `{"message":"m","errors":["one","two"]}`, rest.APIError{Message: "m", Errors: []rest.ErrorItem{{Message: "one"}, {Message: "two"}}}},
		{
			"a problem", `{"type":"https://p.test/out-of-credit","title":"t","status":403,"detail":"d","instance":"/i","balance":30}`,
			rest.APIError{Type: "https://p.test/out-of-credit", Message: "t", Detail: "d"},
		},
		{
			"a problem with errors", `{"title":"t","errors":[{"detail":"must be positive","pointer":"#/age"}]}`,
			rest.APIError{Message: "t", Errors: []rest.ErrorItem{{Field: "#/age", Message: "must be positive"}}},
		},
		{"OAuth", `{"error":"invalid_grant","error_description":"expired"}`, rest.APIError{Message: "expired", Code: "invalid_grant"}},
		{"an error", `{"error":"no"}`, rest.APIError{Message: "no"}},
		{
			"an error within", `{"error":{"code":404,"message":"m","status":"NOT_FOUND","errors":[{"message":"e","reason":"r"}]}}`,
			rest.APIError{Message: "m", Code: "404", Errors: []rest.ErrorItem{{Message: "e"}}},
		},
		{
			"errors by field", `{"title":"t","errors":{"b":["one","two"],"a":"three","c":7,"d":{}}}`,
			rest.APIError{Message: "t", Errors: []rest.ErrorItem{{Field: "a", Message: "three"}, {Field: "b", Message: "one"}, {Field: "b", Message: "two"}, {Field: "c", Message: "7"}}},
		},
		{"several messages", `{"message":["one","two"],"error":"e"}`, rest.APIError{Message: "e", Errors: []rest.ErrorItem{{Message: "one"}, {Message: "two"}}}},
		{"a list of errors", `[{"message":"m","code":"c"},"two"]`, rest.APIError{Message: "m", Errors: []rest.ErrorItem{{Code: "c", Message: "m"}, {Message: "two"}}}},
		{"types that do not fit", `{"message":{},"errors":{},"code":[],"type":null}`, rest.APIError{}},
		{"not to its end", `{"message":"m"`, rest.APIError{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := serve(t, text(404, tc.body))
			c := a.client()
			resp, err := c.Do(newRequest(t, c, "GET", "a?access_token=hush&b=2", nil), nil)
			got := as[*rest.APIError](t, err)
			if resp == nil || resp.StatusCode != 404 || got.Response != resp || string(got.Body) != tc.body {
				t.Errorf("%+v %v", got, resp)
			}
			if !strings.HasPrefix(err.Error(), "rest: GET http://api.test/v1/a?access_token=REDACTED&b=2: 404 ") {
				t.Error(err)
			}
			if resp.URL() != "http://api.test/v1/a?access_token=hush&b=2" {
				t.Error("the URL was changed:", resp.URL())
			}
			tc.want.Method, tc.want.URL, tc.want.StatusCode, tc.want.Body, tc.want.Response = got.Method, got.URL, got.StatusCode, got.Body, got.Response
			if !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tc.want)
			}
		})
	}
}

func TestErrorBodiesAreBounded(t *testing.T) {
	eachTransport(t, text(500, strings.Repeat("x", 1<<20+1)), func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		_, err := c.Do(newRequest(t, c, "GET", "a", nil), nil)
		if got := as[*rest.APIError](t, err); len(got.Body) != 1<<20 {
			t.Error(len(got.Body))
		}
	})
}

func TestSecretsAreNotShown(t *testing.T) {
	g := &gallop.Client{Dial: func(string) (net.Conn, error) { return nil, errors.New("refused") }}
	c, err := rest.New("http://api.test/", rest.WithClient(g), rest.WithRetry(rest.Retry{}))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"a=b": "a=b", "a=b&client_secret=secret": "a=b&client_secret=REDACTED", "b=2&token=secret&a=1": "b=2&token=REDACTED&a=1",
		"Access_Token=secret": "Access_Token=REDACTED", "%74oken=secret": "%74oken=REDACTED", "x-amz-signature=secret": "x-amz-signature=REDACTED", "token=": "token=",
		"%zz=secret": "%zz=REDACTED", "totoken=1": "totoken=1",
	} {
		_, err := c.Do(newRequest(t, c, "GET", "x?"+query, nil), nil)
		if !strings.Contains(fmt.Sprint(err), "http://api.test/x?"+want+": ") || strings.Contains(fmt.Sprintf("%+v", err), "secret=secret") {
			t.Errorf("%s: %v", query, err)
		}
	}
	refused := errors.New("refused")
	for name, option := range map[string]rest.Option{ // what an http.Client says
		"a transport": rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: refused}
		})),
		"tokens": rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			return rest.Token{}, &url.Error{Op: "Post", URL: "https://auth.test/?client_secret=hush", Err: refused}
		})),
		"a transport around one": rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("tried twice: %w", &url.Error{Op: "Get", URL: r.URL.String(), Err: refused})
		})),
		"what gets tokens": rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			return rest.Token{}, fmt.Errorf("no token: %w", &url.Error{Op: "Post", URL: "https://auth.test/?client_secret=hush", Err: refused})
		})),
		"one in another": rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			inner := &url.Error{Op: "Get", URL: "https://auth.test/?token=hush", Err: refused}
			return rest.Token{}, errors.Join(errFull, &url.Error{Op: "Post", URL: "https://auth.test/?client_secret=hush", Err: inner})
		})),
	} {
		c, err := rest.New("http://api.test/", rest.WithRetry(rest.Retry{}), option)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Request().Get("a?token=hush", nil)
		if as[*url.Error](t, err); !errors.Is(err, refused) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := rest.New("http://user:hush@ho st/?token=hush"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		switch path := string(ctx.Path()); {
		case strings.HasPrefix(path, "/v1/to/"):
			var status int
			fmt.Sscanf(path, "/v1/to/%d", &status)
			answer(ctx, status, "moved", "Location: "+string(ctx.QueryArgs().Peek("where")))
		case path == "/v1/loop":
			answer(ctx, 302, "", "Location: loop")
		case path == "/v1/two":
			answer(ctx, 302, "", "Location: /a", "Location: /b")
		default:
			echo(ctx)
		}
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithAuth(rest.Bearer("hush")), rest.WithHeader("X-Api-Key", "hush"))
		for _, tc := range []struct {
			name, method, path string
			want               string // the request that arrives in the end, or
			reason             string
			secret             bool // whether it has the credentials
		}{
			{"301", "GET", "to/301?where=/v1/x", "GET /v1/x", "", true},
			{"302 of a POST", "POST", "to/302?where=../x", "GET /v1/x", "", true},
			{"303 of a PUT", "PUT", "to/303?where=/x?a=b", "GET /x?a=b", "", true},
			{"307 of a POST", "POST", "to/307?where=/x", "POST /x", "", true},
			{"308 of a PUT", "PUT", "to/308?where=http://api.test:80/x", "PUT /x", "", true},
			{"HEAD", "HEAD", "to/303?where=/x", "", "", true},
			{"to a query beyond ASCII", "GET", "to/302?where=/x%3Fq=%C3%BC", "GET /x?q=%C3%BC\n", "", true},
			{"to another host", "GET", "to/302?where=http://elsewhere.test/x", "GET /x", "", false},
			{"to another port", "POST", "to/307?where=//api.test:81/x", "POST /x", "", false},
			{"with credentials in it", "GET", "to/302?where=http://a:b@elsewhere.test/x", "GET /x", "", false},
			{"a loop", "GET", "loop", "", "one too many", false},
			{"without Location", "GET", "to/302", "", "does not say", false},
			{"two of them", "GET", "two", "", "several", false},
			{"to nowhere", "GET", "to/302?where=http://%25zz/", "", "malformed", false},
			{"out of HTTP", "GET", "to/302?where=ftp://x/", "", "does not lead to http", false},
		} {
			var body any
			if tc.method == "POST" || tc.method == "PUT" {
				body = gopher{"x"}
			}
			r := newRequest(t, c, tc.method, tc.path, body, rest.SetHeader("X-Own", "hush"), rest.SetHeader("Accept-Language", "de"))
			r.SetCookie("c", "hush")
			var b strings.Builder
			resp, err := c.Do(r, &b)
			if tc.reason != "" {
				if e := as[*rest.RedirectError](t, err); !strings.Contains(e.Reason, tc.reason) || resp == nil {
					t.Errorf("%s: %v", tc.name, err)
				}
				continue
			}
			got := b.String()
			if err != nil || !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s: %q, %v", tc.name, got, err)
			}
			if tc.want == "" {
				continue
			}
			if has := strings.Count(got, "hush"); has != 0 && !tc.secret || has != 4 && tc.secret {
				t.Errorf("%s: credentials arrive: %q", tc.name, got)
			}
			if !strings.Contains(got, "Accept-Language: de\n") || strings.HasPrefix(got, "GET") == strings.Contains(got, "Content-Type") ||
				strings.HasPrefix(got, "GET") == strings.Contains(got, `{"login":"x"}`) {
				t.Errorf("%s: %q", tc.name, got)
			}
		}
		// a body that is spent, none that are followed, and what the request was
		_, err := c.Request().SetBodyReader(onceReader{strings.NewReader("x")}, 1).Post("to/307?where=/x", nil)
		if e := as[*rest.RedirectError](t, err); !strings.Contains(e.Reason, "was read") {
			t.Error(err)
		}
		none := a.client(over, rest.WithRedirects(0))
		_, err = rest.Get[gopher](t.Context(), none, "to/302?where=/file?token=hush")
		if e := as[*rest.RedirectError](t, err); e.Location != "http://api.test/file?token=hush" || e.StatusCode != 302 || !strings.Contains(err.Error(), " to http://api.test/file?token=REDACTED ") {
			t.Error(err)
		}
	})
}

// onceReader hides what else a reader can.
type onceReader struct{ r *strings.Reader }

func (o onceReader) Read(p []byte) (int, error) { return o.r.Read(p) }

func TestAuth(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/v1/private" && string(ctx.Request.Header.Peek("Authorization")) != "Bearer two" {
			answer(ctx, 401, "", `WWW-Authenticate: Bearer realm="r"`)
			return
		}
		echo(ctx)
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		sent := func(c *rest.Client, path string, options ...rest.RequestOption) string {
			got := said(t, c, newRequest(t, c, "GET", path, nil, options...))
			_, got, _ = strings.Cut(got, "Authorization: ")
			got, _, _ = strings.Cut(got, "\n")
			return got
		}
		c := a.client(over, rest.WithAuth(rest.Basic("user", "pass")), rest.WithAuth(rest.Bearer("other"), "http://Other.test:80"))
		for _, tc := range []struct{ got, want string }{
			{sent(c, "a"), "Basic dXNlcjpwYXNz"},
			{sent(c, "http://api.test/b"), "Basic dXNlcjpwYXNz"},
			{sent(c, "http://other.test/b"), "Bearer other"},
			{sent(c, "http://third.test/b"), ""},
			{sent(c, "http://api.test:81/b"), ""},
			{sent(c, "http://api.test.evil.test/b"), ""},
			{sent(c, "a", rest.SetHeader("authorization", "Own x")), "Own x"},
		} {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		}
		_, err := rest.Get[gopher](t.Context(), c, "private")
		if e := as[*rest.AuthError](t, err); e.Challenge != `Bearer realm="r"` || as[*rest.APIError](t, err).StatusCode != 401 {
			t.Error(err)
		}
		before := a.calls.Load()
		for _, auth := range []rest.Auth{rest.Bearer("a\nb"), rest.Basic("user:pass", "word")} {
			_, err = rest.Get[gopher](t.Context(), a.client(over, rest.WithAuth(auth)), "a")
			if as[*rest.AuthError](t, err); a.calls.Load() != before {
				t.Error(err)
			}
		}
	})
}

// A token that is refused is not used again, also if the call whose it was cannot be repeated.
func TestTokenOfAStream(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		if string(ctx.Request.Header.Peek("Authorization")) == "Bearer 1" {
			ctx.SetStatusCode(401)
		}
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		n := 0
		c := a.client(over, rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			n++
			return rest.Token{Value: fmt.Sprint(n)}, nil
		})))
		post := func() error {
			_, err := c.Request().SetContext(t.Context()).SetBodyReader(onceReader{strings.NewReader("x")}, 1).Post("a", nil)
			return err
		}
		as[*rest.AuthError](t, post())
		if err := post(); err != nil || a.calls.Load() != 2 {
			t.Error(err, a.calls.Load())
		}
	})
}

// A token is good until it expires, though no other can be had shortly before.
func TestTokensOutlastTheirSource(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		failure := errors.New("no tokens today")
		n := 0
		c := a.client(over, rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
			if n++; n > 1 {
				return rest.Token{}, failure
			}
			return rest.Token{Value: "t", Expires: time.Now().Add(time.Minute)}, nil
		})))
		for _, step := range []struct {
			after time.Duration
			asked int
			works bool
		}{{0, 1, true}, {49 * time.Second, 1, true}, {2 * time.Second, 2, true}, {8 * time.Second, 3, true}, {time.Second, 4, false}} {
			time.Sleep(step.after)
			_, err := c.Request().SetContext(t.Context()).Get("a", nil)
			if n != step.asked || (err == nil) != step.works || err != nil && !errors.Is(err, failure) {
				t.Errorf("%+v: asked %d times, %v", step, n, err)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := serve(t, func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/v1/revoked" && string(ctx.Request.Header.Peek("Authorization")) == "Bearer 1" {
				ctx.SetStatusCode(401)
				return
			}
			answer(ctx, 200, `"`+string(ctx.Request.Header.Peek("Authorization"))+`"`)
		})
		n := 0
		failure := errors.New("no tokens today")
		c := a.client(rest.WithAuth(rest.Tokens(func(ctx context.Context) (rest.Token, error) {
			if n++; n > 3 {
				return rest.Token{}, failure
			}
			time.Sleep(time.Second)
			return rest.Token{Value: fmt.Sprint(n), Expires: time.Now().Add(time.Minute)}, nil
		})))
		get := func(path string) string {
			got, err := rest.Get[string](t.Context(), c, path)
			if err != nil {
				t.Error(err)
			}
			return got
		}
		results := make(chan string)
		for range 5 {
			go func() { results <- get("a") }()
		}
		for range 5 {
			if got := <-results; got != "Bearer 1" {
				t.Error(got)
			}
		}
		if got := get("revoked"); got != "Bearer 2" || a.calls.Load() != 7 {
			t.Error(got, a.calls.Load())
		}
		if time.Sleep(49 * time.Second); get("a") != "Bearer 2" {
			t.Error("too early")
		}
		if time.Sleep(2 * time.Second); get("a") != "Bearer 3" {
			t.Error("too late")
		}
		time.Sleep(time.Hour)
		if _, err := rest.Get[string](t.Context(), c, "a"); !errors.Is(err, failure) {
			t.Error(err)
		} else {
			as[*rest.AuthError](t, err)
		}
	})
}

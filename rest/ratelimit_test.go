package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// The time in a bubble begins here.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func epoch(after time.Duration) string { return fmt.Sprint(begin.Add(after).Unix()) }

// The rows are go-github's: what one answer says, and what becomes of this call and the next.
func TestRateLimits(t *testing.T) {
	const docs = `{"message":"m","documentation_url":"https://docs.test/#secondary-rate-limits"}`
	used := text(403, `{"message":"m"}`, "X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute))
	ok := text(200, "")
	for _, tc := range []struct {
		name    string
		first   gallop.RequestHandler
		options []rest.Option
		limited bool          // whether the first call is a RateLimitError
		after   time.Duration // its RetryAfter
		refused bool          // whether the next call is refused without asking
	}{
		{"403 with nothing left", used, nil, true, -1, true},
		{"429 with nothing left", text(429, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute)), nil, true, -1, true},
		{"200 with nothing left", text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute)), nil, false, 0, true},
		{"the draft's list", text(200, "", `RateLimit: "burst";r=10;t=1, "daily";r=0;t=30`), nil, false, 0, true},
		{"the draft's list, of a policy with a value", text(200, "", `RateLimit: "user=1";r=0;t=30`), nil, false, 0, true},
		{"the draft's dictionary", text(200, "", "RateLimit: limit=100, remaining=0, reset=50"), nil, false, 0, true},
		{"the draft's three fields", text(200, "", "RateLimit-Limit: 100, 100;w=60", "RateLimit-Remaining: 0", "RateLimit-Reset: 50"), nil, false, 0, true},
		{"some left", text(200, "", "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: "+epoch(time.Minute)), nil, false, 0, false},
		{"nothing left, of a window that is over", text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(-time.Minute)), nil, false, 0, false},
		{"from a cache", text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute), "X-From-Cache: 1"), nil, false, 0, false},
		{"403", text(403, `{"message":"m"}`), nil, false, 0, false},
		{"secondary, no time", text(403, docs), nil, true, -1, false},
		{"secondary, seconds", text(403, docs, "Retry-After: 123"), nil, true, 123 * time.Second, true},
		{"secondary, a date", text(403, docs, "Retry-After: "+begin.Add(123*time.Second).Format(http.TimeFormat)), nil, true, 123 * time.Second, true},
		{"secondary, reset", text(403, docs, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: "+epoch(123*time.Second)), nil, true, 123 * time.Second, true},
		{
			"at most a minute", text(403, docs, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: "+epoch(time.Hour)),
			[]rest.Option{rest.WithRateLimit(rest.RateLimit{MaxPause: time.Minute})}, true, time.Minute, true,
		},
		{"429, secondary", text(429, docs, "Retry-After: 60"), nil, true, time.Minute, true},
		{"a problem", text(403, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"}`), nil, true, -1, false},
		{"ignored", used, []rest.Option{rest.WithRateLimit(rest.RateLimit{Ignore: true})}, true, -1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachScript(t, []gallop.RequestHandler{tc.first, ok}, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(append(tc.options, over)...)
				_, err := c.Request().Get("a/b", nil)
				var limited *rest.RateLimitError
				if errors.As(err, &limited) != tc.limited || tc.limited && (limited.RetryAfter != tc.after || !limited.Sent) {
					t.Errorf("first: %+v %v", limited, err)
				}
				if tc.limited && as[*rest.APIError](t, err).Response == nil {
					t.Error("no answer")
				}
				resp, err := c.Request().Get("c?token=hush", nil)
				if errors.As(err, &limited) != tc.refused || tc.refused != (a.calls.Load() == 1) {
					t.Fatalf("second: %v, %d requests", err, a.calls.Load())
				}
				if !tc.refused {
					return
				}
				if limited.Sent || resp != nil || !strings.HasPrefix(err.Error(), "rest: GET http://api.test/v1/c?token=REDACTED: not sent: the rate limit is reached") {
					t.Error(err)
				}
				if _, err = c.Request().SetHeader("If-Match", `"x"`).SetHeader("Content-MD5", "y").Put("a", nil); !errors.As(err, &limited) { // who says so is the same
					t.Error(err)
				}
				// others are not concerned, and what is known can be passed over
				if _, err = c.Request().Get("http://other.test/", nil); err != nil {
					t.Error(err)
				}
				if _, err = c.Request().SetHeader("Authorization", "Own x").Get("a", nil); err != nil {
					t.Error(err)
				}
				if _, err = c.Request().SetContext(rest.IgnoreRate(t.Context())).Get("a", nil); err != nil {
					t.Error(err)
				}
				time.Sleep(124 * time.Second)
				if _, err = c.Request().Get("a", nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// twoResources counts what is below search apart from the rest, and has nothing left of it.
func twoResources(ctx *gallop.RequestCtx) {
	if strings.Contains(string(ctx.Path()), "/search/") {
		answer(ctx, 200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: search")
		return
	}
	answer(ctx, 200, "", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: core")
}

func TestRateResources(t *testing.T) {
	eachTransport(t, twoResources, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		get := func(path string) error {
			_, err := c.Request().SetPathValue("x", "y").Get(path, nil)
			return err
		}
		if err := errors.Join(get("search/{x}"), get("repos/{x}"), get("repos/{x}")); err != nil {
			t.Fatal(err)
		}
		if e := as[*rest.RateLimitError](t, get("search/{x}?q=2")); e.Rate.Resource != "search" || e.Sent {
			t.Errorf("%+v", e)
		}
	})
}

// A limit that is not that of the resource, of which there is something left, is one of all requests.
func TestLimitOfAllResources(t *testing.T) {
	const secondary = `{"documentation_url":"https://docs.test/#secondary-rate-limits"}`
	for _, tc := range []struct {
		name    string
		limit   gallop.RequestHandler
		refused bool // whether requests for other resources are
	}{
		{"of another kind", text(403, secondary, "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: search", "Retry-After: 60"), true},
		{"as the problem says", text(429, `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected"}`, "Retry-After: 60"), true},
		{"of one resource", text(403, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: search", "Retry-After: 60"), false},
		{"of who knows what", text(429, "", "Retry-After: 60"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			core := text(200, "", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: core")
			search := text(200, "", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 60", "X-RateLimit-Resource: search")
			eachScript(t, []gallop.RequestHandler{core, search, tc.limit, core}, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over)
				get := func(path string) error {
					_, err := c.Request().SetContext(t.Context()).Get(path, nil)
					return err
				}
				if err := errors.Join(get("repos/x"), get("search/x")); err != nil {
					t.Fatal(err)
				}
				as[*rest.RateLimitError](t, get("search/x"))
				if e := as[*rest.RateLimitError](t, get("search/x")); e.Sent || e.RetryAfter != time.Minute {
					t.Errorf("%+v", e)
				}
				for _, path := range []string{"repos/x", "new"} {
					if err := get(path); (err != nil) != tc.refused {
						t.Errorf("%s: %v", path, err)
					}
				}
				if time.Sleep(61 * time.Second); get("repos/x") != nil || get("search/x") != nil {
					t.Error("it does not end")
				}
			})
		})
	}
}

// A URL, as pages are linked by, belongs to the resource of its path, and not to that of another URL.
func TestRateResourcesOfURLs(t *testing.T) {
	for _, path := range []string{"search/code", "/search/code?page=1", "http://api.test/v1/search/code?page=3"} {
		eachTransport(t, twoResources, func(t *testing.T, a *api, over rest.Option) {
			c := a.client(over)
			for _, url := range []string{"http://api.test/v1/search/code?page=2", "http://api.test/v1/repos/x?page=2", "http://api.test", "http://other.test/search/code"} {
				if _, err := c.Request().SetContext(t.Context()).Get(url, nil); err != nil {
					t.Errorf("%s: %v", url, err)
				}
			}
			_, err := c.Request().SetContext(t.Context()).Get(path, nil)
			if e := as[*rest.RateLimitError](t, err); e.Rate.Resource != "search" || e.Sent {
				t.Errorf("%s: %+v", path, e)
			}
		})
	}
}

// Whom a redirect leads to may have had enough: that is no limit of the API's.
func TestLimitBehindARedirect(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		switch {
		case string(ctx.Host()) == "files.test":
			answer(ctx, 429, "", "Retry-After: 60")
		case string(ctx.Path()) == "/v1/archive":
			answer(ctx, 302, "", "Location: http://files.test/x")
		case string(ctx.Path()) == "/v1/busy":
			answer(ctx, 302, "", "Location: limited")
		case string(ctx.Path()) == "/v1/limited":
			answer(ctx, 429, "", "Retry-After: 60")
		}
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for _, tc := range []struct {
			path    string
			refused bool // whether the next call is
		}{{"archive", false}, {"busy", true}} {
			_, err := c.Request().SetContext(t.Context()).Get(tc.path, nil)
			if e := as[*rest.RateLimitError](t, err); e.RetryAfter != time.Minute || !e.Sent {
				t.Errorf("%s: %+v", tc.path, e)
			}
			if _, err = c.Request().SetContext(t.Context()).Get("other", nil); (err != nil) != tc.refused {
				t.Errorf("behind %s: %v", tc.path, err)
			}
		}
	})
}

func TestLateAnswersDoNotCount(t *testing.T) {
	h := []gallop.RequestHandler{
		text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute)),
		text(200, "", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: "+epoch(time.Minute)), // asked before
		text(200, ""), // says nothing
		text(200, "", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: "+epoch(2*time.Minute)),
	}
	eachScript(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for i := range 4 {
			if _, err := c.Request().SetContext(rest.IgnoreRate(t.Context())).Get("a", nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Request().Get("http://api.test/a", nil); (err != nil) != (i < 3) {
				t.Fatal(i, err)
			}
		}
	})
}

// Nor do they end a pause that another has asked for.
func TestLateAnswersDoNotEndAPause(t *testing.T) {
	asks := func(after string) gallop.RequestHandler { return text(429, "", "Retry-After: "+after) }
	eachScript(t, []gallop.RequestHandler{asks("60"), asks("1"), asks("0"), text(200, "")}, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for range 3 {
			_, err := c.Request().SetContext(rest.IgnoreRate(t.Context())).Get("a", nil)
			as[*rest.RateLimitError](t, err)
		}
		for _, works := range []bool{false, true} {
			if _, err := c.Request().SetContext(t.Context()).Get("a", nil); (err == nil) != works {
				t.Errorf("works %v: %v", works, err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// Of windows that are as short as clocks differ each counts anew when the one before is over.
func TestShortWindows(t *testing.T) {
	const most = 5
	var window time.Time
	left := 0
	h := func(ctx *gallop.RequestCtx) {
		if now := time.Now().Truncate(time.Second); !now.Equal(window) {
			window, left = now, most
		}
		left--
		answer(ctx, 200, "", fmt.Sprint("X-RateLimit-Remaining: ", left), fmt.Sprint("X-RateLimit-Reset: ", window.Unix()+1))
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		window = time.Time{}
		c := a.client(over, rest.WithRateLimit(rest.RateLimit{Wait: true}))
		begun := time.Now()
		for range 10 * most {
			if _, err := c.Request().SetContext(t.Context()).Get("a", nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took > 20*time.Second { // a window, and a second for clocks
			t.Errorf("10 windows take %v", took)
		}
	})
}

func TestWaitForRate(t *testing.T) {
	used := text(403, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute))
	again := text(403, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Hour))
	ok := text(200, "")
	for _, tc := range []struct {
		name    string
		script  []gallop.RequestHandler
		before  bool // whether a call that does not wait comes before
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		waited  time.Duration
		calls   int32
		limited bool
		err     error
	}{
		{"then it works", []gallop.RequestHandler{used, ok}, false, nil, 61 * time.Second, 2, false, nil},
		{"once only", []gallop.RequestHandler{used, again, ok}, false, nil, 61 * time.Second, 2, true, nil},
		{"limited already", []gallop.RequestHandler{used, ok}, true, nil, 61 * time.Second, 2, false, nil},
		{"cancelled meanwhile", []gallop.RequestHandler{used, ok}, false, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, time.Second, 1, true, context.Canceled},
		{"cancelled before, limited already", []gallop.RequestHandler{used, ok}, true, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, 0, 1, true, context.Canceled},
		{"no time for it", []gallop.RequestHandler{used, ok}, true, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Second)
		}, 0, 1, true, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachScript(t, tc.script, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over)
				if tc.before {
					c.Request().Get("a", nil)
				}
				ctx := rest.WaitForRate(t.Context())
				if tc.ctx != nil {
					var cancel context.CancelFunc
					ctx, cancel = tc.ctx(ctx)
					defer cancel()
				}
				begun := time.Now()
				_, err := c.Request().SetContext(ctx).SetBody(gopher{"replayed"}).Post("a", nil)
				var limited *rest.RateLimitError
				if errors.As(err, &limited) != tc.limited || tc.err != nil && !errors.Is(err, tc.err) {
					t.Error(err)
				}
				if d := time.Since(begun); d != tc.waited || a.calls.Load() != tc.calls {
					t.Errorf("waited %v, want %v; %d requests, want %d", d, tc.waited, a.calls.Load(), tc.calls)
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	bad, ok := text(503, ""), echo
	asks := func(after string) gallop.RequestHandler { return text(503, "", "Retry-After: "+after) }
	abort := func(*gallop.RequestCtx) { panic(gallop.ErrAbortHandler) }
	once := rest.SetHeader("Idempotency-Key", "k")
	for _, tc := range []struct {
		name    string
		method  string
		options []rest.RequestOption
		script  []gallop.RequestHandler
		calls   int32
		works   bool
		least   time.Duration
		most    time.Duration
	}{
		{"twice", "GET", nil, []gallop.RequestHandler{bad, bad, ok}, 3, true, 300 * time.Millisecond, 600 * time.Millisecond},
		{"not three times", "GET", nil, []gallop.RequestHandler{bad, bad, bad, ok}, 3, false, 300 * time.Millisecond, 600 * time.Millisecond},
		{"with its body", "PUT", nil, []gallop.RequestHandler{bad, ok}, 2, true, 100 * time.Millisecond, 200 * time.Millisecond},
		{"not what does harm", "POST", nil, []gallop.RequestHandler{bad, ok}, 1, false, 0, 0},
		{"what has a key", "POST", []rest.RequestOption{once}, []gallop.RequestHandler{bad, ok}, 2, true, 100 * time.Millisecond, 200 * time.Millisecond},
		{"not 500", "GET", nil, []gallop.RequestHandler{text(500, ""), ok}, 1, false, 0, 0},
		{"when it was asked to", "GET", nil, []gallop.RequestHandler{asks("7"), ok}, 2, true, 7 * time.Second, 7 * time.Second},
		{"not in an hour", "GET", nil, []gallop.RequestHandler{asks("3600"), ok}, 1, false, 0, 0},
		{"not what arrived", "POST", nil, []gallop.RequestHandler{abort, ok}, 1, false, 0, 0},
		{"what broke off", "PUT", []rest.RequestOption{}, []gallop.RequestHandler{abort, ok}, 2, true, 0, 200 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachScript(t, tc.script, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over)
				var body any
				if tc.method != "GET" {
					body = gopher{"x"}
				}
				begun := time.Now()
				var b strings.Builder
				_, err := c.Do(newRequest(t, c, tc.method, "a", body, tc.options...), &b)
				if (err == nil) != tc.works || a.calls.Load() != tc.calls {
					t.Errorf("%v, %d requests", err, a.calls.Load())
				}
				if tc.works && body != nil && !strings.HasSuffix(b.String(), `{"login":"x"}`) {
					t.Errorf("the body does not arrive: %q", b.String())
				}
				if d := time.Since(begun); d < tc.least || d > tc.most {
					t.Errorf("took %v", d)
				}
			})
		})
	}
}

// Whatever is the reason that there is no token, If is asked about it, and there is no response.
func TestRetryIfWithoutToken(t *testing.T) {
	eachTransport(t, text(400, `{"error":"invalid_client"}`), func(t *testing.T, a *api, over rest.Option) {
		issuer := a.client(over)
		for name, source := range map[string]func(context.Context) (rest.Token, error){
			"refused": func(ctx context.Context) (rest.Token, error) {
				return rest.Post[rest.Token](ctx, issuer, "token", "x")
			},
			"network":   func(context.Context) (rest.Token, error) { return rest.Token{}, &rest.RequestError{Err: errFull} },
			"otherwise": func(context.Context) (rest.Token, error) { return rest.Token{}, errFull },
			"empty":     func(context.Context) (rest.Token, error) { return rest.Token{}, nil },
		} {
			asked := 0
			c := a.client(over, rest.WithRetry(rest.Retry{Max: 2, If: func(at rest.Attempt) bool {
				asked++
				if at.Response != nil || as[*rest.AuthError](t, at.Err) == nil {
					t.Errorf("%s: %v, %v", name, at.Response, at.Err)
				}
				return asked == 1
			}}), rest.WithAuth(rest.Tokens(source)))
			if err := get(t.Context(), c); err == nil || asked != 2 {
				t.Error(name, asked, err)
			}
		}
	})
}

// A request that was not sent for lack of a token has had no effect, and may be sent when there is a token.
func TestRetryWithoutToken(t *testing.T) {
	eachTransport(t, text(200, ""), func(t *testing.T, a *api, over rest.Option) {
		for name, why := range map[string]error{
			"busy": &rest.APIError{StatusCode: 503}, "network": &rest.RequestError{Err: errFull},
		} {
			asked := 0
			before := a.calls.Load()
			c := a.client(over, rest.WithAuth(rest.Tokens(func(context.Context) (rest.Token, error) {
				if asked++; asked < 3 {
					return rest.Token{}, why
				}
				return rest.Token{Value: "t"}, nil
			})))
			if _, err := c.Request().SetContext(t.Context()).SetBody([]byte("x")).Post("a", nil); err != nil || a.calls.Load() != before+1 {
				t.Error(name, err, asked)
			}
		}
	})
}

// A POST that took effect is not sent again if its response is elsewhere and not available.
func TestRedirectedPostIsNotSentAgain(t *testing.T) {
	down := &net.OpError{Op: "dial", Err: errors.New("down")}
	for _, tc := range []struct {
		name   string
		status int // of the redirect
		end    func() (*http.Response, error)
		calls  int // to where the call begins
	}{
		{"303, to nobody", 303, func() (*http.Response, error) { return nil, down }, 1},
		{"302, to nobody", 302, func() (*http.Response, error) { return nil, down }, 1},
		{"307, to nobody", 307, func() (*http.Response, error) { return nil, down }, 3}, // nobody has done anything
		{"303, to one who is busy", 303, func() (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: http.NoBody}, nil
		}, 1},
		{"307, to one who is busy", 307, func() (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: http.NoBody}, nil
		}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c, err := rest.New("http://api.test/", rest.WithRateLimit(rest.RateLimit{Wait: true}), rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Host != "api.test" {
						return tc.end()
					}
					calls++
					return &http.Response{StatusCode: tc.status, Header: http.Header{"Location": {"http://other.test/"}}, Body: http.NoBody}, nil
				})))
				if err != nil {
					t.Fatal(err)
				}
				if _, err = c.Request().SetContext(t.Context()).SetBody([]byte("x")).Post("a", nil); err == nil || calls != tc.calls {
					t.Errorf("%d calls, %v", calls, err)
				}
			})
		})
	}
}

func TestSpentBodiesAreNotSentAgain(t *testing.T) {
	eachTransport(t, text(503, ""), func(t *testing.T, a *api, over rest.Option) {
		_, err := a.client(over).Request().SetBodyReader(onceReader{strings.NewReader("x")}, 1).Put("a", nil)
		if as[*rest.APIError](t, err); a.calls.Load() != 1 {
			t.Error(a.calls.Load())
		}
	})
}

// Nor by another call: half a body, or none, would look whole.
func TestSpentBodiesAreNotSentByTheNextCall(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for name, r := range map[string]*rest.Request{
			"reader": c.Request().SetBody(onceReader{strings.NewReader("x")}),
			"sized":  c.Request().SetBodyReader(onceReader{strings.NewReader("x")}, 1),
			"file":   c.Request().AddFile("f", "n", onceReader{strings.NewReader("x")}),
		} {
			r.SetContext(t.Context()).SetTarget("POST", "a")
			if _, err := c.Do(r, nil); err != nil {
				t.Error(name, err)
			}
			_, err := c.Do(r, nil)
			as[*rest.EncodeError](t, err)
			if got := said(t, c, r.SetBody([]byte("other"))); !strings.HasSuffix(got, "\n\nother") {
				t.Errorf("%s: %q", name, got)
			}
		}
		if n := a.calls.Load(); n != 6 {
			t.Errorf("%d requests", n)
		}
		_, err := c.Request().SetContext(t.Context()).SetBodyReader(nil, 5).Post("a", nil)
		as[*rest.EncodeError](t, err)
	})
}

func TestRetryIf(t *testing.T) {
	eachScript(t, []gallop.RequestHandler{text(500, ""), text(500, ""), text(200, "")}, func(t *testing.T, a *api, over rest.Option) {
		asked := 0
		c := a.client(over, rest.WithRetry(rest.Retry{Max: 1, If: func(at rest.Attempt) bool {
			asked++
			return at.Response.StatusCode == 500 && at.Err == nil
		}}))
		_, err := c.Request().Post("a", nil)
		if as[*rest.APIError](t, err); asked != 1 || a.calls.Load() != 2 {
			t.Error(asked, a.calls.Load())
		}
	})
}

package rest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// cacheStep is a request, some time after the one before.
type cacheStep struct {
	after   time.Duration
	method  string // GET if it is ""
	path    string
	header  string // "Name: value", or ""
	want    string // the body: the number of the request that the server answered it with
	cached  bool   // whether it comes out of the cache, perhaps after asking
	reaches bool   // whether the server is asked
}

func TestCache(t *testing.T) {
	hit := func(after time.Duration, want string) cacheStep {
		return cacheStep{after: after, path: "a", want: want, cached: true}
	}
	miss := func(after time.Duration, want string) cacheStep {
		return cacheStep{after: after, path: "a", want: want, reaches: true}
	}
	revalidated := func(after time.Duration, want string) cacheStep {
		return cacheStep{after: after, path: "a", want: want, cached: true, reaches: true}
	}
	with := func(s cacheStep, header string) cacheStep {
		s.header = header
		return s
	}
	for _, tc := range []struct {
		name   string
		fields []string // of the responses
		steps  []cacheStep
	}{
		{"fresh", []string{"Cache-Control: max-age=60"}, []cacheStep{miss(0, "1"), hit(59*time.Second, "1"), miss(time.Second, "2")}},
		{"fresh for us alone", []string{"Cache-Control: private, s-maxage=1, max-age=60"}, []cacheStep{miss(0, "1"), hit(59*time.Second, "1")}},
		{"old already", []string{"Cache-Control: max-age=60", "Age: 50"}, []cacheStep{miss(0, "1"), hit(9*time.Second, "1"), miss(time.Second, "2")}},
		{"Expires", []string{"Expires: " + begin.Add(time.Minute).Format(http.TimeFormat)}, []cacheStep{miss(0, "1"), hit(59*time.Second, "1"), miss(2*time.Second, "2")}},
		{"Expires is no date", []string{"Expires: 0"}, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{"nothing said", nil, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{"malformed", []string{"Cache-Control: max-age=x", "Expires: " + begin.Add(time.Minute).Format(http.TimeFormat)}, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{
			"stale, which will do", []string{"Cache-Control: max-age=60", `ETag: "x"`},
			[]cacheStep{
				miss(0, "1"), with(hit(70*time.Second, "1"), "Cache-Control: max-stale"), with(hit(0, "1"), "Cache-Control: max-stale=10"),
				with(revalidated(time.Second, "1"), "Cache-Control: max-stale=10"), with(revalidated(70*time.Second, "1"), "Cache-Control: max-stale=x"),
				with(revalidated(70*time.Second, "1"), "Cache-Control: max-stale, min-fresh=1"),
			},
		},
		{
			"stale, which must not do", []string{"Cache-Control: max-age=60, must-revalidate", `ETag: "x"`},
			[]cacheStep{miss(0, "1"), with(hit(50*time.Second, "1"), "Cache-Control: max-stale"), with(revalidated(10*time.Second, "1"), "Cache-Control: max-stale")},
		},
		{"no-store", []string{"Cache-Control: no-store, max-age=60", `ETag: "x"`}, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{"no-cache", []string{"Cache-Control: no-cache, max-age=60", `ETag: "x"`}, []cacheStep{miss(0, "1"), revalidated(0, "1")}},
		{"validated", []string{`ETag: "x"`}, []cacheStep{miss(0, "1"), revalidated(0, "1"), revalidated(time.Hour, "1")}},
		{"validated by date", []string{"Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"}, []cacheStep{miss(0, "1"), revalidated(0, "1")}},
		{
			"validated and fresh again", []string{"Cache-Control: max-age=60", `ETag: "x"`},
			[]cacheStep{miss(0, "1"), revalidated(61*time.Second, "1"), hit(59*time.Second, "1")},
		},
		{"changed", []string{`ETag: "changing"`}, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{
			"for whom", []string{"Cache-Control: max-age=60"},
			[]cacheStep{
				with(miss(0, "1"), "Authorization: Own a"), with(miss(0, "2"), "Authorization: Own b"), with(hit(0, "1"), "Authorization: Own a"),
				with(miss(0, "3"), "X-Some-Key: k"), miss(0, "4"), with(hit(0, "3"), "x-some-key: k"),
			},
		},
		{
			"varies", []string{"Cache-Control: max-age=60", "Vary: accept-language"},
			[]cacheStep{with(miss(0, "1"), "Accept-Language: de"), with(miss(0, "2"), "Accept-Language: en"), with(hit(0, "1"), "Accept-Language: de"), miss(0, "3")},
		},
		{"varies by anything", []string{"Cache-Control: max-age=60", "Vary: *"}, []cacheStep{miss(0, "1"), miss(0, "2")}},
		{
			"what the request says", []string{"Cache-Control: max-age=60"},
			[]cacheStep{
				miss(0, "1"), with(miss(0, "2"), "Cache-Control: no-cache"), with(miss(0, "3"), "Cache-Control: no-store"), hit(10*time.Second, "2"),
				with(hit(0, "2"), "Cache-Control: max-age=10"), with(miss(time.Second, "4"), "Cache-Control: max-age=10"),
				with(miss(0, "5"), "Cache-Control: min-fresh=60"), with(miss(0, "6"), "Range: bytes=0-"),
			},
		},
		{
			"changed by us", []string{"Cache-Control: max-age=60"},
			[]cacheStep{
				miss(0, "1"), {method: "POST", path: "a", want: "2", reaches: true}, miss(0, "3"),
				{method: "PUT", path: "b?where=/v1/a", want: "4", reaches: true}, miss(0, "5"), {method: "OPTIONS", path: "a", want: "6", reaches: true}, hit(0, "5"),
				{method: "PUT", path: "b?where=HTTP://API.test:80/v1/a%23part", want: "7", reaches: true}, miss(0, "8"),
				{method: "PUT", path: "b?where=http://other.test/v1/a", want: "9", reaches: true}, hit(0, "8"),
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			h := func(ctx *gallop.RequestCtx) {
				n++
				for _, f := range tc.fields {
					name, value, _ := strings.Cut(f, ": ")
					if value == `"changing"` {
						value = fmt.Sprintf(`"%d"`, n)
					}
					ctx.Response.Header.Set(name, value)
				}
				asked := ctx.Request.Header.Peek("If-None-Match")
				if bytes.Equal(asked, []byte(`"x"`)) || asked == nil && len(ctx.Request.Header.Peek("If-Modified-Since")) > 0 {
					ctx.SetStatusCode(304)
					return
				}
				ctx.Response.Header.SetBytesV("Location", ctx.QueryArgs().Peek("where"))
				fmt.Fprint(ctx, n)
			}
			eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
				n = 0
				c := a.client(over, rest.WithCache(1<<20))
				for i, step := range tc.steps {
					time.Sleep(step.after)
					before := a.calls.Load()
					r := c.Request().SetContext(t.Context())
					if name, value, ok := strings.Cut(step.header, ": "); ok {
						r.SetHeader(name, value)
					}
					var b strings.Builder
					if step.method == "" {
						step.method = "GET"
					}
					resp, err := r.Send(step.method, step.path, &b)
					if err != nil {
						t.Fatal(i, err)
					}
					if b.String() != step.want || resp.FromCache != step.cached || (a.calls.Load() > before) != step.reaches {
						t.Errorf("step %d: got %s, cached %v, %d requests; want %+v", i, b.String(), resp.FromCache, a.calls.Load()-before, step)
					}
				}
			})
		})
	}
}

func TestCacheIsBounded(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		answer(ctx, 200, `"`+strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("n"))+`"`, "Cache-Control: max-age=60")
	})
	c := a.client(rest.WithCache(64 << 10))
	cached := func(path string) bool {
		resp, err := c.Request().Get(path, new(string))
		if err != nil {
			t.Fatal(err)
		}
		return resp.FromCache
	}
	for i := range 8 {
		cached(fmt.Sprint("a?n=10000&i=", i))
	}
	if cached("a?n=10000&i=0") || !cached("a?n=10000&i=7") {
		t.Error("not what was used last is there")
	}
	if cached("a?n=20000"); cached("a?n=20000") {
		t.Error("more than a quarter is kept")
	}
	// a body that was not read to its end is not kept
	resp, err := c.Open(newRequest(t, c, "GET", "a?n=5", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if cached("a?n=5") {
		t.Error("half an answer is kept")
	}
	if _, err := rest.New("http://api.test/", rest.WithCache(-1)); err == nil {
		t.Error("a negative size is accepted")
	}
	if _, err := c.Request().Get("a?n=1", failingWriter{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// A request with only-if-cached never goes to the server, not even on a retry (RFC 9111 §5.2.1.7).
func TestOnlyIfCached(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) { answer(ctx, 200, `"x"`, "Cache-Control: max-age=60") }
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithCache(1<<20), rest.WithRetry(rest.Retry{Max: 3}))
		get := func(path, control string) (resp *rest.Response, err error) {
			return c.Request().SetContext(t.Context()).SetHeader("Cache-Control", control).Get(path, new(string))
		}
		before := a.calls.Load()
		for _, control := range []string{"only-if-cached", "max-age=5, only-if-cached", "only-if-cached, no-store"} {
			resp, err := get("a", control)
			var api *rest.APIError
			if !errors.As(err, &api) || api.StatusCode != 504 || !resp.FromCache || a.calls.Load() != before {
				t.Errorf("%s: got %v, %d requests", control, err, a.calls.Load()-before)
			}
		}
		if _, err := get("a", ""); err != nil {
			t.Fatal(err)
		}
		if resp, err := get("a", "only-if-cached"); err != nil || !resp.FromCache || a.calls.Load() != before+1 {
			t.Errorf("got %v, %d requests", err, a.calls.Load()-before)
		}
	})
}

// A response in flight while another request changes the same resource may be older than the change. So it is not
// kept, whether the change is known to have happened or its response was lost.
func TestChangedMeanwhile(t *testing.T) {
	for _, lost := range []bool{false, true} {
		asked, changed := make(chan struct{}), make(chan struct{})
		var gets atomic.Int32
		a := serve(t, func(ctx *gallop.RequestCtx) {
			if ctx.IsPost() {
				if lost {
					ctx.HijackSetNoResponse(true)
					ctx.Hijack(func(net.Conn) {})
				}
				return
			}
			n := gets.Add(1)
			if n == 1 {
				close(asked)
				<-changed
			}
			answer(ctx, 200, fmt.Sprint(n), "Cache-Control: max-age=60")
		})
		c := a.client(rest.WithCache(1<<20), rest.WithRetry(rest.Retry{}))
		var n int
		first := make(chan error)
		go func() {
			_, err := c.Request().Get("a", new(int))
			first <- err
		}()
		<-asked
		if _, err := c.Request().Post("a", nil); (err != nil) != lost {
			t.Fatal(err)
		}
		close(changed)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is kept
			if _, err := c.Request().Get("a", &n); err != nil || n != 2 {
				t.Errorf("lost %v: got %d, %v", lost, n, err)
			}
		}
	}
}

package rest_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// parts answers with the parts of a form, and how it came.
func parts(ctx *gallop.RequestCtx) {
	form, err := ctx.MultipartForm()
	if err != nil {
		answer(ctx, 400, err.Error())
		return
	}
	fmt.Fprintf(ctx, "length %t\n", ctx.Request.Header.ContentLength() >= 0)
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(ctx, "%s=%q\n", name, form.Value[name])
	}
	for _, name := range []string{"one", "two", `th"ree`} {
		for _, head := range form.File[name] {
			f, err := head.Open()
			if err != nil {
				answer(ctx, 500, err.Error())
				return
			}
			content, _ := io.ReadAll(f)
			f.Close()
			fmt.Fprintf(ctx, "%s: %s %s %d bytes %.5s\n", name, head.Filename, head.Header.Get("Content-Type"), len(content), content)
		}
	}
}

func TestFiles(t *testing.T) {
	name := fileWith(t, "--from a file")
	script := []gallop.RequestHandler{text(503, ""), parts}
	eachScript(t, script, func(t *testing.T, a *api, over rest.Option) {
		open, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		if _, err := open.Seek(2, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		r := a.client(over).Request().SetForm("a", "1").AddForm("a", "ü\r\n").AddFile("one", "report.json", open).
			AddFile("one", "c:\\x\".bin", strings.NewReader("second")).AddFileAs("two", "large", "text/x-own", strings.NewReader(strings.Repeat("large", 100_000)))
		want := "length true\n" + `a=["1" "ü\r\n"]` + "\nb=[]\none: report.json application/json 11 bytes from \n" +
			"one: c:\\x%22.bin application/octet-stream 6 bytes secon\ntwo: large text/x-own 500000 bytes large\n"
		for range 2 { // after a 503 and once more
			var b strings.Builder
			if _, err := r.Put("upload", &b); err != nil || b.String() != want {
				t.Errorf("got %s, %v\nwant %s", b.String(), err, want)
			}
		}
		if at, err := open.Seek(0, io.SeekCurrent); at != 2 || err != nil {
			t.Error("the file was read where it is", at, err)
		}
	})
	eachScript(t, []gallop.RequestHandler{parts, text(503, "")}, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		send := func() (string, error) {
			var b strings.Builder
			_, err := c.Request().AddFile(`th"ree`, "", onceReader{strings.NewReader("stream")}).Put("upload", &b)
			return b.String(), err
		}
		if got, err := send(); err != nil || !strings.HasPrefix(got, "length false\n") {
			t.Error(got, err)
		}
		if _, err := send(); as[*rest.APIError](t, err).StatusCode != 503 || a.calls.Load() != 2 {
			t.Error("what can be read once is sent again", err, a.calls.Load())
		}
	})
	behind := opened(t, "short")
	if _, err := behind.Seek(100, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for name, r := range map[string]*rest.Request{
			"behind its end": c.Request().SetBody(behind), "of a negative size": c.Request().SetBodyReader(onceReader{strings.NewReader("")}, -2),
		} {
			if got := said(t, c, r.SetTarget("PUT", "a")); !strings.HasSuffix(got, "\n\n") {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
	a := serve(t, parts)
	closed := opened(t, "")
	closed.Close()
	for name, r := range map[string]*rest.Request{
		"no reader": a.client().Request().AddFile("f", "n", nil), "closed": a.client().Request().AddFile("f", "n", closed),
		"media type": a.client().Request().AddFileAs("f", "n", "a/b\r\nX: y", strings.NewReader("")),
	} {
		if _, err := r.Post("a", nil); err == nil || a.calls.Load() != 0 {
			t.Error(name, err)
		}
	}
}

// Names are escaped in one way, that of browsers, whether they are of fields or of files, and end no line.
func TestPartNames(t *testing.T) {
	a := serve(t, echo)
	c := a.client()
	for _, name := range []string{"a\"b", `a\b`, "a\r\nContent-Type: x"} {
		got := said(t, c, c.Request().SetForm(name, "v").AddFile(name, "", strings.NewReader("v")).SetTarget("POST", "a"))
		if n := strings.Count(got, `form-data; name="`+strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name)+`"`); n != 2 {
			t.Errorf("%q: %d times in %q", name, n, got)
		}
	}
}

// A transport may ask for the body again, if there is a way to have it.
func TestGetBody(t *testing.T) {
	file := opened(t, "content")
	for _, tc := range []struct {
		name  string
		body  any
		again bool
	}{
		{"a file", file, true},
		{"bytes", []byte("content"), true},
		{"a value", "content", true},
		{"a buffer", bytes.NewBufferString("content"), false},
		{"no io.ReaderAt", struct{ io.ReadSeeker }{strings.NewReader("content")}, false},
	} {
		asked := false
		c, err := rest.New("http://api.test/", rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			asked = r.GetBody != nil
			for range 2 {
				body := r.Body
				if asked {
					body, _ = r.GetBody()
				}
				got, err := io.ReadAll(body)
				body.Close()
				if !strings.Contains(string(got), "content") || err != nil {
					t.Errorf("%s: %q, %v", tc.name, got, err)
				}
				if !asked {
					break
				}
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Request().SetBody(tc.body).Put("a", nil); err != nil || asked != tc.again {
			t.Errorf("%s: %v, GetBody %v", tc.name, err, asked)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestFromStructs(t *testing.T) {
	type Paging struct {
		Page  int  `url:"page,omitempty"`
		Limit *int `url:"limit"`
	}
	five := 5
	type options struct {
		Paging
		*url.Error
		Text    string            `url:"t"`
		Empty   string            `url:"e,omitempty"`
		Labels  []string          `url:"labels,comma"`
		Many    []int             `url:"many"`
		None    []int             `url:"none,comma,omitempty"`
		Yes     bool              `url:"yes"`
		Half    float32           `url:"half"`
		Complex complex64         `url:"c"`
		Since   time.Time         `url:"since,omitempty"`
		At      *time.Time        `url:"at,unix"`
		Addr    netip.Addr        `url:"addr"`
		Any     any               `url:"any"`
		Big     *big.Int          `url:"big"`
		Bigs    []*big.Int        `url:"bigs,comma"`
		Left    int               `url:"-"`
		List    *[]string         `url:"list,comma"`
		Times   *[]time.Time      `url:"times,unix"`
		Map     map[string]string // no tag
		own     int               `url:"own"`
	}
	for _, tc := range []struct {
		v    any
		want string
	}{
		{nil, ""},
		{(*options)(nil), ""},
		{Paging{}, ""},
		{&Paging{2, &five}, "page=2&limit=5"},
		{struct { // what came through JSON in a zone of its own, and nothing in a list
			Since time.Time `url:"since,omitempty"`
			List  *[]string `url:"list"`
		}{time.Time{}.In(time.FixedZone("", 3600)), &[]string{}}, ""},
		{
			options{
				Paging: Paging{Page: 3}, Text: "a b", Labels: []string{"x", "y"}, Many: []int{1, 2}, Yes: true, Half: 0.5, Complex: 1, Since: begin, At: &begin,
				Addr: netip.MustParseAddr("::1"), Any: uint8(7), Big: big.NewInt(8), Bigs: []*big.Int{big.NewInt(9), nil, big.NewInt(10)}, own: 1,
				List: &[]string{"a", "b"}, Times: &[]time.Time{begin, begin},
			},
			"page=3&t=a+b&labels=x%2Cy&many=1&many=2&yes=true&half=0.5&c=%281%2B0i%29&since=2000-01-01T00%3A00%3A00Z&at=946684800&addr=%3A%3A1&any=7&big=8&bigs=9%2C10&list=a%2Cb&times=946684800&times=946684800",
		},
	} {
		a := serve(t, echo)
		c := a.client()
		got := said(t, c, c.Request().SetQuery("page", "9").SetQueryFrom(tc.v).SetTarget("GET", "a"))
		line, _, _ := strings.Cut(got, "\n")
		want := tc.want
		if !strings.Contains(want, "page=") {
			want = strings.Trim("page=9&"+want, "&")
		}
		if line != "GET /v1/a?"+want {
			t.Errorf("%+v: got  %s\nwant %s", tc.v, line, want)
		}
	}
	a := serve(t, echo)
	c := a.client()
	got := said(t, c, c.Request().SetPathValuesFrom(struct {
		Owner string `path:"owner"`
		N     int    `path:"n"`
	}{"a/b", 7}).SetFormFrom(struct {
		L []string `form:"l"`
	}{[]string{"1", "2"}}).SetCookiesFrom(struct {
		C bool `cookie:"c"`
	}{true}).SetTarget("POST", "{owner}/{n}"))
	for _, want := range []string{"POST /v1/a%2Fb/7\n", "\n\nl=1&l=2", "Cookie: c=true\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, v := range []any{7, struct {
		F func() `url:"f"`
	}{func() {}}, struct {
		M map[string]int `url:"m"`
	}{map[string]int{}}, struct {
		T time.Time `url:"t"`
	}{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		_, err := c.Request().SetQueryFrom(v).Get("a", nil)
		as[*rest.EncodeError](t, err)
	}
}

// The table says which values a client adds to all requests, and which of them requests replace. It follows fiber's
// tables, except that no name is sent twice.
func TestDefaults(t *testing.T) {
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithQuery("key", "k"), rest.WithQuery("v", "1"), rest.WithQuery("v", "2"), rest.WithCookie("c", "1"), rest.WithCookie("d", "2"),
			rest.WithHeader("Referer", "http://from.test/"), rest.WithHeader("X-L", "1"), rest.WithHeader("X-L", "2"), rest.WithUserAgent("own/1"),
			rest.WithPathValue("tenant", "a/b"))
		for _, tc := range []struct {
			name string
			r    *rest.Request
			want []string
			not  []string
		}{
			{"all", c.Request().SetTarget("GET", "t/{tenant}"), []string{
				"GET /v1/t/a%2Fb?key=k&v=1&v=2\n", "Cookie: c=1; d=2\n", "Referer: http://from.test/\n", "X-L: 1\nX-L: 2\n", "User-Agent: own/1\n",
			}, nil},
			{
				"replaced", c.Request().SetPathValue("tenant", "own").SetQuery("v", "3").SetCookie("c", "4").AddHeader("x-l", "5").SetHeader("Referer", "").SetHeader("User-Agent", "me").SetTarget("GET", "t/{tenant}?key=mine"),
				[]string{"GET /v1/t/own?key=mine&v=3\n", "Cookie: c=4; d=2\n", "5\n", ": me\n"},
				[]string{"X-L: 1", "X-L: 2", "http://from.test/", "own/1"},
			},
			{"not used", c.Request().SetTarget("GET", "t"), []string{"GET /v1/t?key=k&v=1&v=2\n"}, nil},
			{"elsewhere", c.Request().SetTarget("GET", "http://other.test/{tenant}"), []string{"GET /a%2Fb\n", "User-Agent: own/1\n"}, []string{"key=k", "Cookie", "X-L", "Referer"}},
		} {
			got := said(t, c, tc.r)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s: no %q in %q", tc.name, want, got)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(got, not) {
					t.Errorf("%s: %q in %q", tc.name, not, got)
				}
			}
		}
		// the next page says all that the client adds
		n := 0
		for _, err := range rest.PagesByLink[int](t.Context(), c, "http://api.test/{tenant}?v=9") {
			if n++; err == nil || !strings.Contains(err.Error(), "/a%2Fb?v=9&key=REDACTED:") {
				t.Error(err)
			}
		}
		if n != 1 {
			t.Error(n)
		}
	})
	for name, option := range map[string]rest.Option{
		"cookie": rest.WithCookie("a", "b;c"), "before": rest.WithRequestHook(nil), "after": rest.WithResponseHook(nil),
	} {
		if _, err := rest.New("http://api.test/", option); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A hook sees each call once, and can refuse it, as go-github does versions of its API.
func TestHooks(t *testing.T) {
	errVersion := errors.New("unsupported version")
	eachScript(t, []gallop.RequestHandler{text(503, ""), text(302, "", "Location: b"), echo}, func(t *testing.T, a *api, over rest.Option) {
		var seen []string
		c := a.client(over, rest.WithRequestHook(func(_ context.Context, r *rest.Request) error {
			if v := r.Header("X-Version"); v != "" && (v < "2022-11-28" || v > "2026-03-10") {
				return errVersion
			}
			method, path := r.Target()
			seen = append(seen, "1 "+method+" "+path)
			r.SetHeader("X-Trace", "7").SetQuery("h", "1")
			return nil
		}), rest.WithRequestHook(func(_ context.Context, r *rest.Request) error {
			seen = append(seen, "2 "+r.Header("x-trace"))
			return nil
		}), rest.WithResponseHook(func(r *rest.Request, resp *rest.Response, err error) {
			seen = append(seen, fmt.Sprintf("3 %v %v", resp != nil, err != nil))
		}))
		got := said(t, c, c.Request().SetTarget("PUT", "a"))
		if !strings.HasPrefix(got, "PUT /v1/b\n") || !strings.Contains(got, "X-Trace: 7\n") || strings.Join(seen, ", ") != "1 PUT a, 2 7, 3 true false" {
			t.Errorf("%q %q", got, seen)
		}
		calls := a.calls.Load()
		for version, want := range map[string]error{"2022-11-28": nil, "2022-11-27": errVersion, "2026-03-11": errVersion, "": nil} {
			seen = nil
			if _, err := c.Request().SetHeader("X-Version", version).Get("a", nil); !errors.Is(err, want) {
				t.Errorf("%q: %v", version, err)
			}
			if want != nil && seen[0] != "3 false true" {
				t.Error(seen)
			}
		}
		if n := a.calls.Load() - calls; n != 2 {
			t.Errorf("%d requests, of which two were to be refused", n)
		}
	})
}

func TestRequestLimits(t *testing.T) {
	slow := func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/v1/loop" {
			answer(ctx, 302, "", "Location: loop")
			return
		}
		time.Sleep(10 * time.Second)
	}
	eachTransport(t, slow, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithTimeout(time.Second), rest.WithRedirects(5))
		for _, tc := range []struct {
			set   time.Duration
			works bool
			takes time.Duration
		}{{0, false, time.Second}, {2 * time.Second, false, 2 * time.Second}, {time.Minute, true, 10 * time.Second}, {-1, true, 10 * time.Second}} {
			begun := time.Now()
			_, err := c.Request().SetTimeout(tc.set).Get("a", nil)
			if (err == nil) != tc.works || time.Since(begun) != tc.takes || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: %v after %v", tc.set, err, time.Since(begun))
			}
		}
		for most, want := range map[int]int32{-1: 1, 0: 1, 1: 2, 7: 8} {
			before := a.calls.Load()
			_, err := c.Request().SetRedirects(most).Get("loop", nil)
			if as[*rest.RedirectError](t, err); a.calls.Load()-before != want {
				t.Errorf("%d: %d requests", most, a.calls.Load()-before)
			}
		}
		c.CloseIdleConnections()
		synctest.Wait()
		before := a.dials.Load()
		if _, err := c.Request().SetRedirects(0).Get("loop", nil); err == nil || a.dials.Load() != before+1 {
			t.Error("idle connections are open", err)
		}
	})
}

func TestResponseFields(t *testing.T) {
	at := time.Date(2021, 9, 3, 2, 34, 4, 0, time.UTC)
	eachTransport(t, text(200, "", "A: 2021-09-03 02:34:04 UTC", "B: 2021-09-03 04:34:04 +0200", "C: Fri, 03 Sep 2021 02:34:04 GMT", "D: 2021-09-03T02:34:04Z",
		"E: tomorrow", "Set-Cookie: a=b; Path=/; HttpOnly", "Set-Cookie: ", "Set-Cookie: c=d", "X-RateLimit-Remaining: 7", "X-RateLimit-Limit: 9"), func(t *testing.T, a *api, over rest.Option) {
		resp, err := a.client(over).Request().Get("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "B", "C", "D"} {
			if got, ok := resp.Time(name); !ok || !got.Equal(at) {
				t.Errorf("%s: %v, %v", name, got, ok)
			}
		}
		for _, name := range []string{"E", "F"} {
			if got, ok := resp.Time(name); ok || !got.IsZero() {
				t.Errorf("%s: %v", name, got)
			}
		}
		var cookies []string
		for _, c := range resp.Cookies() {
			cookies = append(cookies, c.Name+"="+c.Value)
		}
		if strings.Join(cookies, " ") != "a=b c=d" {
			t.Error(cookies)
		}
		if rate := resp.Rate(); rate.Remaining != 7 || rate.Limit != 9 || !rate.Known() {
			t.Error(rate)
		}
	})
}

func TestClone(t *testing.T) {
	used := text(200, "", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60")
	eachScript(t, []gallop.RequestHandler{used, used, echo}, func(t *testing.T, a *api, over rest.Option) {
		first := a.client(over, rest.WithHeader("X-One", "1"), rest.WithAuth(rest.Bearer("one")))
		if _, err := first.Request().Get("a", nil); err != nil {
			t.Fatal(err)
		}
		same, err := first.Clone(rest.WithUserAgent("same"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = same.Request().Get("a", nil)
		if e := as[*rest.RateLimitError](t, err); e.Sent {
			t.Error("what the first knows is not known", err)
		}
		other, err := same.Clone(rest.WithAuth(rest.Bearer("two")), rest.WithUserAgent("other"), rest.WithHeader("X-Two", "2"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Request().Get("a", nil); err != nil {
			t.Error("the limit of one credential is that of another", err)
		}
		time.Sleep(2 * time.Minute)
		got := said(t, other, newRequest(t, other, "GET", "a", nil))
		for _, want := range []string{"X-One: 1\n", "X-Two: 2\n", "Authorization: Bearer two\n", "User-Agent: other\n"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is not there once: %q", want, got)
			}
		}
		if got := said(t, first, newRequest(t, first, "GET", "a", nil)); strings.Contains(got, "X-Two") || strings.Contains(got, "other") {
			t.Errorf("the first has changed: %q", got)
		}
		if _, err := first.Clone(rest.WithTimeout(-1)); err == nil {
			t.Error("a wrong option is accepted")
		}
		if n := a.dials.Load(); n > 2 { // one that has idled for two minutes may be dropped
			t.Errorf("%d connections", n)
		}
	})
}

// A codec may be for anything.
func TestCodecOfXML(t *testing.T) {
	eachTransport(t, func(ctx *gallop.RequestCtx) {
		if accept := string(ctx.Request.Header.Peek("Accept")); accept != "application/xml" {
			t.Error(accept)
		}
		ctx.Write(ctx.PostBody())
	}, func(t *testing.T, a *api, over rest.Option) {
		type point struct{ X, Y int }
		c := a.client(over, rest.WithCodec(xmlCodec{}))
		if got, err := rest.Post[point](t.Context(), c, "a", point{1, 2}); err != nil || got != (point{1, 2}) {
			t.Error(got, err)
		}
		_, err := c.Request().SetBody([]byte("<point><X>")).Post("a", new(point))
		as[*rest.DecodeError](t, err)
	})
}

type xmlCodec struct{}

func (xmlCodec) ContentType() string { return "application/xml" }

func (xmlCodec) Encode(w io.Writer, v any) error { return xml.NewEncoder(w).Encode(v) }

func (xmlCodec) Decode(data []byte, v any) error { return xml.Unmarshal(data, v) }

func (xmlCodec) DecodeFrom(r io.Reader, v any) error { return xml.NewDecoder(r).Decode(v) }

// The jar is gallop.Client's, and has what redirects set.
func TestCookieJar(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/v1/login" {
			answer(ctx, 302, "", "Set-Cookie: session=7; Path=/", "Location: home")
			return
		}
		echo(ctx)
	})
	g := a.gallop()
	g.Jar = &gallop.CookieJar{}
	c := a.client(rest.WithClient(g))
	for _, path := range []string{"login", "home"} {
		if got := said(t, c, newRequest(t, c, "GET", path, nil)); !strings.Contains(got, "Cookie: session=7\n") {
			t.Errorf("%s: %q", path, got)
		}
	}
}

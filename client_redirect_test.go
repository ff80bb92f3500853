package gallop

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hops answers requests with what is written for them, and keeps what was asked.
type hops struct {
	answers map[string]string // by URI: "status Location", or "200"
	asked   []string
}

func (h *hops) do(_ context.Context, req *Request, resp *Response) error {
	text := req.String() // which spends a stream, as sending does
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	uri := string(req.URI().FullURI())
	h.asked = append(h.asked, string(req.Header.Method())+" "+uri+" "+body)
	resp.Reset()
	var status int
	answer, ok := h.answers[uri]
	if !ok {
		return fmt.Errorf("unexpected request for %q:\n%s", uri, head)
	}
	code, location, _ := strings.Cut(answer, " ")
	fmt.Sscan(code, &status)
	resp.SetStatusCode(status)
	if location != "" {
		resp.Header.Set(HeaderLocation, location)
	}
	return nil
}

func (h *hops) follow(req *Request, resp *Response, rules redirectRules) error {
	return doRedirects(context.Background(), req, resp, rules, h.do)
}

// uriOf returns the URI of s, which has to be one.
func uriOf(t testing.TB, s string) *URI {
	t.Helper()
	u := new(URI)
	if err := u.Parse(nil, []byte(s)); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return u
}

// Where a Location leads from http://user:pass@a.test:8080/x/y?q#f.
func TestRedirectTarget(t *testing.T) {
	for _, tc := range []struct {
		name, location, want string
		err                  error
	}{
		{"absolute", "https://b.test/z?r", "https://b.test/z?r#f", nil},
		{"with a fragment of its own", "/z#g", "http://a.test:8080/z#g", nil},
		{"with an empty fragment", "/z#", "http://a.test:8080/z", nil},
		{"without a scheme", "//b.test/z", "http://b.test/z#f", nil},
		{"from the root", "/z", "http://a.test:8080/z#f", nil},
		{"relative", "z", "http://a.test:8080/x/z#f", nil},
		{"upwards", "../z", "http://a.test:8080/z#f", nil},
		{"beyond the top", "../../../z", "http://a.test:8080/z#f", nil},
		{"query alone", "?r", "http://a.test:8080/x/y?r#f", nil},
		{"fragment alone", "#g", "http://a.test:8080/x/y?q#g", nil},
		{"host alone", "http://b.test", "http://b.test/#f", nil},
		{"scheme in capitals", "HTTP://B.test/", "http://b.test/#f", nil},
		{"user information is left out", "http://u:p@b.test/", "http://b.test/#f", nil},
		{"blanks are escaped", "/a b", "http://a.test:8080/a%20b#f", nil},
		{"bytes above ASCII are escaped", "/\xc3\xa9?\xc3\xa9", "http://a.test:8080/%C3%A9?%C3%A9#f", nil},
		{"a backslash is no slash", `/\b.test/`, "http://a.test:8080/%5Cb.test/#f", nil},
		{"colon in a path", "./z:1", "http://a.test:8080/x/z:1#f", nil},
		{"colon in a query", "?a=b:c", "http://a.test:8080/x/y?a=b:c#f", nil},
		{"missing", "", "", ErrMissingLocation},
		{"script", "javascript:alert(1)", "", ErrInvalidLocation},
		{"another scheme", "ftp://b.test/", "", ErrInvalidLocation},
		{"a scheme that is a file", "file:///etc/passwd", "", ErrInvalidLocation},
		{"a scheme and a path", "http:/z", "", ErrInvalidLocation},
		{"an empty scheme", "://b.test/", "", ErrInvalidLocation},
		{"an empty host", "http:///z", "", ErrInvalidLocation},
		{"no host", "http://:80/", "", ErrInvalidLocation},
		{"a bad port", "http://b.test:x/", "", ErrInvalidLocation},
		{"a backslash in the host", `http://b.test\@c.test/`, "", ErrInvalidLocation},
		{"a tab", "/a\tb", "", ErrInvalidLocation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h ResponseHeader
			var next URI
			h.Set(HeaderLocation, tc.location)
			err := redirectTarget(&next, uriOf(t, "http://user:pass@a.test:8080/x/y?q#f"), &h, false)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if got := next.String(); err == nil && got != tc.want {
				t.Errorf("leads to %q, want %q", got, tc.want)
			}
			if err == nil && len(next.Username())+len(next.Password()) > 0 {
				t.Error("user information is kept")
			}
		})
	}
}

func TestRedirectLocationTwice(t *testing.T) {
	for _, tc := range []struct {
		name, second string
		err          error
	}{{"the same", "/a", nil}, {"another", "/b", ErrInvalidLocation}} {
		var h ResponseHeader
		h.Add(HeaderLocation, "/a")
		h.Add(HeaderLocation, tc.second)
		if _, err := redirectLocation(&h); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v, want %v", tc.name, err, tc.err)
		}
	}
}

func TestRedirectVerbatim(t *testing.T) {
	for location, want := range map[string]string{
		"/a/../b%2e": "http://a.test/a/../b%2e", "http://b.test/./c": "http://b.test/./c", "../d": "http://a.test/d",
	} {
		var h ResponseHeader
		var next URI
		h.Set(HeaderLocation, location)
		if err := redirectTarget(&next, uriOf(t, "http://a.test/x/y"), &h, true); err != nil || next.String() != want {
			t.Errorf("%q leads to %q (%v), want %q", location, next.String(), err, want)
		}
	}
}

// RFC 9110 §15.4.2 to §15.4.9.
func TestRedirectMethod(t *testing.T) {
	for status, want := range map[int]map[string]string{
		301: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "PUT body", "DELETE": "DELETE", "PATCH": "PATCH body", "QUERY": "QUERY body"},
		302: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "PUT body", "DELETE": "DELETE", "PATCH": "PATCH body", "QUERY": "QUERY body"},
		303: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "GET", "DELETE": "GET", "PATCH": "GET", "QUERY": "GET"},
		307: {"GET": "GET", "HEAD": "HEAD", "POST": "POST body", "PUT": "PUT body", "DELETE": "DELETE", "PATCH": "PATCH body"},
		308: {"GET": "GET", "HEAD": "HEAD", "POST": "POST body", "PUT": "PUT body", "DELETE": "DELETE", "PATCH": "PATCH body"},
	} {
		for method, want := range want {
			t.Run(fmt.Sprint(status, method), func(t *testing.T) {
				h := hops{answers: map[string]string{"http://a.test/": fmt.Sprint(status, " /b"), "http://a.test/b": "200"}}
				req, resp := new(Request), new(Response)
				req.SetRequestURI("http://a.test/")
				req.Header.SetMethod(method)
				if method != "GET" && method != "HEAD" && method != "DELETE" {
					req.SetBodyString("body")
					req.Header.SetContentType("text/plain")
					req.Header.SetContentEncoding("identity")
					req.Header.Set("Expect", "100-continue")
				}
				if err := h.follow(req, resp, redirectRules{max: 1}); err != nil {
					t.Fatal(err)
				}
				sent, body, _ := strings.Cut(want, " ")
				if got := h.asked[1]; got != sent+" http://a.test/b "+body {
					t.Errorf("followed with %q, want %q", got, want)
				}
				if body == "" && len(req.Header.ContentType())+len(req.Header.ContentEncoding())+len(req.Header.Peek("Expect")) > 0 {
					t.Errorf("the body is still spoken of:\n%s", &req.Header)
				}
				if resp.StatusCode() != 200 || string(req.URI().FullURI()) != "http://a.test/b" {
					t.Errorf("ended with %d for %s", resp.StatusCode(), req.URI())
				}
			})
		}
	}
}

func TestRedirectBodies(t *testing.T) {
	bytes := func(req *Request) { req.SetBodyString("body") }
	stream := func(req *Request) { req.SetBodyStream(strings.NewReader("body"), 4) }
	chunks := func(req *Request) { req.SetBodyStream(strings.NewReader("body"), -1) }
	raw := func(req *Request) { req.SetBodyRaw([]byte("body")) }
	form := func(req *Request) { req.PostArgs().Set("k", "v") }
	for _, tc := range []struct {
		name   string
		set    func(*Request)
		status string
		want   string // the second request's body
		err    error
	}{
		{"bytes again", bytes, "307", "body", nil},
		{"borrowed bytes again", raw, "308", "body", nil},
		{"arguments again", form, "307", "k=v", nil},
		{"arguments dropped", form, "303", "", nil},
		{"bytes dropped", bytes, "302", "", nil},
		{"stream dropped", stream, "303", "", nil},
		{"stream again", stream, "307", "", ErrRedirectBodyStream},
		{"chunks again", chunks, "308", "", ErrRedirectBodyStream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := hops{answers: map[string]string{"http://a.test/": tc.status + " /b", "http://a.test/b": "307 /c", "http://a.test/c": "200"}}
			req, resp := new(Request), new(Response)
			req.SetRequestURI("http://a.test/")
			req.Header.SetMethod(MethodPost)
			tc.set(req)
			if err := h.follow(req, resp, redirectRules{max: 2}); !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			for _, asked := range h.asked[1:] {
				if _, body, _ := strings.Cut(asked[5:], " "); body != tc.want {
					t.Errorf("%q, want the body %q", asked, tc.want)
				}
			}
			if tc.err != nil && (len(h.asked) != 1 || resp.StatusCode() < 300) {
				t.Errorf("asked %q, left with %d", h.asked, resp.StatusCode())
			}
		})
	}
}

func TestRedirectCredentials(t *testing.T) {
	secrets := []string{HeaderAuthorization, HeaderProxyAuthorization, HeaderWWWAuthenticate, HeaderCookie, HeaderCookie2, HeaderReferer}
	for _, tc := range []struct {
		name, from, location string
		kept                 bool
	}{
		{"same origin", "http://a.test/", "/b", true},
		{"same origin, named", "http://a.test/", "http://A.TEST/b", true},
		{"same origin, default port", "http://a.test/", "http://a.test:80/b", true},
		{"same origin, default port of https", "https://a.test:443/", "https://a.test/b", true},
		{"another host", "http://a.test/", "http://b.test/b", false},
		{"a host below", "http://a.test/", "http://b.a.test/b", false},
		{"a host above", "http://b.a.test/", "http://a.test/b", false},
		{"another port", "http://a.test/", "http://a.test:81/b", false},
		{"the port of the other scheme", "http://a.test/", "http://a.test:443/b", false},
		{"https", "http://a.test/", "https://a.test/b", false},
		{"user information does not help", "http://a.test/", "http://a.test@b.test/b", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, resp := new(Request), new(Response)
			req.SetRequestURI(tc.from)
			req.UseHostHeader = true
			for _, name := range secrets {
				req.Header.Set(name, "secret")
			}
			req.Header.Set("X-Other", "kept")
			resp.SetStatusCode(302)
			resp.Header.Set(HeaderLocation, tc.location)
			if err := req.redirect(resp, redirectRules{}, new(bool)); err != nil {
				t.Fatal(err)
			}
			text := req.String()
			for _, name := range secrets {
				if got := strings.Contains(text, name+": secret\r\n"); got != tc.kept {
					t.Errorf("%s sent: %v, want %v", name, got, tc.kept)
				}
			}
			if !strings.Contains(text, "X-Other: kept\r\n") || req.UseHostHeader != tc.kept {
				t.Errorf("sent:\n%s", text)
			}
		})
	}
}

// They are gone for good, even if a redirect leads back.
func TestRedirectCredentialsDoNotComeBack(t *testing.T) {
	h := hops{answers: map[string]string{"http://a.test/": "302 http://b.test/", "http://b.test/": "302 http://a.test/z", "http://a.test/z": "200"}}
	req := new(Request)
	req.SetRequestURI("http://user:pass@a.test/")
	if err := h.follow(req, nil, redirectRules{max: 5}); err != nil {
		t.Fatal(err)
	}
	if got := req.String(); strings.Contains(got, HeaderAuthorization) {
		t.Errorf("sent:\n%s", got)
	}
}

func TestRedirectUserinfoStaysWithTheOrigin(t *testing.T) {
	h := hops{answers: map[string]string{"http://a.test/": "302 /b", "http://a.test/b": "200"}}
	req := new(Request)
	req.SetRequestURI("http://user:pass@a.test/")
	if err := h.follow(req, nil, redirectRules{max: 5}); err != nil {
		t.Fatal(err)
	}
	if got := string(req.Header.Peek(HeaderAuthorization)); got != "Basic dXNlcjpwYXNz" {
		t.Errorf("Authorization is %q", got)
	}
}

func TestRedirectSchemes(t *testing.T) {
	answers := map[string]string{
		"https://a.test/": "302 http://a.test/", "http://a.test/": "200",
		"http://b.test/": "302 https://b.test/", "https://b.test/": "200",
	}
	for _, tc := range []struct {
		name, from string
		allow      bool
		err        error
		asked      int
	}{
		{"https to http", "https://a.test/", false, ErrRedirectToPlain, 1},
		{"https to http, allowed", "https://a.test/", true, nil, 2},
		{"http to https", "http://b.test/", false, nil, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := hops{answers: answers}
			req := new(Request)
			req.SetRequestURI(tc.from)
			err := h.follow(req, nil, redirectRules{max: 5, allowPlain: tc.allow})
			if !errors.Is(err, tc.err) || len(h.asked) != tc.asked {
				t.Errorf("asked %q, error %v", h.asked, err)
			}
		})
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	for max, asked := range map[int]int{-1: 1, 0: 1, 1: 2, 16: 17} {
		h := hops{answers: map[string]string{"http://a.test/": "302 /"}}
		req, resp := new(Request), new(Response)
		req.SetRequestURI("http://a.test/")
		err := h.follow(req, resp, redirectRules{max: max})
		if !errors.Is(err, ErrTooManyRedirects) || len(h.asked) != asked || resp.StatusCode() != 302 {
			t.Errorf("%d allowed: asked %d times, error %v, status %d", max, len(h.asked), err, resp.StatusCode())
		}
	}
}

func TestRedirectsShareTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := new(Request)
		req.SetRequestURI("http://a.test/")
		req.SetTimeout(10 * time.Second)
		var left []time.Duration
		doRedirects(context.Background(), req, nil, redirectRules{max: 4}, func(_ context.Context, req *Request, resp *Response) error {
			left = append(left, req.GetTimeOut())
			time.Sleep(4 * time.Second)
			resp.SetStatusCode(302)
			resp.Header.Set(HeaderLocation, "/")
			return nil
		})
		if fmt.Sprint(left) != "[10s 6s 2s 1ns 1ns]" || req.GetTimeOut() != 10*time.Second {
			t.Errorf("timeouts %v, afterwards %v", left, req.GetTimeOut())
		}
	})
}

func TestRedirectOnlyWhatIsOne(t *testing.T) {
	for _, status := range []string{"200", "201", "300", "304", "305", "306", "309", "400"} {
		h := hops{answers: map[string]string{"http://a.test/": status + " /b"}}
		req := new(Request)
		req.SetRequestURI("http://a.test/")
		if err := h.follow(req, nil, redirectRules{max: 5}); err != nil || len(h.asked) != 1 {
			t.Errorf("%s: asked %q, error %v", status, h.asked, err)
		}
	}
}

// Cookies of a redirect response are kept, and each goes to the hosts it belongs to.
func TestRedirectCookies(t *testing.T) {
	var jar CookieJar
	sent := map[string]string{}
	do := func(_ context.Context, req *Request, resp *Response) error {
		return jar.roundTrip(req, resp, func() error {
			host := string(req.URI().Host())
			sent[host] += "[" + string(req.Header.Peek(HeaderCookie)) + "]"
			resp.Reset()
			resp.Header.Add(HeaderSetCookie, "from="+host)
			switch string(req.URI().Path()) {
			case "/1":
				resp.Header.Set(HeaderLocation, "http://b.test/2")
			case "/2":
				resp.Header.Set(HeaderLocation, "http://a.test/3")
			default:
				return nil
			}
			resp.SetStatusCode(302)
			return nil
		})
	}
	req := new(Request)
	req.SetRequestURI("http://a.test/1")
	req.Header.Set(HeaderCookie, "mine=1")
	if err := doRedirects(context.Background(), req, nil, redirectRules{max: 5}, do); err != nil {
		t.Fatal(err)
	}
	if sent["a.test"] != "[mine=1][from=a.test]" || sent["b.test"] != "[]" {
		t.Errorf("sent %q", sent)
	}
}

// No Location makes a request that is not one, or that takes secrets elsewhere.
func FuzzRedirect(f *testing.F) {
	f.Add("/b", false)
	f.Add("//b.test:80/?q#f", true)
	f.Add("http://a.test@b.test\\c/../d e", false)
	f.Add("//b.test/secret", false)
	f.Add("https://a.test/", true)
	f.Fuzz(func(t *testing.T, location string, verbatim bool) {
		req, resp := new(Request), new(Response)
		req.SetRequestURI("http://user:pass@a.test/x/y?q")
		req.Header.Set(HeaderCookie, "secret")
		req.DisableRedirectPathNormalizing = verbatim
		resp.SetStatusCode(307)
		if resp.Header.Set(HeaderLocation, location); req.redirect(resp, redirectRules{}, new(bool)) != nil {
			return
		}
		text := req.String()
		if strings.Count(text, "\r\n\r\n") != 1 || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
			t.Errorf("%q makes\n%q", location, text)
		}
		if strings.Contains(text, "\r\nCookie: secret\r\n") && (req.URI().isHTTPS() || !hostOfA.MatchString(text)) {
			t.Errorf("%q sends\n%q", location, text)
		}
	})
}

var hostOfA = regexp.MustCompile(`\r\nHost: a\.test(:80|:)?\r\n`)

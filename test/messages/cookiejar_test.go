package messages_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/cookie"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// jarURI returns the URI of s, which has to be one.
func jarURI(t testing.TB, s string) *gallop.URI {
	t.Helper()
	u := new(gallop.URI)
	if err := u.Parse(nil, []byte(s)); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return u
}

// setAt has a response from url set the cookies.
func setAt(t testing.TB, j *gallop.CookieJar, url string, lines ...string) {
	t.Helper()
	var h gallop.ResponseHeader
	for _, line := range lines {
		h.Add(gallop.HeaderSetCookie, line)
	}
	j.SetCookies(jarURI(t, url), &h)
}

func sentTo(t testing.TB, j *gallop.CookieJar, url string) string {
	t.Helper()
	return string(j.AppendCookies(nil, jarURI(t, url)))
}

// Each row is one jar: what is set, and then what is sent.
func TestCookieJar(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		set        []string // url, line, url, line …
		sent       []string // url, Cookie field, url, Cookie field …
	}{
		{"host", "goes to the host alone", []string{"http://a.test/", "k=v"},
			[]string{"http://a.test/", "k=v", "http://b.a.test/", "", "http://test/", "", "http://xa.test/", ""}},
		{"host", "whatever the port", []string{"http://a.test:81/", "k=v"},
			[]string{"http://a.test/", "k=v", "http://a.test:82/", "k=v"}},
		{"host", "whatever the case", []string{"http://A.Test/", "k=v"}, []string{"http://a.tEST/", "k=v"}},
		{"host", "fully qualified", []string{"http://a.test./", "k=v"}, []string{"http://a.test/", "k=v"}},
		{"host", "an empty Domain is none", []string{"http://a.test/", "k=v; domain="}, []string{"http://a.test/", "k=v", "http://b.a.test/", ""}},
		{"host", "http and https", []string{"https://a.test/", "k=v"}, []string{"http://a.test/", "k=v"}},
		{"host", "not another scheme", []string{"ftp://a.test/", "k=v"}, []string{"http://a.test/", "", "ftp://a.test/", ""}},

		{"domain", "with a port", []string{"http://b.test:80/", "k=v; domain=b.test:80"}, []string{"http://b.test/", ""}},

		{"address", "v6", []string{"http://[::1]:8080/", "k=v"}, []string{"http://[::1]/", "k=v", "http://[::2]/", ""}},

		{"path", "the directory by default", []string{"http://a.test/x/y", "k=v"},
			[]string{"http://a.test/x", "k=v", "http://a.test/x/", "k=v", "http://a.test/x/z?q", "k=v", "http://a.test/xy", "", "http://a.test/", ""}},
		{"path", "of the query no part", []string{"http://a.test/x?/y/z", "k=v"}, []string{"http://a.test/", "k=v"}},
		{"path", "case matters", []string{"http://a.test/X/", "k=v"}, []string{"http://a.test/x/", ""}},

		{"text", "quotes stay", []string{"http://a.test/", `k="a b"`}, []string{"http://a.test/", `k="a b"`}},
		{"text", "odd bytes stay", []string{"http://a.test/", "k\xff=a\"\\,=\xe9"}, []string{"http://a.test/", "k\xff=a\"\\,=\xe9"}},
	} {
		t.Run(tc.rule+"/"+tc.name, func(t *testing.T) {
			var j gallop.CookieJar
			for i := 0; i < len(tc.set); i += 2 {
				setAt(t, &j, tc.set[i], tc.set[i+1])
			}
			for i := 0; i < len(tc.sent); i += 2 {
				if got := sentTo(t, &j, tc.sent[i]); got != tc.sent[i+1] {
					t.Errorf("%s gets %q, want %q", tc.sent[i], got, tc.sent[i+1])
				}
			}
		})
	}
}

// A jar reads the clock: a cookie is sent until it expires.
func TestCookieJarExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j gallop.CookieJar
		setAt(t, &j, "http://a.test/", "k=v; max-age=10")
		var session gallop.Cookie
		session.SetKey("l")
		session.SetValue("w")
		j.SetCookie(jarURI(t, "http://a.test/"), &session)
		for _, step := range []struct {
			wait time.Duration
			sent string
		}{{10*time.Second - 1, "k=v; l=w"}, {1, "l=w"}} {
			time.Sleep(step.wait)
			if got := sentTo(t, &j, "http://a.test/"); got != step.sent {
				t.Errorf("sent %q, want %q", got, step.sent)
			}
		}
		if n := j.Len(); n != 1 {
			t.Errorf("%d cookies are left", n)
		}
	})
}

// sender is a function as a RoundTripper.
type sender func(req *gallop.Request, resp *gallop.Response) error

func (f sender) RoundTrip(_ *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
	return false, f(req, resp)
}

// A client sends the cookies of its jar with those of the request, which keeps its own alone.
func TestCookieJarRequest(t *testing.T) {
	for _, tc := range []struct{ name, own, want string }{
		{"none of its own", "", "a=1; b=2"},
		{"others", "x=9; y=8", "x=9; y=8; a=1; b=2"},
		{"one of the same name", "b=9", "b=9; a=1"},
		{"one of the same name without a value", "b=", "b=; a=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var j gallop.CookieJar
			setAt(t, &j, "http://a.test/", "a=1", "b=2")
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test/x")
			if tc.own != "" {
				req.Header.Set(gallop.HeaderCookie, tc.own)
			}
			resp := new(gallop.Response)
			client := &gallop.Client{Jar: &j, Transport: sender(func(req *gallop.Request, resp *gallop.Response) error {
				if got := string(req.Header.Peek(gallop.HeaderCookie)); got != tc.want {
					t.Errorf("sent %q, want %q", got, tc.want)
				}
				resp.Header.Set(gallop.HeaderSetCookie, "c=3")
				return nil
			})}
			if err := client.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			if got := string(req.Header.Peek(gallop.HeaderCookie)); got != tc.own {
				t.Errorf("left with %q, want %q", got, tc.own)
			}
			if got := sentTo(t, &j, "http://a.test/"); got != "a=1; b=2; c=3" {
				t.Errorf("the jar has %q", got)
			}
		})
	}
}

func TestCookieJarCookies(t *testing.T) {
	var j gallop.CookieJar
	u := jarURI(t, "https://a.b.test/x/")
	c := new(gallop.Cookie)
	c.SetKey("k")
	c.SetValue("a b")
	c.SetDomain("b.test")
	c.SetPath("/x")
	c.SetHTTPOnly(true)
	c.SetSameSite(gallop.CookieSameSiteNoneMode)
	c.SetMaxAge(60)
	j.SetCookie(u, c)
	setAt(t, &j, "https://a.b.test/x/", "l=m")

	got := j.Cookies(u)
	if len(got) != 2 {
		t.Fatalf("%d cookies", len(got))
	}
	if in := time.Until(got[0].Expire()); in < 50*time.Second || in > time.Minute {
		t.Errorf("expires in %v", in)
	}
	got[0].SetExpire(gallop.CookieExpireUnlimited)
	for i, want := range []string{`k="a b"; domain=b.test; path=/x; HttpOnly; secure; SameSite=None`, "l=m; path=/x"} {
		if got[i].String() != want {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
	j.Clear()
	if j.Cookies(u) != nil || j.Len() != 0 || sentTo(t, &j, "https://a.b.test/x/") != "" {
		t.Error("Clear left something")
	}
}

func TestCookieJarIsUsedByMany(t *testing.T) {
	var j gallop.CookieJar
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			u := jarURI(t, fmt.Sprintf("http://h%d.test/", g%3))
			var h gallop.ResponseHeader
			for i := range 300 {
				h.Reset()
				h.Set(gallop.HeaderSetCookie, fmt.Sprintf("k%d=%d; max-age=%d", i%50, g, i%3))
				j.SetCookies(u, &h)
				j.AppendCookies(nil, u)
				j.Cookies(u)
			}
		})
	}
	wg.Wait()
	if n := j.Len(); n > 3*50 {
		t.Errorf("%d cookies of 50 names on three hosts", n)
	}
}

// For any Set-Cookie header, a jar adds only valid values to requests, and sends a cookie only within the site that set
// it. A header drops some values, so the store reads the lines themselves, too.
func FuzzCookieJar(f *testing.F) {
	f.Add("http://a.test/x", "k=v; Path=/; Domain=a.test", "http://b.test/")
	f.Add("https://a.co.uk/", "__Host-k=v; Secure; Path=/", "http://co.uk/")
	f.Add("https://[::1]:80/", `="a b;"; Max-Age=1`, "https://[::1]/")
	f.Add("http://1.2.3.4", "k=v; Domain=2.3.4", "http://9.2.3.4")
	f.Fuzz(func(t *testing.T, from, line, to string) {
		var u, v gallop.URI
		if u.Parse(nil, []byte(from)) != nil || v.Parse(nil, []byte(to)) != nil {
			return
		}
		at, ok := jarPlace(&u)
		if !ok {
			return
		}
		var j gallop.CookieJar
		var h gallop.ResponseHeader
		var store cookie.Store
		for _, line := range strings.Split(line, "\n") {
			h.Add(gallop.HeaderSetCookie, line)
			if c := at.Read([]byte(line), time.Now()); c != nil {
				store.Put(c, &at, time.Now())
			}
		}
		j.SetCookies(&u, &h)
		there, _ := jarPlace(&v)
		var pairs []string
		for _, c := range store.Matching(nil, &there, time.Now()) {
			pairs = append(pairs, string(c.AppendPair(nil)))
		}
		for _, value := range []string{string(j.AppendCookies([]byte("x"), &v)[1:]), strings.Join(pairs, "; ")} {
			if value == "" {
				continue
			}
			if cookie.Site(at.Host) != cookie.Site(there.Host) {
				t.Errorf("%q of %q goes to %q", value, from, to)
			}
			var h gallop.RequestHeader
			if h.Set("X-Cookie", value); len(h.Peek("X-Cookie")) == 0 {
				t.Errorf("%q is no field value", value)
			}
		}
	})
}

// jarPlace returns what cookies depend on in u.
func jarPlace(u *gallop.URI) (cookie.Place, bool) {
	return cookie.PlaceOf(string(u.Scheme()), string(u.Host()), string(u.RequestURI()))
}

func TestCookieJarDoesNotAllocateToSend(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	var j gallop.CookieJar
	setAt(t, &j, "http://www.a.co.uk/", "a=1", "b=2; Domain=a.co.uk", "c=3; Path=/x")
	u := jarURI(t, "http://www.a.co.uk/x/y")
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = j.AppendCookies(dst[:0], u) }); n > 0 {
		t.Errorf("%v allocations for %q", n, dst)
	}
}

func BenchmarkCookieJar(b *testing.B) {
	var j gallop.CookieJar
	setAt(b, &j, "http://www.a.co.uk/", "a=1", "b=2; Domain=a.co.uk", "c=3; Path=/x")
	u := jarURI(b, "http://www.a.co.uk/x/y")
	b.ReportAllocs()
	dst := make([]byte, 0, 64)
	for b.Loop() {
		dst = j.AppendCookies(dst[:0], u)
	}
}

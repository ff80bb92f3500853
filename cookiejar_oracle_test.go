package gallop

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/gallop-http/gallop/internal/testhook"
)

// Random conversations have to leave the same cookies in our jar as in that of
// net/http/cookiejar. Left out are the rules of RFC 6265bis that are not in RFC 6265, which
// the oracle follows: prefixes, Secure over http and on localhost, SameSite=None, limits, and
// the same name with and without Domain (names differ in the first letter here); and domains
// that are no public suffix but have some below them, where browsers are stricter.
func TestCookieJarAsNetHTTP(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { // the clocks are one
			compareJars(t, rand.New(rand.NewPCG(seed, 6265)))
		})
	}
}

var (
	oracleHosts = []string{"a.test", "b.a.test", "c.b.a.test", "xa.test", "a.co.uk", "b.a.co.uk", "co.uk", "me.github.io",
		"you.github.io", "127.0.0.1", "127.0.0.2", "[::1]", "city.kawasaki.jp", "x.city.kawasaki.jp", "A.Test:8080", "a.test."}
	oracleDomains = []string{"a.test", ".a.test", "b.a.test", "A.TEST", "test", "a.co.uk", "co.uk", "uk", "github.io",
		"me.github.io", "127.0.0.1", "city.kawasaki.jp", "jp", "evil.test", "a.test.", "..a.test"}
	oraclePaths      = []string{"", "/", "/x", "/x/", "/x/y", "/x/y/", "/x/yz", "/xy", "/x/y/z", "/x//y"}
	oracleAttributes = []string{"; Max-Age=0", "; Max-Age=1", "; Max-Age=5", "; Max-Age=-3", "; Expires=Sat, 01 Jan 2000 00:00:03 GMT",
		"; Expires=Sat, 01-Jan-2000 00:00:09 GMT", "; HttpOnly", "; Secure", "; SameSite=Lax", "; unknown=1"}
)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func compareJars(t *testing.T, r *rand.Rand) {
	theirs, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	var ours CookieJar
	var log strings.Builder
	for range 60 {
		where := "https://" + pick(r, oracleHosts) + pick(r, oraclePaths)
		there, err := url.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		switch r.IntN(4) {
		case 0, 1:
			line := randomSetCookie(r)
			fmt.Fprintf(&log, "%s sets %s\n", where, line)
			theirs.SetCookies(there, (&http.Response{Header: http.Header{"Set-Cookie": {line}}}).Cookies())
			setAt(t, &ours, where, line)
		case 2:
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		}
		var want []string
		for _, c := range theirs.Cookies(there) {
			want = append(want, c.Name+"="+c.Value)
		}
		if got := sentTo(t, &ours, where); got != strings.Join(want, "; ") {
			t.Fatalf("%s\n%s gets\n%q, net/http\n%q", log.String(), where, got, want)
		}
	}
}

func randomSetCookie(r *rand.Rand) string {
	kind, domain := "h", ""
	if r.IntN(2) == 0 {
		kind, domain = "d", "; Domain="+pick(r, oracleDomains)
	}
	line := fmt.Sprintf("%s%d=%d%s", kind, r.IntN(4), r.IntN(100), domain)
	if r.IntN(3) == 0 {
		line += "; Path=" + pick(r, oraclePaths)
	}
	for r.IntN(3) == 0 {
		line += pick(r, oracleAttributes)
	}
	return line
}

// Whatever a server sends, a jar puts nothing into a request that breaks it, sends nothing
// to a stranger, and keeps its bounds.
func FuzzCookieJar(f *testing.F) {
	f.Add("http://a.test/x", "k=v; Path=/; Domain=a.test", "http://b.test/")
	f.Add("https://a.co.uk/", "__Host-k=v; Secure; Path=/", "http://co.uk/")
	f.Add("https://[::1]:80/", `="a b;"; Max-Age=1`, "https://[::1]/")
	f.Add("http://1.2.3.4", "k=v; Domain=2.3.4", "http://9.2.3.4")
	f.Fuzz(func(t *testing.T, from, line, to string) {
		var u, v URI
		if u.Parse(nil, []byte(from)) != nil || v.Parse(nil, []byte(to)) != nil {
			return
		}
		at, ok := cookiePlaceOf(&u)
		if !ok {
			return
		}
		var j CookieJar
		for _, line := range strings.Split(line, "\n") {
			if c := at.readCookie([]byte(line), time.Now()); c != nil {
				j.store(c, &at, time.Now())
			}
		}
		there, _ := cookiePlaceOf(&v)
		value := j.AppendCookies([]byte("x"), &v)[1:]
		if len(value) == 0 {
			return
		}
		if cookieSite(at.host) != cookieSite(there.host) {
			t.Errorf("%q of %q goes to %q", value, from, to)
		}
		var h RequestHeader
		if h.joinCookies(value); len(h.Peek(HeaderCookie)) == 0 {
			t.Errorf("%q is no field value", value)
		}
	})
}

func TestCookieJarDoesNotAllocateToSend(t *testing.T) {
	if testhook.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	var j CookieJar
	setAt(t, &j, "http://www.a.co.uk/", "a=1", "b=2; Domain=a.co.uk", "c=3; Path=/x")
	u := jarURI(t, "http://www.a.co.uk/x/y")
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = j.AppendCookies(dst[:0], u) }); n > 0 {
		t.Errorf("%v allocations for %q", n, dst)
	}
}

func BenchmarkCookieJar(b *testing.B) {
	var j CookieJar
	setAt(b, &j, "http://www.a.co.uk/", "a=1", "b=2; Domain=a.co.uk", "c=3; Path=/x")
	u := jarURI(b, "http://www.a.co.uk/x/y")
	b.ReportAllocs()
	dst := make([]byte, 0, 64)
	for b.Loop() {
		dst = j.AppendCookies(dst[:0], u)
	}
}

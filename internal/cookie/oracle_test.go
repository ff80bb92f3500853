package cookie

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
)

// After random conversations, a Store has the same cookies as the jar of net/http/cookiejar. That jar follows RFC 6265,
// so the conversations avoid rules that only RFC 6265bis has: prefixes, Secure over http and on localhost, SameSite=None
// and limits. They also avoid the same name with and without Domain: the first letter of a name tells whether the cookie
// has a Domain. Domains that have public suffixes below them are avoided, too, because browsers are stricter there.
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
	var ours Store
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

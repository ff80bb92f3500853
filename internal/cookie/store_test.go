package cookie

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// placeOf returns the place of a URL.
func placeOf(t testing.TB, s string) (at Place, ok bool) {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return PlaceOf(u.Scheme, strings.ToLower(u.Host), u.RequestURI())
}

// setAt stores the cookies of a response from url.
func setAt(t testing.TB, s *Store, url string, lines ...string) {
	t.Helper()
	at, _ := placeOf(t, url)
	for _, line := range lines {
		if c := at.Read([]byte(line), time.Now()); c != nil {
			s.Put(c, &at, time.Now())
		}
	}
}

// sentTo returns the Cookie field of a request to url.
func sentTo(t testing.TB, s *Store, url string) string {
	t.Helper()
	at, _ := placeOf(t, url)
	var pairs []string
	for _, c := range s.Matching(nil, &at, time.Now()) {
		pairs = append(pairs, string(c.AppendPair(nil)))
	}
	return strings.Join(pairs, "; ")
}

func TestPlaceOf(t *testing.T) {
	for _, tc := range []struct {
		scheme, host, target string
		want                 Place // the zero Place for none
	}{
		{"http", "a.test", "/x/y?z=/w", Place{"a.test", "/x/y", false}},
		{"https", "a.test:8080", "/", Place{"a.test", "/", true}},
		{"http", "a.test.", "/", Place{"a.test", "/", false}},
		{"http", "a.test.:80", "/", Place{"a.test", "/", false}},
		{"http", "127.0.0.1:80", "/", Place{"127.0.0.1", "/", false}},
		{"http", "[::1]", "/", Place{"::1", "/", false}},
		{"http", "[::1]:80", "/", Place{"::1", "/", false}},
		{"http", "a.test", "*", Place{"a.test", "/", false}},
		{"http", "a.test", "", Place{"a.test", "/", false}},
		{"ftp", "a.test", "/", Place{}},
		{"http", "", "/", Place{}},
		{"http", ":80", "/", Place{}},
	} {
		at, ok := PlaceOf(tc.scheme, tc.host, tc.target)
		if ok != (tc.want != Place{}) || ok && at != tc.want {
			t.Errorf("%s, %s, %s: got %+v, %v", tc.scheme, tc.host, tc.target, at, ok)
		}
	}
}

// Each row is one store: what is set, and then what is sent.
func TestCookieJar(t *testing.T) {
	long := strings.Repeat("x", 1024)
	for _, tc := range []struct {
		rule, name string
		set        []string // url, line, url, line …
		sent       []string // url, Cookie field, url, Cookie field …
	}{
		{"domain", "goes to hosts below", []string{"http://a.b.test/", "k=v; domain=b.test"},
			[]string{"http://b.test/", "k=v", "http://a.b.test/", "k=v", "http://c.d.b.test/", "k=v", "http://xb.test/", ""}},
		{"domain", "a dot in front", []string{"http://b.test/", "k=v; domain=.B.TEST"}, []string{"http://a.b.test/", "k=v"}},
		{"domain", "two dots in front", []string{"http://b.test/", "k=v; domain=..b.test"}, []string{"http://b.test/", ""}},
		{"domain", "a dot behind", []string{"http://b.test/", "k=v; domain=b.test."}, []string{"http://b.test/", ""}},
		{"domain", "of somebody else", []string{"http://a.test/", "k=v; domain=b.test"}, []string{"http://a.test/", "", "http://b.test/", ""}},
		{"domain", "below the host", []string{"http://b.test/", "k=v; domain=a.b.test"}, []string{"http://b.test/", "", "http://a.b.test/", ""}},
		{"domain", "the last counts", []string{"http://a.b.test/", "k=v; domain=c.test; domain=b.test"}, []string{"http://b.test/", "k=v"}},
		{"domain", "too long counts as none", []string{"http://b.test/", "k=v; domain=" + long + "x"}, []string{"http://b.test/", "k=v", "http://a.b.test/", ""}},

		{"public suffix", "com", []string{"http://a.com/", "k=v; domain=com"}, []string{"http://a.com/", "", "http://b.com/", ""}},
		{"public suffix", "co.uk", []string{"http://a.co.uk/", "k=v; domain=co.uk"}, []string{"http://a.co.uk/", ""}},
		{"public suffix", "of a company", []string{"http://me.github.io/", "k=v; domain=github.io"}, []string{"http://me.github.io/", ""}},
		{"public suffix", "unknown", []string{"http://a.nobody/", "k=v; domain=nobody"}, []string{"http://a.nobody/", ""}},
		{"public suffix", "its own host", []string{"http://github.io/", "k=v; domain=github.io"}, []string{"http://github.io/", "k=v", "http://me.github.io/", ""}},
		{"public suffix", "localhost", []string{"http://localhost/", "k=v; domain=localhost"}, []string{"http://localhost/", "k=v", "http://a.localhost/", ""}},
		{"public suffix", "above some of them", []string{"http://city.kawasaki.jp/", "k=v; domain=kawasaki.jp"}, []string{"http://city.kawasaki.jp/", "", "http://kawasaki.jp/", ""}},
		{"public suffix", "exempt from it", []string{"http://a.city.kawasaki.jp/", "k=v; domain=city.kawasaki.jp"}, []string{"http://city.kawasaki.jp/", "k=v"}},
		{"public suffix", "one label more", []string{"http://www.a.co.uk/", "k=v; domain=a.co.uk"}, []string{"http://a.co.uk/", "k=v"}},

		{"address", "v4", []string{"http://127.0.0.1/", "k=v; domain=127.0.0.1"}, []string{"http://127.0.0.1/", "k=v", "http://1.127.0.0.1/", ""}},
		{"address", "part of v4", []string{"http://127.0.0.1/", "k=v; domain=0.0.1"}, []string{"http://127.0.0.1/", ""}},
		{"address", "v6 with a Domain", []string{"http://[::1]/", "k=v; domain=[::1]"}, []string{"http://[::1]/", ""}},

		{"path", "of the root", []string{"http://a.test/x", "k=v"}, []string{"http://a.test/y/z", "k=v"}},
		{"path", "as said", []string{"http://a.test/x/y", "k=v; path=/z"}, []string{"http://a.test/z", "k=v", "http://a.test/z/a", "k=v", "http://a.test/x/y", ""}},
		{"path", "with a slash", []string{"http://a.test/", "k=v; path=/z/"}, []string{"http://a.test/z", "", "http://a.test/z/", "k=v"}},
		{"path", "not absolute", []string{"http://a.test/x/y", "k=v; path=z"}, []string{"http://a.test/x/", "k=v", "http://a.test/", ""}},
		{"path", "the last counts", []string{"http://a.test/x/y", "k=v; path=/z; path="}, []string{"http://a.test/x/", "k=v", "http://a.test/z", ""}},

		{"secure", "not over http", []string{"https://a.test/", "k=v; secure"}, []string{"https://a.test/", "k=v", "http://a.test/", ""}},
		{"secure", "not from http", []string{"http://a.test/", "k=v; secure"}, []string{"https://a.test/", ""}},
		{"secure", "not from localhost either", []string{"http://localhost/", "k=v; secure"}, []string{"https://localhost/", ""}},
		{"secure", "is left alone", []string{"https://a.test/", "k=v; secure", "http://a.test/", "k=w"}, []string{"https://a.test/", "k=v"}},
		{"secure", "is not removed", []string{"https://a.test/", "k=v; secure", "http://a.test/", "k=; max-age=0"}, []string{"https://a.test/", "k=v"}},
		{"secure", "is not shadowed from above", []string{"https://a.b.test/", "k=v; secure", "http://b.test/", "k=w; domain=b.test"}, []string{"http://b.test/", ""}},
		{"secure", "is not shadowed from below", []string{"https://b.test/", "k=v; secure; domain=b.test", "http://a.b.test/", "k=w"}, []string{"http://a.b.test/", ""}},
		{"secure", "is not shadowed by a longer path", []string{"https://a.test/", "k=v; secure; path=/x", "http://a.test/", "k=w; path=/x/y"}, []string{"http://a.test/x/y", ""}},
		{"secure", "beside one of a shorter path", []string{"https://a.test/", "k=v; secure; path=/x", "http://a.test/", "k=w; path=/"}, []string{"https://a.test/x", "k=v; k=w"}},
		{"secure", "beside one of another name", []string{"https://a.test/", "k=v; secure", "http://a.test/", "l=w"}, []string{"https://a.test/", "k=v; l=w"}},
		{"secure", "is replaced over https", []string{"https://a.test/", "k=v; secure", "https://a.test/", "k=w"}, []string{"http://a.test/", "k=w"}},

		{"prefix", "__Secure- without Secure", []string{"https://a.test/", "__Secure-k=v"}, []string{"https://a.test/", ""}},
		{"prefix", "__Secure-", []string{"https://a.test/", "__Secure-k=v; secure"}, []string{"https://a.test/", "__Secure-k=v"}},
		{"prefix", "in other letters", []string{"https://a.test/", "__sEcure-k=v"}, []string{"https://a.test/", ""}},
		{"prefix", "__Host-", []string{"https://a.test/", "__Host-k=v; secure; path=/"}, []string{"https://a.test/", "__Host-k=v"}},
		{"prefix", "__Host- without Secure", []string{"https://a.test/", "__Host-k=v; path=/"}, []string{"https://a.test/", ""}},
		{"prefix", "__Host- without a path", []string{"https://a.test/", "__Host-k=v; secure"}, []string{"https://a.test/", ""}},
		{"prefix", "__Host- with another path", []string{"https://a.test/", "__Host-k=v; secure; path=/x"}, []string{"https://a.test/x", ""}},
		{"prefix", "__Host- with a domain", []string{"https://a.test/", "__Host-k=v; secure; path=/; domain=a.test"}, []string{"https://a.test/", ""}},
		{"prefix", "of a value without a name", []string{"https://a.test/", "__Host-k", "https://a.test/", "=__Secure-k=v; secure"}, []string{"https://a.test/", ""}},

		{"SameSite", "is no matter", []string{"http://a.test/", "a=1; SameSite=Strict", "http://a.test/", "b=2; SameSite=Lax", "http://a.test/", "c=3; SameSite=odd"},
			[]string{"http://a.test/", "a=1; b=2; c=3"}},
		{"SameSite", "None asks for Secure", []string{"https://a.test/", "a=1; SameSite=None", "https://a.test/", "b=2; SameSite=None; secure"}, []string{"https://a.test/", "b=2"}},

		{"text", "blanks around", []string{"http://a.test/", " k =  v ;"}, []string{"http://a.test/", "k=v"}},
		{"text", "no name", []string{"http://a.test/", "v"}, []string{"http://a.test/", "v"}},
		{"text", "no value", []string{"http://a.test/", "k="}, []string{"http://a.test/", "k="}},
		{"text", "nothing", []string{"http://a.test/", "=", "http://a.test/", "; path=/"}, []string{"http://a.test/", ""}},
		{"text", "as long as may be", []string{"http://a.test/", "k=" + strings.Repeat("x", 4095)}, []string{"http://a.test/", "k=" + strings.Repeat("x", 4095)}},
		{"text", "too long", []string{"http://a.test/", "k=" + strings.Repeat("x", 4096)}, []string{"http://a.test/", ""}},

		{"order", "longer paths first, then older ones",
			[]string{"http://a.test/x/y", "c=3; path=/x/y", "http://a.test/", "a=1", "http://a.test/", "b=2; path=/x", "http://a.test/", "d=4; path=/x/y"},
			[]string{"http://a.test/x/y", "c=3; d=4; b=2; a=1"}},
		{"order", "a new value keeps the place", []string{"http://a.test/", "a=1", "http://a.test/", "b=2", "http://a.test/", "a=3"}, []string{"http://a.test/", "a=3; b=2"}},
		{"order", "a removed one loses it", []string{"http://a.test/", "a=1", "http://a.test/", "b=2", "http://a.test/", "a=; max-age=0", "http://a.test/", "a=3"},
			[]string{"http://a.test/", "b=2; a=3"}},

		{"identity", "name, domain and path", []string{"http://a.b.test/", "k=1", "http://a.b.test/", "k=2; domain=b.test", "http://a.b.test/", "k=3; path=/x", "http://a.b.test/", "K=4"},
			[]string{"http://a.b.test/x", "k=3; k=1; k=2; K=4"}},
		{"identity", "for the host or the domain", []string{"http://b.test/", "k=1", "http://b.test/", "k=2; domain=b.test"}, []string{"http://b.test/", "k=1; k=2"}},
	} {
		t.Run(tc.rule+"/"+tc.name, func(t *testing.T) {
			var s Store
			for i := 0; i < len(tc.set); i += 2 {
				setAt(t, &s, tc.set[i], tc.set[i+1])
			}
			for i := 0; i < len(tc.sent); i += 2 {
				if got := sentTo(t, &s, tc.sent[i]); got != tc.sent[i+1] {
					t.Errorf("%s gets %q, want %q", tc.sent[i], got, tc.sent[i+1])
				}
			}
		})
	}
}

// The parser of a response refuses control characters, and so does Read.
func TestCookieJarControlCharacters(t *testing.T) {
	at, _ := placeOf(t, "http://a.test/")
	for _, line := range []string{"k=\x00", "k=v\r\nX: y", "k\x7f=v", "k=v; path=/\n"} {
		if c := at.Read([]byte(line), time.Now()); c != nil {
			t.Errorf("%q is kept as %+v", line, c)
		}
	}
	if c := at.Read([]byte("k=a\tb"), time.Now()); c == nil || c.Value != "a\tb" {
		t.Errorf("a tab is not kept: %+v", c)
	}
}

func TestCookieJarTime(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		name, attributes string
		life             time.Duration // 0: none at all, -1: forever
	}{
		{"for the session", "", -1},
		{"Max-Age", "; max-age=10", 10 * time.Second},
		{"Max-Age zero", "; max-age=0", 0},
		{"Max-Age negative", "; max-age=-1", 0},
		{"Max-Age that is none", "; max-age=1x", -1},
		{"Max-Age before Expires", "; max-age=10; expires=Sat, 01 Jan 2000 00:00:20 GMT", 10 * time.Second},
		{"Max-Age before Expires in the past", "; expires=Fri, 31 Dec 1999 00:00:20 GMT; max-age=10", 10 * time.Second},
		{"Expires", "; expires=Sat, 01 Jan 2000 00:00:20 GMT", 20 * time.Second},
		{"Expires now", "; expires=Sat, 01 Jan 2000 00:00:00 GMT", 0},
		{"Expires that is none", "; expires=soon", -1},
		{"400 days", "; max-age=34560000", 400 * day},
		{"over 400 days", "; max-age=34560001", 400 * day},
		{"no number has that many digits", "; max-age=99999999999999999999999", 400 * day},
		{"Expires over 400 days", "; expires=Mon, 01 Jan 2035 00:00:00 GMT", 400 * day},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where it is midnight, 1 January 2000
				var s Store
				const url = "http://a.test/"
				setAt(t, &s, url, "k=v"+tc.attributes)
				switch tc.life {
				case 0:
				case -1:
					time.Sleep(4000 * day)
					if sentTo(t, &s, url) != "k=v" {
						t.Error("has expired")
					}
					return
				default:
					if time.Sleep(tc.life - 1); sentTo(t, &s, url) != "k=v" {
						t.Errorf("has expired before %v", tc.life)
					}
					time.Sleep(time.Nanosecond)
				}
				if got := sentTo(t, &s, url); got != "" || s.Len() != 0 {
					t.Errorf("has not expired after %v: %q", tc.life, got)
				}
			})
		})
	}
}

func TestCookieJarEviction(t *testing.T) {
	t.Run("of a domain the one not used for longest", func(t *testing.T) {
		var s Store
		for i := range maxSiteCookies {
			setAt(t, &s, fmt.Sprintf("http://h%d.b.test/", i), "k=v")
		}
		sentTo(t, &s, "http://h0.b.test/") // which uses it
		setAt(t, &s, "http://new.b.test/", "k=v")
		for host, want := range map[string]string{"h0": "k=v", "h1": "", "h2": "k=v", "new": "k=v"} {
			if got := sentTo(t, &s, "http://"+host+".b.test/"); got != want {
				t.Errorf("%s has %q, want %q", host, got, want)
			}
		}
		if s.Len() != maxSiteCookies {
			t.Errorf("%d cookies", s.Len())
		}
	})
	t.Run("without Secure first", func(t *testing.T) {
		var s Store
		for i := range maxSiteCookies {
			attribute := "; secure"
			if i == 100 {
				attribute = ""
			}
			setAt(t, &s, "https://b.test/", fmt.Sprintf("k%d=v%s", i, attribute))
		}
		setAt(t, &s, "https://b.test/", "new=v; secure")
		if got := sentTo(t, &s, "https://b.test/"); strings.Contains(got, "k100=") || !strings.Contains(got, "k0=") {
			t.Errorf("left are %s", got)
		}
	})
	t.Run("one domain does not push out another", func(t *testing.T) {
		var s Store
		setAt(t, &s, "http://a.test/", "k=v")
		for i := range 4 * maxSiteCookies {
			setAt(t, &s, "http://b.test/", fmt.Sprintf("k%d=v", i))
		}
		if sentTo(t, &s, "http://a.test/") != "k=v" {
			t.Error("it did")
		}
	})
	t.Run("of all the one not used for longest", func(t *testing.T) {
		var s Store
		for i := range maxCookies {
			setAt(t, &s, fmt.Sprintf("http://h%d.test/", i), "k=v")
		}
		sentTo(t, &s, "http://h0.test/")
		setAt(t, &s, "http://new.test/", "k=v")
		for host, want := range map[string]string{"h0": "k=v", "h1": "", "h2": "k=v", "new": "k=v"} {
			if got := sentTo(t, &s, "http://"+host+".test/"); got != want {
				t.Errorf("%s has %q, want %q", host, got, want)
			}
		}
		if s.Len() != maxCookies {
			t.Errorf("%d cookies", s.Len())
		}
	})
	t.Run("what has expired first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var s Store
			for i := range maxCookies {
				attribute := ""
				if i >= maxCookies-10 {
					attribute = "; max-age=1"
				}
				setAt(t, &s, fmt.Sprintf("http://h%d.test/", i), "k=v"+attribute)
			}
			time.Sleep(time.Second)
			setAt(t, &s, "http://new.test/", "k=v")
			if sentTo(t, &s, "http://h0.test/") != "k=v" || s.Len() != maxCookies-9 {
				t.Errorf("h0 is gone or %d are left", s.Len())
			}
		})
	})
}

func TestStoredSetCookie(t *testing.T) {
	var s Store
	setAt(t, &s, "https://a.b.test/x/", "k=\"a b\"; domain=b.test; path=/x; HttpOnly; secure; SameSite=None; Partitioned", "l=m")
	at, _ := placeOf(t, "https://a.b.test/x/")
	var got []string
	for _, c := range s.Matching(nil, &at, time.Now()) {
		set := c.SetCookie()
		got = append(got, string(set.Append(nil)))
	}
	want := []string{`k="a b"; domain=b.test; path=/x; HttpOnly; secure; SameSite=None; Partitioned`, "l=m; path=/x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Clear(); s.Len() != 0 || sentTo(t, &s, "https://a.b.test/x/") != "" {
		t.Error("Clear left something")
	}
}

package messages_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

func TestURIParse(t *testing.T) {
	for _, tc := range []struct {
		name, host, uri string
		full            string // what FullURI is
		path, original  string
		query, hash     string
	}{
		{"origin-form", "a.example", "/x?q#h", "http://a.example/x?q#h", "/x", "/x", "q", "h"},
		{"path without slash", "a.example", "x", "http://a.example/x", "/x", "x", "", ""},
		{"empty path", "a.example", "", "http://a.example/", "/", "", "", ""},
		{"empty path with query", "", "http://a.example?q/r", "http://a.example/?q/r", "/", "", "q/r", ""},
		{"own host wins", "b.example", "https://A.Example/x", "https://a.example/x", "/x", "/x", "", ""},
		{"scheme is lowered", "", "HTtP://a.example/", "http://a.example/", "/", "/", "", ""},
		{"empty scheme", "", "://a.example/x", "http://a.example/x", "/x", "/x", "", ""},
		{"network-path reference", "", "//a.example/x", "http://a.example/x", "/x", "/x", "", ""},
		{"two slashes are a path if there is a host", "a.example", "//b/x", "http://a.example//b/x", "/b/x", "//b/x", "", ""},
		{"a URI in the query is no host", "a.example", "/x?u=http://b.example/", "http://a.example/x?u=http://b.example/", "/x", "/x", "u=http://b.example/", ""},
		{"a URI in the fragment is no host", "a.example", "/x#http://b.example", "http://a.example/x#http://b.example", "/x", "/x", "", "http://b.example"},
		{"question mark in the fragment", "a.example", "/x#a?b", "http://a.example/x#a?b", "/x", "/x", "", "a?b"},
		{"port", "", "http://a.example:8080/x", "http://a.example:8080/x", "/x", "/x", "", ""},
		{"IPv6 literal", "", "http://[2001:DB8::1]:80/", "http://[2001:db8::1]:80/", "/", "/", "", ""},
		{"IPv6 zone", "", "http://[fe80::1%25en0]/", "http://[fe80::1%25en0]/", "/", "/", "", ""},
		{"name above ASCII", "", "http://h\u00e9.example/", "http://h%C3%A9.example/", "/", "/", "", ""},
		{"escaped name above ASCII", "", "http://h%c3%a9.example/", "http://h%C3%A9.example/", "/", "/", "", ""},
		{"path above ASCII", "a.example", "/\u00e9", "http://a.example/%C3%A9", "/\u00e9", "/\u00e9", "", ""},
		{"blanks", "a.example", "/a b?c d#e f", "http://a.example/a%20b?c%20d#e%20f", "/a b", "/a b", "c d", "e f"},
		{"escapes stay on the wire", "a.example", "/%7e%2B+", "http://a.example/%7e%2B+", "/~++", "/%7e%2B+", "", ""},
		{"what is no escape becomes one", "a.example", "/100%", "http://a.example/100%25", "/100%", "/100%", "", ""},
		{"dot segments", "a.example", "/a/./b/../c", "http://a.example/a/c", "/a/c", "/a/./b/../c", "", ""},
		{"empty segments", "a.example", "/a//b/", "http://a.example/a//b/", "/a/b/", "/a//b/", "", ""},
		{"dot-dot behind an empty segment", "a.example", "/a//../b", "http://a.example/b", "/b", "/a//../b", "", ""},
		{"no host at all", "", "/x", "http:///x", "/x", "/x", "", ""},
		{"host of one letter", "a", "//x", "http://a//x", "/x", "//x", "", ""},
		{"asterisk-form", "a.example", "*", "http://a.example", "*", "*", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var u gallop.URI
			if err := u.Parse([]byte(tc.host), []byte(tc.uri)); err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2]string{
				"FullURI":      {string(u.FullURI()), tc.full},
				"String":       {u.String(), tc.full},
				"Path":         {string(u.Path()), tc.path},
				"PathOriginal": {string(u.PathOriginal()), tc.original},
				"QueryString":  {string(u.QueryString()), tc.query},
				"Hash":         {string(u.Hash()), tc.hash},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
				}
			}
		})
	}
}

func TestURIParseRefuses(t *testing.T) {
	var escape gallop.EscapeError
	var host gallop.InvalidHostError
	for _, tc := range []struct {
		name, uri string
		as        any // nil means ErrInvalidURI
	}{
		{"line break", "http://a.example/\r\n\r\nGET /x", nil},
		{"line break in the host", "//a.example\r\n\r\nGET x", nil},
		{"tab", "http://a.example/\t", nil},
		{"tab in front", "\thttp://a.example/", nil},
		{"DEL", "http://a.example/\x7f", nil},
		{"scheme with a digit in front", "1http://a.example/", nil},
		{"backslash before the user information", `http://host\@evil/`, nil},
		{"backslash in the host", `http://host\evil/`, &host},
		{"blank in the user information", "http://a b@c.example/", nil},
		{"empty host", "http:///x", nil},
		{"empty host with port", "http://:80/x", nil},
		{"empty host with user information", "http://u@/x", nil},
		{"two ports", "http://a:1:2/", nil},
		{"port of letters", "http://a:b/", nil},
		{"port over 65535", "http://a:65536/", nil},
		{"unclosed bracket", "http://[::1", nil},
		{"name in brackets", "http://[a.example]/", nil},
		{"something behind the bracket", "http://[::1]x/", &host},
		{"bracket in a name", "http://a[::1]/", nil},
		{"nine groups", "http://[1:2:3:4:5:6:7:8:9]/", nil},
		{"IPv4 part too large", "http://[::1.2.3.256]/", nil},
		{"quote", `http://a"b/`, &host},
		{"angle bracket", "http://a<b/", &host},
		{"escaped ASCII in the host", "http://a%2eexample/", &escape},
		{"broken escape in the host", "http://a%2", &escape},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var u gallop.URI
			u.SetHost("before.example")
			err := u.Parse(nil, []byte(tc.uri))
			if tc.as == nil && err != gallop.ErrInvalidURI || tc.as != nil && !errors.As(err, tc.as) {
				t.Errorf("got %v", err)
			}
			if tc.as == &escape && len(escape) > 3 || tc.as == &host && len(host) != 1 {
				t.Errorf("%q repeats more than it has to", err)
			}
			if u.String() != "http:///" {
				t.Errorf("left %q", u.String())
			}
		})
	}
}

// A question mark without a query behind it stays until the query is changed: "/a?" and "/a" are two URIs.
func TestURIEmptyQuery(t *testing.T) {
	for _, tc := range []struct {
		name, uri string
		change    func(u *gallop.URI)
		want      string
	}{
		{"as it is", "http://a/b?", nil, "http://a/b?"},
		{"with a fragment", "http://a/b?#c", nil, "http://a/b?#c"},
		{"without a path", "http://a?", nil, "http://a/?"},
		{"none", "http://a/b", nil, "http://a/b"},
		{"arguments read", "http://a/b?", func(u *gallop.URI) { u.QueryArgs().Has("c") }, "http://a/b?"},
		{"arguments added", "http://a/b?", func(u *gallop.URI) { u.QueryArgs().Add("c", "d") }, "http://a/b?c=d"},
		{"arguments removed", "http://a/b?", func(u *gallop.URI) { u.QueryArgs().Add("c", "d"); u.QueryArgs().Del("c") }, "http://a/b"},
		{"query set", "http://a/b?", func(u *gallop.URI) { u.SetQueryString("") }, "http://a/b"},
		{"reference with one", "http://a/b?c", func(u *gallop.URI) { u.Update("?") }, "http://a/b?"},
		{"reference to a path with one", "http://a/b?c", func(u *gallop.URI) { u.Update("d?") }, "http://a/d?"},
		{"reference to a path without one", "http://a/b?", func(u *gallop.URI) { u.Update("d") }, "http://a/d"},
		{"reference to a fragment", "http://a/b?", func(u *gallop.URI) { u.Update("#d") }, "http://a/b?#d"},
		{"reference with a host", "http://a/b?", func(u *gallop.URI) { u.Update("//d/e") }, "http://d/e"},
	} {
		var u, copied gallop.URI
		if err := u.Parse(nil, []byte(tc.uri)); err != nil {
			t.Fatal(err)
		}
		if tc.change != nil {
			tc.change(&u)
		}
		u.CopyTo(&copied)
		if got, again := u.String(), copied.String(); got != tc.want || again != tc.want {
			t.Errorf("%s: got %q, copied %q, want %q", tc.name, got, again, tc.want)
		}
		if u.Reset(); u.String() != "http:///" {
			t.Errorf("%s: Reset leaves %q", tc.name, u.String())
		}
	}
	var req gallop.Request
	req.SetRequestURI("http://a/b?")
	if got := req.String(); got != "GET /b? HTTP/1.1\r\nHost: a\r\n\r\n" {
		t.Errorf("sent %q", got)
	}
}

func TestURIUserinfo(t *testing.T) {
	for _, tc := range []struct{ uri, username, password, full string }{
		{"http://u@a.example/", "u", "", "http://a.example/"},
		{"http://u:p@a.example/", "u", "p", "http://a.example/"},
		{"http://u:p:q@a.example/", "u", "p:q", "http://a.example/"},
		{"http://u%40x:p@a.example/", "u%40x", "p", "http://a.example/"},
		{"http://good.example@evil.example/", "good.example", "", "http://evil.example/"},
		{"http://u@x:p@a.example/", "u@x", "p", "http://a.example/"},
	} {
		var u gallop.URI
		if err := u.Parse(nil, []byte(tc.uri)); err != nil {
			t.Errorf("%s: %v", tc.uri, err)
		}
		if string(u.Username()) != tc.username || string(u.Password()) != tc.password || u.String() != tc.full {
			t.Errorf("%s: got %q, %q, %q", tc.uri, u.Username(), u.Password(), u.String())
		}
	}
}

// RFC 3986 §5.4: "http://a/b/c/d;p?q" is the base of the first table's rows.
func TestURIUpdate(t *testing.T) {
	for _, tc := range []struct{ base, reference, want string }{
		{"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
		{"http://a/b/c/d;p?q", "/g", "http://a/g"},
		{"http://a/b/c/d;p?q", "//g", "http://g/"},
		{"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
		{"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"},
		{"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"},
		{"http://a/b/c/d;p?q", "g#s", "http://a/b/c/g#s"},
		{"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y#s"},
		{"http://a/b/c/d;p?q", ";x", "http://a/b/c/;x"},
		{"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
		{"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
		{"http://a/b/c/d;p?q", "./", "http://a/b/c/"},
		{"http://a/b/c/d;p?q", "..", "http://a/b/"},
		{"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
		{"http://a/b/c/d;p?q", "../..", "http://a/"},
		{"http://a/b/c/d;p?q", "../../g", "http://a/g"},
		{"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
		{"http://a/b/c/d;p?q", "/../g", "http://a/g"},
		{"http://a/b/c/d;p?q", "g.", "http://a/b/c/g."},
		{"http://a/b/c/d;p?q", "..g", "http://a/b/c/..g"},
		{"http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/"},
		{"http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"},
		{"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"},
		{"http://a/b/c/d;p?q", "g#s/../x", "http://a/b/c/g#s/../x"},

		{"https://a/b", "//c/d", "https://c/d"},
		{"https://a/b", "http://c/d", "http://c/d"},
		{"http://a", "b", "http://a/b"},
		{"http://a/b/c", "https//d/e", "http://a/b/https//d/e"},
		{"http://a/b/c", "d//e", "http://a/b/d//e"},
		{"http://a/b?p", "?q=//c", "http://a/b?q=//c"},
		{"http://a/b%2Fc/d", "../e", "http://a/e"},
		{"http://a/b/c", "d%2F..%2Fe", "http://a/b/d%2F..%2Fe"},
	} {
		var u gallop.URI
		if err := u.Parse(nil, []byte(tc.base)); err != nil {
			t.Fatal(err)
		}
		if u.Update(tc.reference); u.String() != tc.want {
			t.Errorf("%s + %q: got %s, want %s", tc.base, tc.reference, u.String(), tc.want)
		}
	}
}

func TestURIUpdateWithWhatDoesNotParse(t *testing.T) {
	for _, reference := range []string{"http://h:abc/x", "http://[::1/x", "http://ex ample/x", "http:///x", "///x", "//", "http://", "http://:80/x",
		"/a\x00b", "\x00", "?\x00", "#\x00", "http://h/\x00", "http://c/\r\nX: y", "//c\\d/", "//h:abc/x", "//[::1", "http://h%zz/", "1x://h/"} {
		var u, again gallop.URI
		if err := u.Parse(nil, []byte("http://user:pw@from.example/dir/page?q=1#f")); err != nil {
			t.Fatal(err)
		}
		if u.Update(reference); len(u.Host()) > 0 || again.Parse(nil, u.FullURI()) == nil {
			t.Errorf("%q: %s", reference, u.String())
		}
	}
}

func TestURIUpdateFromItself(t *testing.T) {
	var u gallop.URI
	u.Update("http://a.example/b/../c?d#e")
	u.UpdateBytes(u.FullURI())
	u.UpdateBytes(u.PathOriginal())
	if u.String() != "http://a.example/c" {
		t.Errorf("got %s", u.String())
	}
	if err := u.Parse(u.Host(), u.RequestURI()); err != nil || u.String() != "http://a.example/c" {
		t.Errorf("got %s, %v", u.String(), err)
	}
}

// Whatever is set, nothing that the URI writes can end a request line early.
func TestURISettersCannotSplitRequests(t *testing.T) {
	const evil = "a\r\nX: y\x00 \x7f\tb"
	for _, disable := range []bool{false, true} {
		var u gallop.URI
		u.DisablePathNormalizing = disable
		u.SetScheme("ht" + evil)
		u.SetHost(evil)
		u.SetPath("/" + evil + "?c#d")
		u.SetQueryString(evil + "#d")
		u.SetHash(evil)
		u.SetUsername(evil)
		u.SetPassword(evil)
		full := string(u.FullURI())
		if strings.ContainsAny(full, "\r\n\x00 \x7f\t") || strings.Count(full, "#") != 1 || strings.Count(full, "?") != 1 {
			t.Errorf("wrote %q", full)
		}
		if len(u.Host()) != 0 {
			t.Errorf("took the host %q", u.Host())
		}
	}
}

func TestURISetters(t *testing.T) {
	var u gallop.URI
	u.SetScheme("HTTPS://")
	u.SetHost("A.Example:8443")
	u.SetPath("/a?b/\u00e9/%20")
	u.SetQueryString("q=1&r")
	u.SetHash("h")
	if got, want := u.String(), "https://a.example:8443/a%3Fb/%C3%A9/%20?q=1&r#h"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(u.Path()); got != "/a?b/\u00e9/ " {
		t.Errorf("path: got %q", got)
	}
	var buf bytes.Buffer
	if n, err := u.WriteTo(&buf); err != nil || n != int64(buf.Len()) || buf.String() != u.String() {
		t.Errorf("WriteTo: %d, %v, %q", n, err, buf.String())
	}
	u.SetHost("[fe80::1%en0]:80")
	if got := string(u.Host()); got != "[fe80::1%en0]:80" {
		t.Errorf("host: got %q", got)
	}
}

func TestURIDisablePathNormalizing(t *testing.T) {
	u := gallop.URI{DisablePathNormalizing: true}
	if err := u.Parse([]byte("a.example"), []byte("/a/../b//%2e/\u00e9%zz")); err != nil {
		t.Fatal(err)
	}
	if got := string(u.RequestURI()); got != "/a/../b//%2e/\u00e9%zz" {
		t.Errorf("RequestURI: got %q", got)
	}
	if got := string(u.Path()); got != "/b//\u00e9%zz" {
		t.Errorf("Path: got %q", got)
	}
	if u.DisablePathNormalizing = false; string(u.Path()) != "/b/\u00e9%zz" {
		t.Errorf("Path, normalized: got %q", u.Path())
	}
	if u.DisablePathNormalizing = true; string(u.Path()) != "/b//\u00e9%zz" {
		t.Errorf("Path, not normalized again: got %q", u.Path())
	}
	if u.SetPath("b"); string(u.RequestURI()) != "/b" {
		t.Errorf("RequestURI: got %q", u.RequestURI())
	}
	if u.Reset(); u.DisablePathNormalizing {
		t.Error("Reset left DisablePathNormalizing")
	}
}

func TestURILastPathSegment(t *testing.T) {
	for path, want := range map[string]string{"": "", "/": "", "/a/": "", "/a/b.html": "b.html", "/a/b%2Fc": "b%2Fc", "/a/..": ""} {
		var u gallop.URI
		if u.SetPath(path); string(u.LastPathSegment()) != want {
			t.Errorf("%q: got %q, want %q", path, u.LastPathSegment(), want)
		}
	}
}

func TestURIQueryArgs(t *testing.T) {
	var u gallop.URI
	u.SetQueryString("a=b;c&d=%7e")
	if got := string(u.QueryArgs().Peek("d")); got != "~" {
		t.Errorf("got %q", got)
	}
	if got := string(u.RequestURI()); got != "/?a=b;c&d=%7e" {
		t.Errorf("reading the arguments changed the query: %q", got)
	}
	var before gallop.URI
	u.CopyTo(&before)
	u.QueryArgs().Set("d", "e f")
	if got, query := string(u.RequestURI()), string(u.QueryString()); got != "/?"+query || query != "a=b%3Bc&d=e+f" {
		t.Errorf("after a change: %q, %q", got, query)
	}
	u.QueryArgs().Reset()
	if got := string(u.RequestURI()); got != "/" {
		t.Errorf("after Reset: %q", got)
	}
	if u.SetQueryString("x=y"); string(u.QueryArgs().Peek("x")) != "y" {
		t.Error("QueryArgs did not follow SetQueryString")
	}
	if got := before.QueryArgs().String(); got != "a=b%3Bc&d=~" {
		t.Errorf("the copy changed with the original: %q", got)
	}
}

// However the arguments are changed, the URI's query is theirs.
func TestURIQueryFollowsItsArgs(t *testing.T) {
	for name, change := range map[string]func(a *gallop.Args){
		"Add":        func(a *gallop.Args) { a.Add("c", "x") },
		"AddNoValue": func(a *gallop.Args) { a.AddNoValue("c") },
		"Set":        func(a *gallop.Args) { a.Set("b", "x") },
		"SetNoValue": func(a *gallop.Args) { a.SetNoValue("b") },
		"Del":        func(a *gallop.Args) { a.Del("a") },
		"Parse":      func(a *gallop.Args) { a.Parse("c=d") },
		"Sort":       func(a *gallop.Args) { a.Sort(bytes.Compare) },
		"SortKeys":   func(a *gallop.Args) { a.SortKeys(bytes.Compare) },
		"CopyTo":     func(a *gallop.Args) { var b gallop.URI; b.SetQueryString("c=d"); b.QueryArgs().CopyTo(a) },
	} {
		var u, copied gallop.URI
		u.SetQueryString("b=2&a=1")
		change(u.QueryArgs())
		u.CopyTo(&copied)
		want := u.QueryArgs().String()
		if got := string(u.QueryString()); got != want || want == "b=2&a=1" {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := string(copied.RequestURI()); got != "/?"+want {
			t.Errorf("%s: the copy has %q, want %q", name, got, want)
		}
	}
}

func TestURISetScheme(t *testing.T) {
	for scheme, want := range map[string]string{"": "http", "HTTPS": "https", "https://": "https", "ht\r\ntps": "https", "1http": "http", "z39.50+r-s": "z39.50+r-s", "://": "http"} {
		var u gallop.URI
		if u.SetScheme(scheme); string(u.Scheme()) != want {
			t.Errorf("%q: got %q, want %q", scheme, u.Scheme(), want)
		}
	}
}

func TestURICopyTo(t *testing.T) {
	var u, v gallop.URI
	if u.CopyTo(&v); !reflect.DeepEqual(&u, &v) {
		t.Errorf("the copy of an empty one is %#v", &v)
	}
	var a, b gallop.Args
	if a.CopyTo(&b); !reflect.DeepEqual(&a, &b) {
		t.Errorf("the copy of an empty one is %#v", &b)
	}
	if err := u.Parse(nil, []byte("https://u:p@a.example/b/../c?d=e#f")); err != nil {
		t.Fatal(err)
	}
	u.DisablePathNormalizing = true
	u.CopyTo(&v)
	u.CopyTo(&u)
	want := u.String()
	u.Reset()
	if v.String() != want || string(v.Username()) != "u" || string(v.Password()) != "p" || string(v.Path()) != "/c" {
		t.Errorf("got %s, want %s", v.String(), want)
	}
}

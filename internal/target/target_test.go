package target

import (
	"bytes"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, method, target string
		form                 Form
		scheme, authority    string
		path, query          string
		hasQuery, plain      bool
	}{
		{"root", "GET", "/", Origin, "", "", "/", "", false, true},
		{"query", "GET", "/a/b?c=d&e=f", Origin, "", "", "/a/b", "c=d&e=f", true, true},
		{"empty query", "GET", "/a?", Origin, "", "", "/a", "", true, true},
		{"two question marks", "GET", "/a?b?c", Origin, "", "", "/a", "b?c", true, true},
		{"dots in a name are plain", "GET", "/a.b/c..d", Origin, "", "", "/a.b/c..d", "", false, true},
		{"dot segment", "GET", "/a/../b", Origin, "", "", "/a/../b", "", false, false},
		{"escape", "GET", "/a%20b", Origin, "", "", "/a%20b", "", false, false},
		{"escape in the query", "GET", "/a?%20", Origin, "", "", "/a", "%20", true, true},
		{"what looks like an authority is a path", "GET", "//evil.test/x", Origin, "", "", "//evil.test/x", "", false, false},
		{"slashes", "GET", "///", Origin, "", "", "///", "", false, false},
		{"slashes in the middle", "GET", "/a//b", Origin, "", "", "/a//b", "", false, false},
		{"slashes in the middle, one byte on", "GET", "/ab//c", Origin, "", "", "/ab//c", "", false, false},
		{"slashes at the end", "GET", "/a//", Origin, "", "", "/a//", "", false, false},
		{"slashes at the end, one byte on", "GET", "/ab//", Origin, "", "", "/ab//", "", false, false},
		{"slashes behind an authority", "GET", "http://a.test//x", Absolute, "http", "a.test", "//x", "", false, false},
		{"all of pchar", "GET", "/!$&'()*+,;=:@-._~", Origin, "", "", "/!$&'()*+,;=:@-._~", "", false, true},
		{"what browsers leave bare", "GET", "/[|]?[]{}|^`\\'", Origin, "", "", "/[|]", "[]{}|^`\\'", true, true},
		{"broken escape in the query", "GET", "/a?%zz&%", Origin, "", "", "/a", "%zz&%", true, true},

		{"absolute-form", "GET", "http://a.test/x?y", Absolute, "http", "a.test", "/x", "y", true, true},
		{"capitals", "GET", "HTTPS://A.Test/x", Absolute, "HTTPS", "A.Test", "/x", "", false, true},
		{"no path", "GET", "http://a.test", Absolute, "http", "a.test", "", "", false, true},
		{"no path, but a query", "GET", "http://a.test?x=/", Absolute, "http", "a.test", "", "x=/", true, true},
		{"IPv6", "GET", "http://[::1]:8080/x", Absolute, "http", "[::1]:8080", "/x", "", false, true},
		{"OPTIONS", "OPTIONS", "http://a.test", Absolute, "http", "a.test", "", "", false, true},
		{"dot segment after an authority", "GET", "http://a.test/./x", Absolute, "http", "a.test", "/./x", "", false, false},

		{"authority-form", "CONNECT", "a.test:443", Authority, "", "a.test:443", "", "", false, false},
		{"authority-form of IPv6", "CONNECT", "[::1]:443", Authority, "", "[::1]:443", "", "", false, false},
		{"asterisk-form", "OPTIONS", "*", Asterisk, "", "", "*", "", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse([]byte(tc.method), []byte(tc.target))
			if err != nil {
				t.Fatal(err)
			}
			if got.Form != tc.form || got.HasQuery != tc.hasQuery || got.Plain != tc.plain ||
				string(got.Scheme) != tc.scheme || string(got.Authority) != tc.authority ||
				string(got.Path) != tc.path || string(got.Query) != tc.query {
				t.Errorf("got %d %q %q %q %q, query %v, plain %v", got.Form, got.Scheme, got.Authority, got.Path, got.Query, got.HasQuery, got.Plain)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		method, target string
		want           error
	}{
		{"GET", "", ErrEmpty},
		{"CONNECT", "", ErrEmpty},
		{"GET", "index.html", ErrForm},
		{"GET", `\p`, ErrForm},
		{"GET", "*", ErrForm},
		{"POST", "*", ErrForm},
		{"OPTIONS", "**", ErrForm},
		{"OPTIONS", "*/x", ErrForm},
		{"GET", "h1.test:80", ErrForm},
		{"GET", "http:/x", ErrForm},
		{"GET", "://a.test/", ErrForm},
		{"GET", "1http://a.test/", ErrForm},
		{"GET", "ftp://a.test/", ErrScheme},
		{"GET", "http://", ErrAuthority},
		{"GET", "http:///x", ErrAuthority},
		{"GET", "http://?x", ErrAuthority},
		{"GET", "http://user:pw@a.test/x", ErrAuthority},
		{"GET", "http://h1.test@a.test/x", ErrAuthority},
		{"GET", "http://a.test:abc/x", ErrAuthority},
		{"GET", "http://a.test:99999/x", ErrAuthority},
		{"GET", "http://a .test/x", ErrAuthority},
		{"GET", "http://[::1/x", ErrAuthority},
		{"GET", `http://a.test\x`, ErrAuthority},
		{"GET", "http://a.test#x", ErrFragment},
		{"CONNECT", "a.test", ErrAuthority},
		{"CONNECT", "a.test:", ErrAuthority},
		{"CONNECT", ":443", ErrAuthority},
		{"CONNECT", "/", ErrAuthority},
		{"CONNECT", "http://a.test:80/", ErrAuthority},
		{"CONNECT", "u@a.test:443", ErrAuthority},
		{"CONNECT", "a.test:443#x", ErrAuthority},
		{"CONNECT", "a.test:443\r\nX: y", ErrAuthority},
		{"CONNECT", ":port#\r\n\r\nGET", ErrAuthority},
		{"GET", "/a#frag", ErrFragment},
		{"GET", "/a?b#frag", ErrFragment},
		{"GET", "/%zz", ErrEscape},
		{"GET", "/100%", ErrEscape},
		{"GET", "/%2", ErrEscape},
		{"GET", "/%+1", ErrEscape},
		{"GET", "/a b", ErrByte},
		{"GET", "/a?b c", ErrByte},
		{"GET", "/a\\b", ErrByte},
		{"GET", "/\u00e9", ErrByte},
		{"GET", "/?\u00e9", ErrByte},
	} {
		if _, err := Parse([]byte(tc.method), []byte(tc.target)); err != tc.want {
			t.Errorf("%s %q: got %v, want %v", tc.method, tc.target, err, tc.want)
		}
	}
}

// No control character, blank, DEL or byte above it is accepted, in any position.
func TestParseRefusesBytes(t *testing.T) {
	check := func(format string, allowed string) {
		t.Helper()
		for c := range 256 {
			target := strings.ReplaceAll(format, "X", string([]byte{byte(c)}))
			_, err := Parse([]byte("GET"), []byte(target))
			if want := strings.IndexByte(allowed, byte(c)) >= 0; (err == nil) != want {
				t.Errorf("%q: got %v", target, err)
			}
		}
	}
	const alnum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	check("/aXb", alnum+"-._~!$&'()*+,;=:@/[]|?")
	check("/a?bXc", alnum+"-._~!$&'()*+,;=:@/[]|?%\\^`{}")
	check("http://aXb/", alnum+"-._~/?") // not ':', for "b" is no port
}

// run processes eight bytes at a time, so the byte that ends it is tested in every position.
func TestRun(t *testing.T) {
	for c := range 256 {
		for length := range 20 {
			for at := range length {
				b := bytes.Repeat([]byte("a"), length)
				b[at] = byte(c)
				want := length
				if targetClasses[c]&pathByte == 0 {
					want = at
				}
				if got := run(b, pathByte); got != want {
					t.Fatalf("%q: got %d, want %d", b, got, want)
				}
			}
		}
	}
}

// isClean processes seven bytes at a time, so each pair is tested in every position.
func TestIsClean(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			if a > '0' && b > '0' && a%16 != b%16 {
				continue
			}
			for length := 2; length < 18; length++ {
				for at := range length - 1 {
					path := bytes.Repeat([]byte("a"), length)
					path[at], path[at+1] = byte(a), byte(b)
					if got, want := isClean(path), a != '/' || b != '/' && b != '.'; got != want {
						t.Fatalf("%q: %v", path, got)
					}
				}
			}
		}
	}
	for _, path := range []string{"/a./b../c.d", "/a/b/c/d/e/f/g/h/i", "....................", "/", ""} {
		if !isClean([]byte(path)) {
			t.Errorf("%q is not clean", path)
		}
	}
}

func TestIsScheme(t *testing.T) {
	for _, s := range []string{"a", "Z", "http", "z39.50r", "a+b-c.d", "A1", "zZ"} {
		if !IsScheme([]byte(s)) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", "1a", "+a", ".a", "-a", "a_b", "a b", "a:", "a/", "a@", "a[", "a`", "a{", "\u00e9", "a\u00e9"} {
		if IsScheme([]byte(s)) {
			t.Errorf("%q passes", s)
		}
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	get, targets := []byte("GET"), [][]byte{[]byte("/a/b.c?d=e"), []byte("http://a.test:80/x%20y"), []byte("/\x00")}
	if n := testing.AllocsPerRun(100, func() {
		for _, target := range targets {
			Parse(get, target)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// If both accept a target, net/url parses it in the same way.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"/a/b?c", "http://a.test:80/%2f", "//a/b", "*", "/a/../b?%zz", "http://[::1]", "/%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, method := range []string{"GET", "OPTIONS", "CONNECT"} {
			got, err := Parse([]byte(method), []byte(s))
			if err != nil {
				continue
			}
			if got.Form == Authority || got.Form == Asterisk {
				continue
			}
			if got.Plain && len(got.Path) > 0 && !bytes.Equal(AppendPath(nil, got.Path), got.Path) {
				t.Fatalf("%q: the path is not plain", s)
			}
			u, err := url.ParseRequestURI(s)
			if err != nil {
				t.Fatalf("%q: net/url refuses: %v", s, err)
			}
			path := u.EscapedPath()
			if got.Form == Origin && strings.HasPrefix(s, "//") {
				continue // net/url extracts the authority of a relative reference
			}
			unescaped, _ := url.PathUnescape(string(got.Path))
			if u.Path != unescaped || u.RawQuery != string(got.Query) || u.Host != string(got.Authority) ||
				!strings.EqualFold(u.Scheme, string(got.Scheme)) {
				t.Fatalf("%q: got %q %q %q, net/url has %q %q %q", s, got.Authority, got.Path, got.Query, u.Host, path, u.RawQuery)
			}
		}
	})
}

// Usual finds targets that Check accepts, and finds the longest possible target.
func checkUsual(t *testing.T, b []byte) {
	t.Helper()
	const before = "GET "
	end := Usual(append([]byte(before), b...), len(before))
	if end == 0 {
		if len(b) > 0 && b[0] == '/' {
			t.Errorf("%q: nothing is found", b)
		}
		return
	}
	n := end - len(before)
	if form, err := Check([]byte("GET"), b[:n]); form != Origin || err != nil {
		t.Errorf("%q: %q is found, of which Check says %v, %v", b, b[:n], form, err)
	}
	split := SplitUsual(b[:n])
	if parsed, err := Parse([]byte("GET"), b[:n]); err != nil || !reflect.DeepEqual(split, parsed) {
		t.Errorf("%q: split into %+v, parsed into %+v, %v", b[:n], split, parsed, err)
	}
	if n == len(b) {
		return
	}
	if form, err := Check([]byte("GET"), b[:n+1]); form == Origin && err == nil {
		t.Errorf("%q: only %q is found", b, b[:n])
	}
}

func TestUsual(t *testing.T) {
	for _, in := range []string{
		"", "a", "*", "?", "/", "/?", "/??", "/a?b?c", "/abcdefg/hijklmn?opq=rst&uvw=%zz x",
		"/a%20b", "/a#b", "/a?b#c", "/a b", "/a\tb", "/a\x7fb", "/a\xe9b", "http://a/b", "/a/b/c/d/e/f/g/h/i/j/k", "/a.b", "/a/.b", "/./a?/.",
	} {
		checkUsual(t, []byte(in))
	}
	for c := range 256 {
		for at := 1; at < 10; at++ {
			for _, in := range []string{"/abcdefghijkl", "/?bcdefghijkl"} {
				b := []byte(in)
				b[at] = byte(c)
				checkUsual(t, b)
			}
		}
	}
}

func FuzzUsual(f *testing.F) {
	f.Add([]byte("/path?query HTTP/1.1"))
	f.Add([]byte("/a%20b?c"))
	f.Fuzz(checkUsual)
}

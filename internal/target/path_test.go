package target

import (
	"bytes"
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestAppendPath(t *testing.T) {
	for _, tc := range []struct{ name, raw, path, clean string }{
		{"empty", "", "/", "/"},
		{"root", "/", "/", "/"},
		{"no slash in front", "a/b", "/a/b", "/a/b"},
		{"plain", "/a/b.c", "/a/b.c", "/a/b.c"},
		{"escapes", "/a%20b%e4", "/a b\xe4", "/a%20b%e4"},
		{"plus is no blank", "/a+b", "/a+b", "/a+b"},
		{"broken escapes", "/%zz/%", "/%zz/%", "/%zz/%"},

		{"dot", "/a/./b", "/a/b", "/a/b"},
		{"dot-dot", "/a/b/../c", "/a/c", "/a/c"},
		{"dot at the end", "/a/.", "/a/", "/a/"},
		{"dot-dot at the end", "/a/b/..", "/a/", "/a/"},
		{"up to the root", "/a/..", "/", "/"},
		{"above the root", "/../../a", "/a", "/a"},
		{"only dots", "/./../.", "/", "/"},
		{"three dots are a name", "/a/.../b", "/a/.../b", "/a/.../b"},
		{"dots in a name", "/a/..b/.c/d.", "/a/..b/.c/d.", "/a/..b/.c/d."},
		{"relative", "../a/./b", "/a/b", "/a/b"},
		{"RFC 3986", "/a/b/c/./../../g", "/a/g", "/a/g"},

		{"escaped dot-dot", "/a/%2e%2E/b", "/b", "/b"},
		{"half-escaped dot-dot", "/a/.%2e/b", "/b", "/b"},
		{"escaped dot-dot in front", "/%2e%2e/b", "/b", "/b"},
		{"escape in front", "%41", "/A", "/%41"},
		{"escaped dot", "/a/%2e/b", "/a/b", "/a/b"},
		{"escaped dots in a name", "/a/%2e%2e%2e", "/a/...", "/a/%2e%2e%2e"},
		{"escaped twice", "/a/%252e%252e/b", "/a/%2e%2e/b", "/a/%252e%252e/b"},

		{"escaped slash", "/a%2fb", "/a%2Fb", "/a%2fb"},
		{"escaped slash beside dots", "/a/..%2f..%2Fb", "/a/..%2F..%2Fb", "/a/..%2f..%2Fb"},
		{"escaped slash in front", "/%2f/a", "/%2F/a", "/%2f/a"},

		{"empty segments", "//a///b//", "/a/b/", "//a///b//"},
		{"only empty segments", "///", "/", "///"},
		{"empty segments without a slash in front", "a//b", "/a/b", "/a//b"},
		{"dot-dot behind an empty segment", "/a//../b", "/b", "/a/b"},
		{"dot-dot behind empty segments", "/a/b///../../c", "/c", "/a/b/c"},
		{"dot-dot in front of empty segments", "/..//a", "/a", "//a"},
		{"dot between empty segments", "/a/.//./b", "/a/b", "/a//b"},
		{"dot in front of an empty segment", "/.//a", "/a", "//a"},
		{"escaped dot-dot behind an empty segment", "/a//%2e./b", "/b", "/a/b"},
		{"escaped slash is no empty segment", "/a/%2f/b", "/a/%2F/b", "/a/%2f/b"},
		{"empty segments around an escape", "//%61//", "/a/", "//%61//"},

		{"backslash is no separator", `/a\..\b`, `/a\..\b`, `/a\..\b`},
		{"escaped backslash is none either", "/a/..%5c..%5cb", `/a/..\..\b`, "/a/..%5c..%5cb"},
		{"NUL", "/a%00b", "/a\x00b", "/a%00b"},
		{"line break", "/a%0d%0aX:%201", "/a\r\nX: 1", "/a%0d%0aX:%201"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := AppendPath([]byte("/x"), []byte(tc.raw)); string(got) != "/x"+tc.path {
				t.Errorf("path: got %q, want %q", got[2:], tc.path)
			}
			if got := AppendClean([]byte("/x"), []byte(tc.raw)); string(got) != "/x"+tc.clean {
				t.Errorf("clean: got %q, want %q", got[2:], tc.clean)
			}
		})
	}
}

// A path in a request keeps its empty segments and maps to the same decoded path.
func TestAppendSent(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{"/a//b", "/a//b"},
		{"//a///b//", "//a///b//"},
		{"/a%2Fb", "/a%2Fb"},
		{"/x/..//a", "//a"},
		{"/a//../b", "/b"},
		{"/a/b///../../c", "/c"},
		{"/a//b/../c", "/a//c"},
		{"//../a", "/a"},
	} {
		if got := string(AppendSent(nil, []byte(tc.raw))); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.raw, got, tc.want)
		}
	}
}

func TestAppendSafe(t *testing.T) {
	const raw = "/a b\r\n\x00\x7f\xc3\xa9%41%zz%?#[]\"<>\\^`{|}!$&'()*+,;=:@-._~"
	for _, tc := range []struct {
		name, got, want string
	}{
		{"path", string(AppendSafePath(nil, []byte(raw))),
			"/a%20b%0D%0A%00%7F%C3%A9%41%25zz%25%3F%23%5B%5D%22%3C%3E%5C%5E%60%7B%7C%7D!$&'()*+,;=:@-._~"},
		{"query", string(AppendSafeQuery(nil, []byte(raw))),
			"/a%20b%0D%0A%00%7F%C3%A9%41%zz%?%23[]%22%3C%3E\\^`{|}!$&'()*+,;=:@-._~"},
		{"visible", string(AppendVisible(nil, []byte(raw))),
			"/a%20b%0D%0A%00%7F\xc3\xa9%41%zz%%3F%23[]\"<>\\^`{|}!$&'()*+,;=:@-._~"},
		{"host", string(AppendSafeHost(nil, []byte("[fe80::1%en0]\xc3\xa9"))), "[fe80::1%25en0]%C3%A9"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

func TestOddPathsTakeLinearTime(t *testing.T) {
	for _, unit := range []string{"/", "/..", "/a/..", "%2e/", "%", "/%2f"} {
		raw := []byte(strings.Repeat(unit, 1<<20/len(unit)))
		if got := AppendPath(nil, raw); len(got) > len(raw)+1 {
			t.Errorf("%q: %d bytes", unit, len(got))
		}
	}
}

func FuzzAppendPath(f *testing.F) {
	for _, s := range []string{"/a/../b", "/%2e./a", "//..//", "/a//b//../c", "a/%2F/..", "/%zz", "/%252f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := string(AppendClean(nil, []byte(raw)))
		got := string(AppendPath(nil, []byte(raw)))
		if again := string(AppendClean(nil, []byte(clean))); again != clean {
			t.Fatalf("%q: %q becomes %q", raw, clean, again)
		}
		if clean[0] != '/' || got[0] != '/' {
			t.Fatalf("%q: %q, %q", raw, clean, got)
		}
		if strings.Contains(got, "//") {
			t.Fatalf("%q: empty segment in %q", raw, got)
		}
		if whole := AppendWholePath(nil, []byte(raw)); bytes.Count(whole, []byte("/")) != strings.Count(clean, "/") {
			t.Fatalf("%q: decoding made separators: %q, %q", raw, clean, whole)
		}
		sent := AppendSent(nil, []byte(raw))
		if again := string(AppendPath(nil, sent)); again != got {
			t.Fatalf("%q: the path is %q, and %q is sent, which is %q", raw, got, sent, again)
		}
		for _, segment := range strings.Split(got, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q: dot segment in %q", raw, got)
			}
		}
		if !strings.Contains(raw, "%") { // path.Clean also removes the last slash
			if want := path.Clean("/" + raw); want != strings.TrimSuffix(got, "/") && want != got {
				t.Fatalf("%q: got %q, path.Clean says %q", raw, got, want)
			}
		}
		if safe := string(AppendSafePath(nil, []byte(clean))); safe != "" {
			u, err := url.ParseRequestURI(safe)
			if err != nil {
				t.Fatalf("%q: net/url refuses %q", raw, safe)
			}
			want, _ := url.PathUnescape(safe)
			if decoded := string(AppendUnescape(nil, []byte(safe))); decoded != want || u.RawQuery != "" || u.Fragment != "" {
				t.Fatalf("%q: %q is %q, net/url says %q", raw, safe, decoded, want)
			}
		}
	})
}

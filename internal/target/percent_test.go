package target

import (
	"net/url"
	"strings"
	"testing"
)

func TestUnescape(t *testing.T) {
	for _, tc := range []struct {
		src, plain, argument string
		valid                bool
	}{
		{"", "", "", true},
		{"abc", "abc", "abc", true},
		{"a+b", "a+b", "a b", true},
		{"%41%4a%4A%2b", "AJJ+", "AJJ+", true},
		{"%00%ff", "\x00\xff", "\x00\xff", true},
		{"%2541", "%41", "%41", true},
		{"%", "%", "%", false},
		{"%4", "%4", "%4", false},
		{"%4g%g4", "%4g%g4", "%4g%g4", false},
		{"%%41", "%A", "%A", false},
		{"%+41", "%+41", "% 41", false},
	} {
		if got := string(AppendUnescape([]byte("x"), []byte(tc.src))); got != "x"+tc.plain {
			t.Errorf("%q: got %q", tc.src, got)
		}
		in := []byte(tc.src)
		if got := string(AppendUnescape(in[:0], in)); got != tc.plain {
			t.Errorf("%q in place: got %q", tc.src, got)
		}
		if got := string(AppendUnescapeArgument([]byte("x"), []byte(tc.src))); got != "x"+tc.argument {
			t.Errorf("%q as argument: got %q", tc.src, got)
		}
		if got := ValidEscapes([]byte(tc.src)); got != tc.valid {
			t.Errorf("%q valid: got %v", tc.src, got)
		}
	}
}

// Each set allows what its part of RFC 3986 allows, and decoding restores the escaped bytes.
func TestEscape(t *testing.T) {
	const unreservedBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	const subDelims = "!$&'()*+,;="
	for set, allowed := range map[Set]string{
		Path:     unreservedBytes + subDelims + ":@/",
		Query:    unreservedBytes + subDelims + ":@/?",
		Argument: unreservedBytes,
		Userinfo: unreservedBytes + subDelims,
	} {
		for c := range 256 {
			got := string(AppendEscape(nil, []byte{byte(c)}, set))
			if bare := len(got) == 1; bare != (strings.IndexByte(allowed, byte(c)) >= 0) {
				t.Errorf("set %d, byte %q: got %s", set, c, got)
			}
			if back, err := url.PathUnescape(got); err != nil || back != string([]byte{byte(c)}) {
				t.Errorf("set %d, byte %q: %s is %q, %v", set, c, got, back, err)
			}
		}
	}
	for c := range 256 {
		src := string([]byte{byte(c)})
		if got, want := string(AppendEscapeArgument(nil, []byte(src))), url.QueryEscape(src); got != want {
			t.Errorf("byte %q: got %s, net/url says %s", c, got, want)
		}
	}
}

package target

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

func TestValidHost(t *testing.T) {
	for _, tc := range []struct{ host, name, port string }{
		{"h1.test", "h1.test", ""},
		{"H1.TEST", "H1.TEST", ""},
		{"localhost", "localhost", ""},
		{"a.test.", "a.test.", ""},
		{"h1_test", "h1_test", ""},
		{"-a~b-", "-a~b-", ""},
		{"a.test:80", "a.test", "80"},
		{"a.test:0", "a.test", "0"},
		{"a.test:65535", "a.test", "65535"},
		{"a.test:00080", "a.test", "00080"},
		{"a.test:", "a.test", ""},
		{"192.0.2.1:8080", "192.0.2.1", "8080"},
		{"999.999.999.999", "999.999.999.999", ""}, // a name according to RFC 3986 §3.2.2
		{"[::]", "[::]", ""},
		{"[::1]:8080", "[::1]", "8080"},
		{"[2001:DB8::1]", "[2001:DB8::1]", ""},
		{"[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]", ""},
		{"[::ffff:192.0.2.1]", "[::ffff:192.0.2.1]", ""},
	} {
		name, port, ok := ParseAuthority([]byte(tc.host))
		if !ok || string(name) != tc.name || string(port) != tc.port || !ValidHost([]byte(tc.host)) {
			t.Errorf("%q: got %q, %q, %v", tc.host, name, port, ok)
		}
		if hasPort := strings.HasPrefix(tc.host[len(tc.name):], ":"); (port != nil) != hasPort {
			t.Errorf("%q: port is %#v", tc.host, port)
		}
	}
}

func TestValidHostRefuses(t *testing.T) {
	for _, host := range []string{
		"", "a b", "h1.test/x", "user@h1.test", "user:pw@h1.test", "h1.test:abc", "h1.test:80:80", "h1.test:-1", "h1.test: 80",
		"h1.test:65536", "h1.test:100000000000000000000", "h1.test#x", "h1.test?x", "http://h1.test", "h1.te\x00st", "h\u00e9.test", "h1.test\xff",
		"h1^test", "h1|test", "{h1.test}", "h1.test\rx", "h1.test\n", "h1\ttest", `a"b`, "a<b>", `a\b`, "h1.test ", " h1.test",
		// Allowed by the grammar, but only useful to confuse parsers:
		"h1.test,evil.test", "h1%2etest", ".h1.test", "h1..test", ".", ":80", ":", "a!$&'()*+;=b", "[v1.x]",
		// Addresses in brackets:
		"[", "[]", "[::1", "::1", "[::1]x", "[::1]:x", "[h1.test]", "[192.0.2.1]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]", "[:::]",
		"[::1::]", "[1:]", "[:1]", "[12345::]", "[::g]", "[::1%25en0]", "[::1%en0]", "[1:2:3:4:5:6:7::8]", "[::1.2.3.256]", "[::1.2.3]", "[::.2.3.4]",
		"[::01.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]", "[1:2:3:4:5:6::1.2.3.4]", "[::1.2.3.4:1]", "[1.2.3.4::]", "a[::1]", "[[::1]]",
	} {
		if ValidHost([]byte(host)) {
			t.Errorf("%q passes", host)
		}
	}
}

func TestAppendHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "A.Test:80": "a.test:80", "a!b": "a!b", "h%C3%a9.test": "h\u00e9.test", "h\u00e9": "h\u00e9", ":80": ":80",
		"[FE80::1%25En0]:80": "[fe80::1%En0]:80", "[fe80::1%en0]": "[fe80::1%en0]", "[fe80::1%25a%2db]": "[fe80::1%a-b]", "[V1.A:b]": "[v1.a:b]", "[v1.a]": "[v1.a]",
		"a%80\x80": "a\x80\x80",
	} {
		got, _, err := AppendHost([]byte("x"), []byte(host))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%q: got %q, %v", host, got, err)
		}
	}
	for _, tc := range []struct {
		host string
		at   int
		want error
	}{
		{"a%2", 1, ErrEscape},
		{"a%41", 1, ErrEscape},
		{"a%7f", 1, ErrEscape},
		{"a\x7f", 1, ErrAuthority},
		{"a b", 1, ErrAuthority},
		{"a@b", 1, ErrAuthority},
		{"a\x00", 1, ErrAuthority},
		{"a:b", 1, ErrAuthority},
		{"a:1:2", 1, ErrAuthority},
		{"[::1", 0, ErrAuthority},
		{"[::1%25]", 0, ErrAuthority},
		{"[::1%25a%20]", 0, ErrAuthority},
		{"[::1%25a%0d]", 0, ErrAuthority},
		{"[v.x]", 0, ErrAuthority},
		{"[v1.]", 0, ErrAuthority},
		{"[v1.x%25y]", 0, ErrAuthority},
		{"[::1]]", 5, ErrAuthority},
	} {
		if got, at, err := AppendHost([]byte("x"), []byte(tc.host)); err != tc.want || at != tc.at || string(got) != "x" {
			t.Errorf("%q: got %q, %d, %v", tc.host, got, at, err)
		}
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*\.?(:[0-9]*)?$`)

// ValidHost agrees with net/netip about addresses in brackets, and with a simple grammar about names.
func FuzzValidHost(f *testing.F) {
	for _, s := range []string{"a.test:80", "[::1]:1", "[1::2:3.4.5.6]", "[1:2:3:4:5:6:7::]", "a..b", "1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, rest, bracketed := strings.Cut(strings.TrimPrefix(s, "["), "]")
		port := s[max(0, strings.LastIndexByte(s, ':')+1):]
		want := validName.MatchString(s)
		if strings.HasPrefix(s, "[") {
			addr, err := netip.ParseAddr(host)
			want = bracketed && err == nil && addr.Is6() && addr.Zone() == "" &&
				regexp.MustCompile(`^(:[0-9]*)?$`).MatchString(rest)
			port = strings.TrimPrefix(rest, ":")
		} else if !strings.Contains(s, ":") {
			port = ""
		}
		if port = strings.TrimLeft(port, "0"); len(port) > 5 || len(port) == 5 && port > "65535" {
			want = false
		}
		if got := ValidHost([]byte(s)); got != want {
			t.Fatalf("%q: got %v, want %v", s, got, want)
		}
		if want {
			if _, _, err := AppendHost(nil, []byte(s)); err != nil {
				t.Fatalf("%q: AppendHost refuses what ValidHost accepts: %v", s, err)
			}
		}
	})
}

func BenchmarkValidHost(b *testing.B) {
	host := []byte("www.example.com:8080")
	for b.Loop() {
		if !ValidHost(host) {
			b.Fatal()
		}
	}
}

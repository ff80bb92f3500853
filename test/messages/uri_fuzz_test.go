package messages_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/ascii"
)

// A URI that both accept reads alike in net/url, and a written URI reads back as the same.
func FuzzURIParse(f *testing.F) {
	for _, s := range []string{"http://u:p@a.example:80/b/../c%2f?d=e#f", "//[fe80::1%25a]/", "a?b#c", "://h", "http://h%c3%a9/ \xff",
		"http://[FE80::1%25Eth0]:80/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var u, again gallop.URI
		if u.Parse(nil, []byte(s)) != nil {
			return
		}
		full := u.String()
		if ascii.IndexControl([]byte(full)) < len(full) || strings.ContainsAny(full, " \t") {
			t.Fatalf("%q: wrote %q", s, full)
		}
		if len(u.Host()) == 0 || string(u.PathOriginal()) == "*" {
			return // such a URI has no full spelling
		}
		if err := again.Parse(nil, []byte(full)); err != nil || again.String() != full || string(again.Path()) != string(u.Path()) {
			t.Fatalf("%q: wrote %q, read again as %q with path %q, %v", s, full, again.String(), again.Path(), err)
		}
		std, err := url.Parse(s)
		if err != nil || std.Opaque != "" || std.Host == "" {
			return
		}
		if scheme := string(u.Scheme()); std.Scheme != "" && std.Scheme != scheme {
			t.Fatalf("%q: scheme %q, net/url has %q", s, scheme, std.Scheme)
		}
		if host := lowerName(std.Host); host != string(u.Host()) {
			t.Fatalf("%q: host %q, net/url has %q", s, u.Host(), host)
		}
		path, _ := url.PathUnescape(string(u.PathOriginal()))
		hash, _ := url.PathUnescape(string(u.Hash()))
		if std.Path != path || std.RawQuery != string(u.QueryString()) || std.Fragment != hash {
			t.Fatalf("%q: got %q %q %q, net/url has %q %q %q", s, path, u.QueryString(), hash, std.Path, std.RawQuery, std.Fragment)
		}
	})
}

// lowerName returns host in lower case, but for the zone of an IPv6 address: zones are
// names of interfaces, in which case counts (RFC 4007 §11.2).
func lowerName(host string) string {
	name, zone, hasZone := strings.Cut(host, "%")
	lower := string(ascii.ToLower([]byte(name)))
	if hasZone {
		return lower + "%" + zone
	}
	return lower
}

// A reference is resolved as the pseudocode of RFC 3986 does it. net/url is no judge of that: it loses
// empty segments ("..//b"), does not read "%2e" as a dot, and makes a slash of "%2f" if something else in the
// path needs an escape.
func FuzzURIUpdate(f *testing.F) {
	for _, add := range [][2]string{
		{"http://a/b/c/d;p?q", "../g"}, {"https://a/b", "//c?d"}, {"http://0", "0#\x1e"}, {"http://0", "0#\t"}, {"http://a/x", "..//b"},
		{"http://a/b/c", "x/%2e%2E/../y"}, {"http://a/", "\"%2fb"}, {"http://u:p@[fe80::1%25A]/x?q#f", "?r#g"}, {"x://a//b/", "./../.."},
	} {
		f.Add(add[0], add[1])
	}
	f.Fuzz(func(t *testing.T, base, reference string) {
		var u, alone, want gallop.URI
		b, r := appendixB.FindStringSubmatch(base), appendixB.FindStringSubmatch(reference)
		if b[1] == "" || b[3] == "" || u.Parse(nil, []byte(base)) != nil {
			return
		}
		// For us a scheme, be it empty, counts only before "//".
		if r[1] != "" && r[3] == "" || strings.HasPrefix(reference, "://") {
			return
		}
		resolved := resolveReference(b, r)
		if reference == "" {
			resolved = base
		}
		if alone.Parse(nil, []byte(reference)) != nil && reference != "" {
			if u.Update(reference); partsOfURI(&u) != partsOfURI(&want) {
				t.Fatalf("%q + %q: got %s, want none", base, reference, partsOfURI(&u))
			}
			return
		}
		if err := want.Parse(nil, []byte(resolved)); err != nil {
			t.Fatalf("%q + %q: %v in %q", base, reference, err, resolved)
		}
		if u.Update(reference); partsOfURI(&u) != partsOfURI(&want) {
			t.Fatalf("%q + %q: got %s, want %s", base, reference, partsOfURI(&u), partsOfURI(&want))
		}
	})
}

func partsOfURI(u *gallop.URI) string {
	return fmt.Sprintf("%q %q:%q@%q %q %q %q", u.Scheme(), u.Username(), u.Password(), u.Host(), u.Path(), u.QueryString(), u.Hash())
}

// appendixB is the expression of RFC 3986 Appendix B: 1 is the scheme with its colon, 3 the authority with its
// slashes, 5 the path, 6 the query with its question mark, 8 the fragment with its number sign.
var appendixB = regexp.MustCompile(`(?s)^(([^:/?#]+):)?(//([^/?#]*))?([^?#]*)(\?([^#]*))?(#(.*))?`)

// resolveReference is RFC 3986 §5.2.2 for what appendixB found, the base an authority in it.
func resolveReference(base, r []string) string {
	dots := strings.NewReplacer("%2e", ".", "%2E", ".") // the same character: §6.2.2.2
	scheme, authority, path, query := base[1], base[3], dots.Replace(base[5]), base[6]
	refPath := dots.Replace(r[5])
	switch {
	case r[1] != "":
		scheme, authority, path, query = r[1], r[3], removeDotSegments(refPath), r[6]
	case r[3] != "":
		authority, path, query = r[3], removeDotSegments(refPath), r[6]
	case refPath == "":
		if r[6] != "" {
			query = r[6]
		}
	case refPath[0] == '/':
		path, query = removeDotSegments(refPath), r[6]
	case path == "": // §5.2.3
		path, query = removeDotSegments("/"+refPath), r[6]
	default:
		path, query = removeDotSegments(path[:strings.LastIndexByte(path, '/')+1]+refPath), r[6]
	}
	return scheme + authority + path + query + r[8]
}

// removeDotSegments is RFC 3986 §5.2.4, step by step.
func removeDotSegments(in string) (out string) {
	withoutLast := func() string { return out[:max(0, strings.LastIndexByte(out, '/'))] }
	for in != "" {
		switch {
		case strings.HasPrefix(in, "../"): // A
			in = in[3:]
		case strings.HasPrefix(in, "./"):
			in = in[2:]
		case strings.HasPrefix(in, "/./"): // B
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"): // C
			in, out = in[3:], withoutLast()
		case in == "/..":
			in, out = "/", withoutLast()
		case in == "." || in == "..": // D
			in = ""
		default: // E
			end := len(in)
			if n := strings.IndexByte(in[1:], '/'); n >= 0 {
				end = n + 1
			}
			out, in = out+in[:end], in[end:]
		}
	}
	return out
}

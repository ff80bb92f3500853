package gallop

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
)

// What both accept, net/url reads alike; and what is written is read again as the same.
func FuzzURIParse(f *testing.F) {
	for _, s := range []string{"http://u:p@a.example:80/b/../c%2f?d=e#f", "//[fe80::1%25a]/", "a?b#c", "://h", "http://h%c3%a9/ \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var u, again URI
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
		if host := ascii.ToLower([]byte(std.Host)); string(host) != string(u.Host()) {
			t.Fatalf("%q: host %q, net/url has %q", s, u.Host(), host)
		}
		path, _ := url.PathUnescape(string(u.PathOriginal()))
		hash, _ := url.PathUnescape(string(u.Hash()))
		if std.Path != path || std.RawQuery != string(u.QueryString()) || std.Fragment != hash {
			t.Fatalf("%q: got %q %q %q, net/url has %q %q %q", s, path, u.QueryString(), hash, std.Path, std.RawQuery, std.Fragment)
		}
	})
}

func FuzzURIUpdate(f *testing.F) {
	f.Add("http://a/b/c/d;p?q", "../g")
	f.Add("https://a/b", "//c?d")
	f.Add("http://0", "0#\x1e")
	f.Fuzz(func(t *testing.T, base, reference string) {
		var u URI
		stdBase, err := url.Parse(base)
		if err != nil || stdBase.Scheme != "http" && stdBase.Scheme != "https" || stdBase.Host == "" || u.Parse(nil, []byte(base)) != nil {
			return
		}
		stdReference, err := url.Parse(reference)
		if err != nil || reference == "" || stdReference.Opaque != "" || stdReference.Scheme != "" && stdReference.Host == "" {
			return
		}
		if ascii.IndexControl([]byte(reference)) < len(reference) {
			return // net/url lets controls pass in a fragment
		}
		if strings.HasPrefix(reference, "///") {
			return // an empty authority (RFC 3986 §4.2), which net/url takes for a path
		}
		var want URI
		if u.Update(reference); want.Parse(nil, []byte(stdBase.ResolveReference(stdReference).String())) != nil {
			return
		}
		if string(u.Host()) != string(want.Host()) || string(u.Scheme()) != string(want.Scheme()) || string(u.Path()) != string(want.Path()) {
			t.Fatalf("%q + %q: got %s, net/url has %s", base, reference, u.String(), want.String())
		}
	})
}

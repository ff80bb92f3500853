package target

import (
	"strings"
	"testing"
)

func TestSplitReference(t *testing.T) {
	for _, tc := range []struct{ uri, want string }{
		{"", ""},
		{"a/b?c#d", "path=a/b query=c fragment=d"},
		{"http://h:1/p?q#f", "scheme=http authority=h:1 path=/p query=q fragment=f"},
		{"//h/p", "authority=h path=/p"},
		{"://h", "scheme= authority=h"},
		{"http://h?q/r", "scheme=http authority=h query=q/r"},
		{"http://h#f//g", "scheme=http authority=h fragment=f//g"},
		{"a//b", "path=a//b"},
		{"/a:b//c", "path=/a:b//c"},
		{"/x?u=http://h/", "path=/x query=u=http://h/"},
		{"a#http://h", "path=a fragment=http://h"},
		{"mailto:a@b", "path=mailto:a@b"},
		{"h:80/p", "path=h:80/p"},
		{"?#", "query= fragment="},
	} {
		r := SplitReference([]byte(tc.uri))
		var got []string
		add := func(has bool, name string, part []byte) {
			if has {
				got = append(got, name+"="+string(part))
			}
		}
		add(r.HasScheme, "scheme", r.Scheme)
		add(r.HasAuthority, "authority", r.Authority)
		add(len(r.Path) > 0, "path", r.Path)
		add(r.HasQuery, "query", r.Query)
		add(r.HasFragment, "fragment", r.Fragment)
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %q", tc.uri, got)
		}
	}
}

func TestSplitUserinfo(t *testing.T) {
	for _, tc := range []struct{ authority, username, password, host string }{
		{"", "", "", ""},
		{"h:80", "", "", "h:80"},
		{"@h", "", "", "h"},
		{"u@h", "u", "", "h"},
		{"u:@h", "u", "", "h"},
		{":p@h", "", "p", "h"},
		{"u:p:q@h:80", "u", "p:q", "h:80"},
		{"u@x:p@h", "u@x", "p", "h"},
		{"-._~!$&'()*+,;=%zz@", "-._~!$&'()*+,;=%zz", "", ""},
	} {
		username, password, host, ok := SplitUserinfo([]byte(tc.authority))
		if !ok || string(username) != tc.username || string(password) != tc.password || string(host) != tc.host {
			t.Errorf("%q: got %q, %q, %q, %v", tc.authority, username, password, host, ok)
		}
	}
	for _, authority := range []string{" @h", "a/b@h", "a?b@h", "a#b@h", `a\@h`, "[u]@h", "u\x00@h", "\u00e9@h", "a\"@h"} {
		if _, _, _, ok := SplitUserinfo([]byte(authority)); ok {
			t.Errorf("%q passes", authority)
		}
	}
}

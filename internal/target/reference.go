package target

import "bytes"

// Reference is a URI reference split into its parts (RFC 3986 §4.1). Nothing is checked or decoded. The parts are
// views of the input.
type Reference struct {
	Scheme, Authority, Path, Query, Fragment       []byte
	HasScheme, HasAuthority, HasQuery, HasFragment bool
}

// SplitReference splits b. A scheme only counts if "//" follows, because references like "host:80" are common here
// and ones like "mailto:" are not. The scheme may be empty, and its bytes are not checked.
func SplitReference(b []byte) (r Reference) {
	n := bytes.Index(b, []byte("//"))
	if n < 0 || n > 0 && (b[n-1] != ':' || bytes.ContainsAny(b[:n], "/?#")) {
		return SplitPath(b)
	}
	end := n + 2 + authorityEnd(b[n+2:])
	r = SplitPath(b[end:])
	r.Authority, r.HasAuthority = b[n+2:end], true
	if n > 0 {
		r.Scheme, r.HasScheme = b[:n-1], true
	}
	return r
}

// SplitPath splits a reference that begins with its path.
func SplitPath(b []byte) (r Reference) {
	b, r.Fragment, r.HasFragment = bytes.Cut(b, []byte("#"))
	r.Path, r.Query, r.HasQuery = bytes.Cut(b, []byte("?"))
	return r
}

// SplitUserinfo splits an authority after the user information, at the last '@'. It reports whether the user
// information consists of bytes that RFC 3986 §3.2.1 allows, and '@'.
func SplitUserinfo(authority []byte) (username, password, host []byte, ok bool) {
	at := bytes.LastIndexByte(authority, '@')
	if at < 0 {
		return nil, nil, authority, true
	}
	userinfo := authority[:at]
	for _, c := range userinfo {
		if targetClasses[c]&(unreserved|subDelim) == 0 && c != ':' && c != '%' && c != '@' {
			return nil, nil, authority, false
		}
	}
	username, password, _ = bytes.Cut(userinfo, []byte(":"))
	return username, password, authority[at+1:], true
}

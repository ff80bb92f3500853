package target

import "bytes"

// Reference is a URI reference cut into its parts (RFC 3986 §4.1), nothing in them
// checked or decoded. They are views of what was cut.
type Reference struct {
	Scheme, Authority, Path, Query, Fragment       []byte
	HasScheme, HasAuthority, HasQuery, HasFragment bool
}

// SplitReference cuts b. As nobody writes "mailto:" where these references
// come from but many write "host:80", a scheme counts only before "//". It may then be
// empty, and whether it is a scheme is not checked.
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

// SplitPath cuts a reference that is known to begin with its path.
func SplitPath(b []byte) (r Reference) {
	b, r.Fragment, r.HasFragment = bytes.Cut(b, []byte("#"))
	r.Path, r.Query, r.HasQuery = bytes.Cut(b, []byte("?"))
	return r
}

// SplitUserinfo cuts the user information off an authority, at its last '@', and
// reports whether it consists of what RFC 3986 §3.2.1 allows, and '@'.
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

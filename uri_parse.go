package gallop

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/target"
)

// Parse parses uri and stores its parts in u. DisablePathNormalizing stays unchanged.
//
// If uri has no host, the argument host becomes the host of u. The argument host may be nil. If uri begins with "//"
// and the argument host is empty, Parse takes the host from the text after the slashes. If uri begins with "//" and the
// argument host is not empty, Parse treats all of uri as a path. Parse accepts spaces and bytes above 0x7F in the path,
// query and fragment.
//
// The error is ErrInvalidURI, an EscapeError or an InvalidHostError. After an error, u is empty.
func (u *URI) Parse(host, uri []byte) error {
	ref := target.SplitReference(uri)
	if len(host) > 0 && !ref.HasScheme {
		ref = target.SplitPath(uri)
	}
	if ref.HasAuthority {
		host = ref.Authority
	}
	err := checkReference(&ref, uri)
	if err == nil {
		u.clear()
		err = u.setAuthority(host)
	}
	if err != nil {
		u.clear()
		return err
	}
	u.setScheme(ref.Scheme)
	u.setPathOriginal(ref.Path)
	u.setQuery(ref.Query, ref.HasQuery)
	u.hash = append(u.hash[:0], ref.Fragment...)
	return nil
}

func checkReference(ref *target.Reference, uri []byte) error {
	if ascii.IndexControl(uri) < len(uri) || bytes.IndexByte(uri, '\t') >= 0 {
		return ErrInvalidURI
	}
	if len(ref.Scheme) > 0 && !target.IsScheme(ref.Scheme) {
		return ErrInvalidURI
	}
	if ref.HasAuthority && len(ref.Authority) == 0 { // RFC 9110 §4.2.1
		return ErrInvalidURI
	}
	return nil
}

// clear empties everything except DisablePathNormalizing.
func (u *URI) clear() {
	keep := u.DisablePathNormalizing
	u.Reset()
	u.DisablePathNormalizing = keep
}

// setAuthority sets user name, password and host from [userinfo "@"] host [":" port].
func (u *URI) setAuthority(authority []byte) (err error) {
	username, password, host, ok := target.SplitUserinfo(authority)
	if !ok {
		return ErrInvalidURI
	}
	if len(authority) > 0 && (len(host) == 0 || host[0] == ':') {
		return ErrInvalidURI
	}
	u.username = append(u.username[:0], username...)
	u.password = append(u.password[:0], password...)
	dst, at, err := target.AppendHost(u.host[:0], host)
	switch {
	case err == target.ErrEscape:
		return EscapeError(host[at:min(at+3, len(host))])
	case err != nil && at < len(host) && host[at] != '[' && host[at] != ':':
		return InvalidHostError(host[at : at+1])
	case err != nil:
		return ErrInvalidURI
	}
	u.host = dst
	return nil
}

// setTarget sets u to the URI of a request with the target t (RFC 9112 §3.3). host is the value of its Host header,
// and https says whether the request came over TLS. The caller has validated both.
func (u *URI) setTarget(t *target.Target, host []byte, https bool) {
	if t.Form == target.Absolute || t.Form == target.Authority {
		host = t.Authority
	}
	u.host = ascii.ToLower(append(u.host[:0], host...))
	if u.scheme = ascii.ToLower(append(u.scheme[:0], t.Scheme...)); https {
		u.scheme = append(u.scheme[:0], schemeHTTPS...)
	}
	u.setPathOriginal(t.Path)
	if t.Plain && len(t.Path) > 0 {
		u.pathState = pathPlain
	}
	u.setQuery(t.Query, t.HasQuery)
	u.DisablePathNormalizing = false
	u.username, u.password, u.hash = u.username[:0], u.password[:0], u.hash[:0]
}

// setQuery sets the query as received. "/a?" and "/a" are two different URIs (RFC 3986 §6.2.3).
func (u *URI) setQuery(query []byte, has bool) {
	u.setQueryString(query)
	u.emptyQuery = has && len(query) == 0
}

// Update resolves newURI against u and sets u to the result (RFC 3986 §5.2). The argument newURI is a URI or a relative
// reference. If newURI is empty, u stays unchanged.
//
// If newURI is invalid, u becomes empty. A program that checks the target of a redirect then sees a URI without a host
// instead of the old URI. Use Resolve to get an error.
func (u *URI) Update(newURI string) { u.UpdateBytes(UnsafeBytes(newURI)) }

// UpdateBytes does the same as [URI.Update], but takes a []byte.
func (u *URI) UpdateBytes(newURI []byte) {
	if u.update(newURI) != nil {
		u.clear()
	}
}

// Resolve resolves ref against u and sets u to the result (RFC 3986 §5.2). The argument ref is a URI or a relative
// reference. If ref is empty, u stays unchanged. If ref is invalid, Resolve returns the same error as Parse, and u
// stays unchanged.
func (u *URI) Resolve(ref string) error { return u.update(UnsafeBytes(ref)) }

func (u *URI) update(newURI []byte) error {
	if len(newURI) == 0 {
		return nil
	}
	ref := target.SplitReference(newURI)
	if err := checkReference(&ref, newURI); err != nil {
		return err
	}
	// newURI may be a view of u's own buffers, so the result is built elsewhere.
	next := AcquireURI()
	defer ReleaseURI(next)
	u.CopyTo(next)
	if err := next.resolve(&ref); err != nil {
		return err
	}
	next.CopyTo(u)
	return nil
}

// resolve implements RFC 3986 §5.2.2 with u as the base.
func (u *URI) resolve(ref *target.Reference) error {
	switch {
	case ref.HasAuthority:
		if err := u.setAuthority(ref.Authority); err != nil {
			return err
		}
		if len(ref.Scheme) > 0 {
			u.setScheme(ref.Scheme)
		}
		if u.setPathOriginal(ref.Path); len(ref.Path) > 0 && !u.DisablePathNormalizing {
			u.mergePath(ref.Path)
		}
		u.setQuery(ref.Query, ref.HasQuery)
	case len(ref.Path) > 0:
		u.mergePath(ref.Path)
		u.setQuery(ref.Query, ref.HasQuery)
	case ref.HasQuery:
		u.setQuery(ref.Query, ref.HasQuery)
	}
	u.hash = append(u.hash[:0], ref.Fragment...)
	return nil
}

// mergePath implements RFC 3986 §5.2.3 and §5.2.4.
func (u *URI) mergePath(path []byte) {
	merged := path
	if path[0] != '/' {
		base := u.pathOriginal
		merged = append(bytes.Clone(base[:bytes.LastIndexByte(base, '/')+1]), path...)
	}
	u.setPathOriginal(target.AppendClean(nil, merged))
}

// toASCII converts the host of u to ASCII.
func (u *URI) toASCII() error {
	if ascii.IsASCII(u.host) {
		return nil
	}
	host, err := target.ASCIIHost(string(u.host))
	if err == nil {
		u.host = append(u.host[:0], host...)
	}
	return err
}

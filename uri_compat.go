package gallop

import "github.com/gallop-http/gallop/internal/target"

// SetSchemeBytes is SetScheme for bytes.
func (u *URI) SetSchemeBytes(scheme []byte) {
	dst := u.scheme[:0]
	for _, c := range scheme {
		if c, ok := schemeByte(c, len(dst) == 0); ok {
			dst = append(dst, c)
		}
	}
	u.scheme = dst
}

// SetHostBytes is SetHost for bytes.
func (u *URI) SetHostBytes(host []byte) { u.host, _, _ = target.AppendHost(u.host[:0], host) }

// SetUsernameBytes is SetUsername for bytes.
func (u *URI) SetUsernameBytes(username []byte) { u.username = append(u.username[:0], username...) }

// SetPasswordBytes is SetPassword for bytes.
func (u *URI) SetPasswordBytes(password []byte) { u.password = append(u.password[:0], password...) }

// SetPathBytes is SetPath for bytes.
func (u *URI) SetPathBytes(path []byte) { u.setPathOriginal(path) }

// SetQueryStringBytes is SetQueryString for bytes.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.queryString = append(u.queryString[:0], queryString...)
	u.argsParsed = false
}

// SetHashBytes is SetHash for bytes.
func (u *URI) SetHashBytes(hash []byte) { u.hash = append(u.hash[:0], hash...) }

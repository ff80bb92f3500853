package gallop

// SetSchemeBytes is SetScheme for bytes.
func (u *URI) SetSchemeBytes(scheme []byte) { u.setScheme(scheme) }

// SetHostBytes is SetHost for bytes.
func (u *URI) SetHostBytes(host []byte) { u.setHost(host) }

// SetUsernameBytes is SetUsername for bytes.
func (u *URI) SetUsernameBytes(username []byte) { u.username = append(u.username[:0], username...) }

// SetPasswordBytes is SetPassword for bytes.
func (u *URI) SetPasswordBytes(password []byte) { u.password = append(u.password[:0], password...) }

// SetPathBytes is SetPath for bytes.
func (u *URI) SetPathBytes(path []byte) { u.setPathOriginal(path) }

// SetQueryStringBytes is SetQueryString for bytes.
func (u *URI) SetQueryStringBytes(queryString []byte) { u.setQueryString(queryString) }

// SetHashBytes is SetHash for bytes.
func (u *URI) SetHashBytes(hash []byte) { u.hash = append(u.hash[:0], hash...) }

package gallop

// SetSchemeBytes does the same as [URI.SetScheme], but takes a []byte.
func (u *URI) SetSchemeBytes(scheme []byte) { u.setScheme(scheme) }

// SetHostBytes does the same as [URI.SetHost], but takes a []byte.
func (u *URI) SetHostBytes(host []byte) { u.setHost(host) }

// SetUsernameBytes does the same as [URI.SetUsername], but takes a []byte.
func (u *URI) SetUsernameBytes(username []byte) { u.username = append(u.username[:0], username...) }

// SetPasswordBytes does the same as [URI.SetPassword], but takes a []byte.
func (u *URI) SetPasswordBytes(password []byte) { u.password = append(u.password[:0], password...) }

// SetPathBytes does the same as [URI.SetPath], but takes a []byte.
func (u *URI) SetPathBytes(path []byte) { u.setPathOriginal(path) }

// SetQueryStringBytes does the same as [URI.SetQueryString], but takes a []byte.
func (u *URI) SetQueryStringBytes(queryString []byte) { u.setQueryString(queryString) }

// SetHashBytes does the same as [URI.SetHash], but takes a []byte.
func (u *URI) SetHashBytes(hash []byte) { u.hash = append(u.hash[:0], hash...) }

package gallop

import (
	"bytes"
	"io"
	"sync"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/target"
)

// URI holds the parts of an http or https URI (RFC 3986).
//
// The zero value is an empty URI, ready to use. Do not copy a URI; use CopyTo. Only one goroutine at a time may use a
// URI. The methods of a URI return slices that point into the URI's memory. A returned slice is valid until the URI is
// changed or released. See docs/design/0002-paths.md for how paths are normalized.
//
// FullURI, RequestURI and the other methods that write the URI never write whitespace or control characters. These
// methods percent-encode all characters that are not allowed in a path, query or fragment. If you pass an invalid host
// to SetHost, the URI has no host afterwards.
type URI struct {
	_ noCopy

	scheme, host       []byte // in lower case
	username, password []byte
	pathOriginal       []byte
	queryString        []byte
	emptyQuery         bool // there is a question mark with nothing after it
	hash               []byte

	path      []byte // from pathOriginal when pathState is pathMerged or pathWhole
	pathState pathState

	queryArgs  Args // from queryString when argsParsed
	argsParsed bool
	maxArgs    int // in queryArgs when they are parsed; 0: no limit

	fullURI, requestURI []byte // what the methods of these names return

	// DisablePathNormalizing makes RequestURI and FullURI write PathOriginal instead of the normalized path. With
	// DisablePathNormalizing, RequestURI and FullURI keep dot segments, and percent-encode only whitespace, control
	// characters, '?' and '#'. DisablePathNormalizing also makes Path keep repeated slashes, which Path merges by default.
	DisablePathNormalizing bool
}

type pathState uint8

const (
	pathStale  pathState = iota // path has to be made from pathOriginal
	pathMerged                  // path is up to date, without empty segments
	pathWhole                   // path is up to date, with them
	pathPlain                   // path would equal pathOriginal, and is not used
)

var uriPool = sync.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool.
func AcquireURI() *URI { return uriPool.Get().(*URI) }

// ReleaseURI resets u and returns it to the pool. Afterwards, do not use u or anything that its methods returned. In
// builds with the race detector, ReleaseURI overwrites the memory of u.
func ReleaseURI(u *URI) {
	if bufpool.Poisons {
		u.poison()
	}
	u.Reset()
	uriPool.Put(u)
}

// Reset removes all parts of the URI and sets DisablePathNormalizing to false.
func (u *URI) Reset() {
	u.scheme, u.host, u.username, u.password = u.scheme[:0], u.host[:0], u.username[:0], u.password[:0]
	u.pathOriginal, u.queryString, u.hash = u.pathOriginal[:0], u.queryString[:0], u.hash[:0]
	u.path, u.fullURI, u.requestURI = u.path[:0], u.fullURI[:0], u.requestURI[:0]
	if cap(u.scheme)|cap(u.host)|cap(u.username)|cap(u.password)|cap(u.pathOriginal)|cap(u.queryString)|
		cap(u.hash)|cap(u.path)|cap(u.fullURI)|cap(u.requestURI) > maxKeptBuffer { // one of them is, perhaps
		for _, b := range u.buffers() {
			*b = emptied(*b)
		}
	}
	u.queryArgs.Reset()
	u.argsParsed, u.emptyQuery, u.pathState, u.DisablePathNormalizing = false, false, pathStale, false
	u.maxArgs = 0
}

// poison overwrites what views of u refer to. The contents of u are invalid afterwards, so call Reset.
func (u *URI) poison() {
	for _, b := range u.buffers() {
		bufpool.PoisonBytes(*b)
	}
	u.queryArgs.poison()
}

func (u *URI) buffers() [10]*[]byte {
	return [...]*[]byte{&u.scheme, &u.host, &u.username, &u.password, &u.pathOriginal,
		&u.queryString, &u.hash, &u.path, &u.fullURI, &u.requestURI}
}

// CopyTo copies u to dst.
func (u *URI) CopyTo(dst *URI) {
	if u == dst {
		return
	}
	dst.Reset()
	dst.scheme = append(dst.scheme, u.scheme...)
	dst.host = append(dst.host, u.host...)
	dst.username = append(dst.username, u.username...)
	dst.password = append(dst.password, u.password...)
	dst.setPathOriginal(u.pathOriginal)
	dst.queryString, dst.emptyQuery = append(dst.queryString, u.queryString...), u.emptyQuery
	dst.hash = append(dst.hash, u.hash...)
	if u.argsParsed {
		u.queryArgs.CopyTo(&dst.queryArgs)
		dst.queryArgs.changed, dst.argsParsed = u.queryArgs.changed, true
	}
	dst.DisablePathNormalizing, dst.maxArgs = u.DisablePathNormalizing, u.maxArgs
}

// Scheme returns the scheme in lower case. The default is "http".
func (u *URI) Scheme() []byte {
	if len(u.scheme) == 0 {
		return schemeHTTP
	}
	return u.scheme
}

var (
	schemeHTTP  = []byte("http")
	schemeHTTPS = []byte("https")
)

func (u *URI) isHTTPS() bool { return bytes.Equal(u.scheme, schemeHTTPS) }

// SetScheme sets the scheme. SetScheme drops characters that are not allowed in a scheme, such as the "://" in
// "https://".
func (u *URI) SetScheme(scheme string) { u.setScheme(UnsafeBytes(scheme)) }

func (u *URI) setScheme(scheme []byte) {
	dst := u.scheme[:0]
	for _, c := range scheme {
		if c, ok := schemeByte(c, len(dst) == 0); ok {
			dst = append(dst, c)
		}
	}
	u.scheme = dst
}

// schemeByte returns c in lower case, and whether it is allowed at that position of a scheme.
func schemeByte(c byte, first bool) (byte, bool) {
	c = ascii.Lower(c)
	letter := c-'a' <= 'z'-'a'
	return c, letter || !first && (ascii.IsDigit(c) || c == '+' || c == '-' || c == '.')
}

// Host returns the host in lower case, including the port if there is one.
func (u *URI) Host() []byte { return u.host }

// SetHost sets the host and the optional port. If the host is invalid (RFC 3986 §3.2.2), the URI has no host
// afterwards.
func (u *URI) SetHost(host string) { u.setHost(UnsafeBytes(host)) }

func (u *URI) setHost(host []byte) { u.host, _, _ = target.AppendHost(u.host[:0], host) }

// Username returns the user name without decoding its percent escapes. FullURI and RequestURI never include the user
// name.
func (u *URI) Username() []byte { return u.username }

// SetUsername sets the user name.
func (u *URI) SetUsername(username string) { u.username = append(u.username[:0], username...) }

// Password returns the password without decoding its percent escapes. FullURI and RequestURI never include the
// password.
func (u *URI) Password() []byte { return u.password }

// SetPassword sets the password.
func (u *URI) SetPassword(password string) { u.password = append(u.password[:0], password...) }

// Path returns the normalized path, "/" by default. Normalizing decodes all percent escapes except %2F, removes dot
// segments, and merges repeated slashes. Use the normalized path in routers and access checks, because FS serves files
// by the normalized path. If DisablePathNormalizing is set, Path keeps empty segments, so "/a//b" differs from "/a/b".
func (u *URI) Path() []byte {
	switch {
	case u.pathState == pathPlain:
		return u.pathOriginal
	case u.DisablePathNormalizing && u.pathState != pathWhole:
		u.path, u.pathState = target.AppendWholePath(u.path[:0], u.pathOriginal), pathWhole
	case !u.DisablePathNormalizing && u.pathState != pathMerged:
		u.path, u.pathState = target.AppendPath(u.path[:0], u.pathOriginal), pathMerged
	}
	return u.path
}

// PathOriginal returns the path without normalizing it, exactly as it was received or set.
func (u *URI) PathOriginal() []byte { return u.pathOriginal }

// SetPath sets the path, which may contain percent escapes. After SetPath("/a%20b"), Path returns "/a b".
func (u *URI) SetPath(path string) { u.setPathOriginal(UnsafeBytes(path)) }

func (u *URI) setPathOriginal(path []byte) {
	u.pathOriginal = append(u.pathOriginal[:0], path...)
	u.pathState = pathStale
	if string(path) == "*" { // the asterisk-form of OPTIONS
		u.pathState = pathPlain
	}
}

// LastPathSegment returns the part of Path after the last slash.
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was received or set, without the question mark. If you have changed the Args that
// QueryArgs returned, QueryString returns the changed arguments as a query.
func (u *URI) QueryString() []byte {
	u.refreshQuery()
	return u.queryString
}

// SetQueryString sets the query, which is the part after the question mark.
func (u *URI) SetQueryString(queryString string) { u.setQueryString(UnsafeBytes(queryString)) }

func (u *URI) setQueryString(queryString []byte) {
	u.queryString = append(u.queryString[:0], queryString...)
	u.argsParsed, u.emptyQuery = false, false
}

// QueryArgs returns the arguments of the query. If you change the arguments, the URI's query changes too. If you only
// read the arguments, not a single byte of the query changes. In a request that a server received, Args.Err reports
// whether the query has more arguments than Server.MaxFormArgs allows.
func (u *URI) QueryArgs() *Args {
	if !u.argsParsed {
		_ = u.queryArgs.ParseAtMost(u.queryString, u.maxArgs) // Err returns it
		u.queryArgs.changed, u.argsParsed = false, true
	}
	return &u.queryArgs
}

// refreshQuery brings queryString up to date with changes in queryArgs.
func (u *URI) refreshQuery() {
	if u.argsParsed && u.queryArgs.changed {
		u.queryString = u.queryArgs.AppendBytes(u.queryString[:0])
		u.queryArgs.changed, u.emptyQuery = false, false
	}
}

// Hash returns the fragment as it was received or set, without the number sign.
func (u *URI) Hash() []byte { return u.hash }

// SetHash sets the fragment, which is the part after the number sign.
func (u *URI) SetHash(hash string) { u.hash = append(u.hash[:0], hash...) }

// FullURI returns the whole URI with scheme, host, path, query and fragment.
func (u *URI) FullURI() []byte {
	u.fullURI = u.AppendBytes(u.fullURI[:0])
	return u.fullURI
}

// RequestURI returns the path and query as they are sent to an origin server.
func (u *URI) RequestURI() []byte {
	u.requestURI = u.appendRequestURI(u.requestURI[:0])
	return u.requestURI
}

// String returns the whole URI as a string. See [URI.FullURI].
func (u *URI) String() string { return string(u.FullURI()) }

// WriteTo writes the whole URI to w. See [URI.FullURI].
func (u *URI) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(u.FullURI())
	return int64(n), err
}

// AppendBytes appends the whole URI to dst. See [URI.FullURI].
func (u *URI) AppendBytes(dst []byte) []byte {
	dst = append(dst, u.Scheme()...)
	dst = append(dst, "://"...)
	dst = target.AppendSafeHost(dst, u.host)
	if string(u.pathOriginal) != "*" { // the asterisk-form stands for no path: RFC 9112 §3.3
		dst = u.appendRequestURI(dst)
	}
	if len(u.hash) > 0 {
		dst = append(dst, '#')
		dst = target.AppendSafeQuery(dst, u.hash)
	}
	return dst
}

func (u *URI) appendRequestURI(dst []byte) []byte {
	switch {
	case len(u.pathOriginal) == 0:
		dst = append(dst, '/')
	case u.DisablePathNormalizing || u.pathState == pathPlain:
		if u.pathOriginal[0] != '/' && u.pathState != pathPlain {
			dst = append(dst, '/')
		}
		dst = target.AppendVisible(dst, u.pathOriginal)
	default:
		var buf [256]byte
		dst = target.AppendSafePath(dst, target.AppendSent(buf[:0], u.pathOriginal))
	}
	if u.refreshQuery(); len(u.queryString) > 0 || u.emptyQuery {
		dst = append(dst, '?')
		dst = target.AppendSafeQuery(dst, u.queryString)
	}
	return dst
}

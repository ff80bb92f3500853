package gallop

import (
	"errors"
	"strconv"
)

// Errors of Args.
var (
	// ErrNoArgValue is returned by Args.GetUint and Args.GetUfloat for a key that
	// is missing or has an empty value.
	ErrNoArgValue = errors.New("gallop: no args value for the given key")
)

// Errors of Cookie.
var (
	// ErrInvalidCookieValue is returned for a Set-Cookie value that holds control
	// characters, or bytes where no cookie may have them.
	ErrInvalidCookieValue = errors.New("gallop: invalid cookie value")

	// ErrNoCookies is returned for a Set-Cookie value without a name and a value.
	ErrNoCookies = errors.New("gallop: no cookies found")
)

// Errors of URI.
var (
	// ErrorInvalidURI is returned by URI.Parse for a URI with control characters, an
	// invalid scheme, or an invalid authority.
	ErrorInvalidURI = errors.New("gallop: invalid uri")
)

// EscapeError is returned by URI.Parse for an escape in the host that is not
// one, or that hides an ASCII character. Its text is the escape, at most three bytes.
type EscapeError string

// Error implements error.
func (e EscapeError) Error() string {
	return "invalid url escape " + strconv.Quote(string(e))
}

// InvalidHostError is returned by URI.Parse for a host with a character that no
// host has. Its text is that character.
type InvalidHostError string

// Error implements error.
func (e InvalidHostError) Error() string {
	return "invalid character " + strconv.Quote(string(e)) + " in host name"
}

package middleware

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// authUser is the key of the name that AuthUser returns. The value is a pointer, because an interface holds a pointer without allocating.
var authUser = web.NewKey[*string]()

// AuthUser returns the name of the user or client that [BasicAuth] or [KeyAuth] has authenticated. The result ok is false if neither has.
// Pass the Ctx or a context derived from the Ctx.
func AuthUser(ctx context.Context) (name string, ok bool) {
	user, ok := authUser.Get(ctx)
	if !ok {
		return "", false
	}
	return *user, true
}

// maxCredentials is how long the value of Authorization may be, in bytes.
const maxCredentials = 8 << 10

// Causes of 400 and 401.
var (
	errNoCredentials        = errors.New("middleware: the request has no credentials")
	errMalformedCredentials = errors.New("middleware: the credentials of the request are malformed")
	errWrongCredentials     = errors.New("middleware: the credentials of the request are not valid")
)

// unauthorized sets the challenge (RFC 9110 §11.6.1), and returns an error with a status.
func unauthorized(c *web.Ctx, status int, challenge string, cause error) error {
	c.SetHeader(gallop.HeaderWWWAuthenticate, challenge)
	return &web.Error{Status: status, Message: gallop.StatusMessage(status), Err: cause}
}

// credentials returns the value of a header that holds credentials. The cause of err is errNoCredentials or errMalformedCredentials. A
// request with several values is malformed, because another server could read a different one.
func credentials(h *gallop.RequestHeader, name string) (value []byte, err error) {
	lines := h.PeekAll(name)
	switch {
	case len(lines) == 0:
		return nil, errNoCredentials
	case len(lines) > 1 || len(lines[0]) > maxCredentials:
		return nil, errMalformedCredentials
	}
	return lines[0], nil
}

// afterScheme returns what follows a scheme in the value of Authorization, without the spaces between. Schemes ignore case.
func afterScheme(value []byte, scheme string) (rest []byte, ok bool) {
	n := len(scheme)
	if len(value) < n || len(value) > n && value[n] != ' ' {
		return nil, false
	}
	if sent := value[:n]; string(sent) != scheme && !strings.EqualFold(string(sent), scheme) { // most clients send the usual spelling
		return nil, false
	}
	for rest = value[n:]; len(rest) > 0 && rest[0] == ' '; rest = rest[1:] {
	}
	return rest, true
}

// realmOf returns a realm, quoted. It panics with the name of the middleware if the realm cannot be quoted.
func realmOf(middleware, realm, otherwise string) string {
	if realm == "" {
		realm = otherwise
	}
	if strings.ContainsFunc(realm, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		panic(fmt.Sprintf("middleware: %s: the Realm %q has bytes that are not allowed: use printable ASCII without quotes and backslashes", middleware, realm))
	}
	return `realm="` + realm + `"`
}

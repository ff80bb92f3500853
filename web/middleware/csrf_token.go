package middleware

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// A token proves that a page of the app has made the request. The client keeps a random secret in a cookie. The token is an HMAC of
// the secret and of what CSRF.Bind returns. An attacker who can plant a cookie, for example from another host of the domain, cannot make
// the token of another user. In each response, the token is masked with new random bytes. Compression therefore reveals nothing about
// the token (the BREACH attack).

// CSRFToken returns a token for a form or a script, for a [CSRF] with a TokenKey. The page sends the token back in the form field
// "csrf_token" or in the header X-CSRF-Token. The form field works only in URL-encoded forms. CSRFToken sets a cookie, so call
// CSRFToken before the response begins. A token is valid as long as the cookie, and several tokens are valid at the same time.
//
// CSRFToken returns an error if no CSRF with a TokenKey handles the request.
func CSRFToken(c *web.Ctx) (string, error) {
	h, ok := csrfKey.Get(c)
	if !ok {
		return "", errNoCSRFTokens
	}
	return h.token(c)
}

var errNoCSRFTokens = fmt.Errorf("middleware: CSRFToken: no CSRF with a TokenKey handles the request: add it with Use")

// csrfKey is the key of the tokens of a request.
var csrfKey = web.NewKey[*csrfTokens]()

const (
	csrfSize   = 32 // bytes of a secret, an HMAC and a mask
	csrfField  = "csrf_token"
	csrfHeader = "X-CSRF-Token"
)

// csrfTokens makes and checks tokens.
type csrfTokens struct {
	key    []byte
	cookie string
	bind   func(c *web.Ctx) (string, error)
	plain  bool // the cookie may go over http
}

func newCSRFTokens(o CSRF) *csrfTokens {
	if len(o.TokenKey) < 32 {
		panic(fmt.Sprintf("middleware: CSRF: TokenKey has %d bytes: use at least 32 random bytes", len(o.TokenKey)))
	}
	key, err := hkdf.Key(sha256.New, o.TokenKey, nil, "gallop csrf token", csrfSize)
	if err != nil {
		panic("middleware: CSRF: " + err.Error())
	}
	h := &csrfTokens{key: key, cookie: "__Host-csrf", bind: o.Bind, plain: o.Insecure}
	if o.Insecure {
		h.cookie = "csrf"
	}
	return h
}

// secret returns the secret in the cookie of the request, or nil.
func (h *csrfTokens) secret(c *web.Ctx) []byte {
	value := c.CookiesBytes(h.cookie)
	if len(value) != base64.RawURLEncoding.EncodedLen(csrfSize) {
		return nil
	}
	secret := make([]byte, csrfSize)
	if _, err := base64.RawURLEncoding.Strict().Decode(secret, value); err != nil {
		return nil
	}
	return secret
}

// mac returns the token that belongs to a secret, without its mask.
func (h *csrfTokens) mac(c *web.Ctx, secret []byte) ([]byte, error) {
	m := hmac.New(sha256.New, h.key)
	m.Write(secret)
	if h.bind != nil {
		id, err := h.bind(c)
		if err != nil {
			return nil, err
		}
		m.Write([]byte(id))
	}
	return m.Sum(nil), nil
}

// madeSecret is the key of the secret that was made in a request.
var madeSecret = web.NewKey[[]byte]()

func (h *csrfTokens) token(c *web.Ctx) (string, error) {
	secret := h.secret(c)
	if made, ok := madeSecret.Get(c); ok {
		secret = made
	}
	if secret == nil {
		if isTaken(c.RequestCtx()) {
			return "", fmt.Errorf("middleware: CSRFToken: the response has begun, so the cookie cannot be set")
		}
		secret = make([]byte, csrfSize)
		rand.Read(secret)
		if err := c.SetCookie(web.Cookie{
			Name: h.cookie, Value: base64.RawURLEncoding.EncodeToString(secret), HTTPOnly: true, Secure: !h.plain, SameSite: gallop.CookieSameSiteLaxMode,
		}); err != nil {
			return "", err
		}
		madeSecret.Set(c, secret)
	}
	if !isTaken(c.RequestCtx()) {
		c.SetHeader(gallop.HeaderCacheControl, "private, no-store") // a stored page would have the token of one visitor
	}
	mac, err := h.mac(c, secret)
	if err != nil {
		return "", err
	}
	var token [2 * csrfSize]byte
	rand.Read(token[:csrfSize])
	subtle.XORBytes(token[csrfSize:], token[:csrfSize], mac)
	return base64.RawURLEncoding.EncodeToString(token[:]), nil
}

// check returns an error unless the request has a valid token.
func (h *csrfTokens) check(c *web.Ctx) error {
	secret := h.secret(c)
	sent := c.ReqHeaderBytes(csrfHeader)
	if len(sent) == 0 && c.Is("application/x-www-form-urlencoded") {
		sent = []byte(c.FormValue(csrfField))
	}
	var token [2 * csrfSize]byte
	if secret == nil || len(sent) != base64.RawURLEncoding.EncodedLen(len(token)) || bytes.ContainsAny(sent, "\r\n") {
		return forbidden(errCSRFToken)
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(token[:], sent); err != nil {
		return forbidden(errCSRFToken)
	}
	want, err := h.mac(c, secret)
	if err != nil {
		return err
	}
	subtle.XORBytes(token[csrfSize:], token[csrfSize:], token[:csrfSize])
	if !hmac.Equal(token[csrfSize:], want) {
		return forbidden(errCSRFToken)
	}
	return nil
}

package middleware

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gallop-http/gallop/web"
)

// SignedCookies keeps values in cookies that the client can read but not change. Call [SignedCookies.Set] and [SignedCookies.Get] in
// handlers:
//
//	var prefs = &middleware.SignedCookies{Keys: [][]byte{key}}
//
//	err := prefs.Set(c, web.Cookie{Name: "__Host-theme", Value: "dark"})
//	theme, ok := prefs.Get(c, "__Host-theme")
//
// A cookie is valid only under its own name. The time when a cookie expires is in the signed part, so a client cannot keep a cookie for
// longer. But a client can send an older cookie again before the older cookie expires. Do not keep logins in cookies, because the server cannot
// end them: use [Session].
//
// Set makes cookies Secure and HTTPOnly. Handlers read and write cookies by these methods only, so SignedCookies needs no middleware.
// A value can never leave the server without its signature. SignedCookies may be used concurrently. Do not change or copy
// SignedCookies once it is in use.
type SignedCookies struct {
	// Keys are secrets of at least 32 random bytes. The first key signs new cookies, and all keys are accepted. To change the key, put a
	// new key before the old key, and remove the old key when the last cookie that it has signed has expired. All processes of an app need
	// the same Keys. Set and Get panic if Keys is empty or a key is too short.
	Keys [][]byte

	// Lifetime is how long a cookie is valid. Zero means 24 hours. If the MaxAge of a web.Cookie is positive, MaxAge applies instead.
	Lifetime time.Duration

	// Insecure allows the cookies over http, for development. The default is false.
	Insecure bool

	// ReadableByScripts lets the scripts of pages read the cookies. The default is false.
	ReadableByScripts bool

	once sync.Once
	ring cookieRing
}

// EncryptCookies keeps values in cookies that the client can neither read nor change. Apart from the encryption, EncryptCookies works
// like [SignedCookies]. The length of a value is only visible in steps of 32 bytes.
//
// EncryptCookies uses AES-256-GCM. A new key and nonce are derived for each cookie from 192 random bits, so there is no limit to how many
// cookies a key can encrypt.
type EncryptCookies struct {
	// Keys are secrets of at least 32 random bytes. The first key encrypts new cookies, and all keys are accepted: see
	// SignedCookies.Keys. The same Keys may be used for SignedCookies. Set and Get panic if Keys is empty or a key is too short.
	Keys [][]byte

	// Lifetime is how long a cookie is valid. Zero means 24 hours. If the MaxAge of a web.Cookie is positive, MaxAge applies instead.
	Lifetime time.Duration

	// Insecure allows the cookies over http, for development. The default is false.
	Insecure bool

	once sync.Once
	ring cookieRing
}

// ErrCookieTooLong is the error of SignedCookies.Set and EncryptCookies.Set for a cookie that browsers would drop, because its name, value
// and attributes have more than 4,096 bytes in total.
var ErrCookieTooLong = errors.New("middleware: the cookie has more than 4096 bytes, so browsers would drop it: keep the value on the server, for example in a Session")

const (
	maxCookie     = 4096 // bytes of a name and a value that clients keep at least (RFC 6265bis §5.6)
	minCookieKey  = 32
	defaultCookie = 24 * time.Hour
)

// Set sends a cookie with a signed value. The Value may have any bytes. If MaxAge and Expires are zero, the client deletes the cookie when
// the browser session ends. With a negative MaxAge, Set deletes the cookie. Set returns [ErrCookieTooLong] if the cookie is too long.
// Set returns an error if the response has already begun.
func (s *SignedCookies) Set(c *web.Ctx, cookie web.Cookie) error {
	return s.made().set(c, cookie, s.Lifetime, !s.Insecure, !s.ReadableByScripts)
}

// Get returns the value of a cookie of the request. The result ok is false if there is no such cookie, or if it has expired or was not
// signed under this name.
func (s *SignedCookies) Get(c *web.Ctx, name string) (value string, ok bool) {
	return s.made().get(c, name)
}

func (s *SignedCookies) made() *cookieRing {
	s.once.Do(func() { s.ring.fill("SignedCookies", s.Keys, signedSeal) })
	return &s.ring
}

// Set sends a cookie with an encrypted value. See [SignedCookies.Set].
func (s *EncryptCookies) Set(c *web.Ctx, cookie web.Cookie) error {
	return s.made().set(c, cookie, s.Lifetime, !s.Insecure, true)
}

// Get returns the value of a cookie of the request. The result ok is false if there is no such cookie, or if it has expired or was not
// encrypted under this name.
func (s *EncryptCookies) Get(c *web.Ctx, name string) (value string, ok bool) {
	return s.made().get(c, name)
}

func (s *EncryptCookies) made() *cookieRing {
	s.once.Do(func() { s.ring.fill("EncryptCookies", s.Keys, encryptedSeal) })
	return &s.ring
}

// cookieRing seals values with the first key, and opens them with each.
type cookieRing struct {
	keys [][]byte
	how  seal
}

// seal is a way to protect a value. The additional data belongs to the value but is not a part of the result.
type seal struct {
	purpose string
	seal    func(key, additional, plain []byte) []byte
	open    func(key, additional, sealed []byte) (plain []byte, ok bool)
}

// fill derives the keys for one purpose. It panics with the name of the type if a key is too short.
func (r *cookieRing) fill(of string, keys [][]byte, how seal) {
	if len(keys) == 0 {
		panic("middleware: " + of + ": there are no Keys: set one of at least 32 random bytes")
	}
	for i, key := range keys {
		if len(key) < minCookieKey {
			panic(fmt.Sprintf("middleware: %s: key %d has %d bytes: use at least 32 random bytes", of, i, len(key)))
		}
		derived, err := hkdf.Key(sha256.New, key, nil, how.purpose, sha256.Size)
		if err != nil {
			panic("middleware: " + of + ": " + err.Error())
		}
		r.keys = append(r.keys, derived)
	}
	r.how = how
}

var errCookieBegun = errors.New("middleware: the response has begun, so the cookie cannot be set: set cookies before the first byte")

func (r *cookieRing) set(c *web.Ctx, cookie web.Cookie, lifetime time.Duration, secure, hidden bool) error {
	if isTaken(c.RequestCtx()) {
		return errCookieBegun
	}
	cookie.Secure = cookie.Secure || secure
	cookie.HTTPOnly = cookie.HTTPOnly || hidden
	if cookie.MaxAge < 0 {
		cookie.Value = ""
		return c.SetCookie(cookie)
	}
	if lifetime <= 0 {
		lifetime = defaultCookie
	}
	if cookie.MaxAge > 0 {
		lifetime = time.Duration(cookie.MaxAge) * time.Second
	}
	if len(cookie.Value) > maxCookie {
		return ErrCookieTooLong
	}
	plain := appendExpiry(nil, time.Now().Add(lifetime))
	sealed := r.how.seal(r.keys[0], []byte(cookie.Name), append(plain, cookie.Value...))
	cookie.Value = base64.RawURLEncoding.EncodeToString(sealed)
	if len(cookie.Name)+len(cookie.Value)+len(cookie.Path)+len(cookie.Domain)+cookieAttributes > maxCookie {
		return ErrCookieTooLong
	}
	return c.SetCookie(cookie)
}

// cookieAttributes is how long the attributes of a cookie are at most, besides the values of Path and Domain.
const cookieAttributes = len("=; Max-Age=2147483647; Expires=Mon, 02 Jan 2006 15:04:05 GMT; Path=/; Domain=; HttpOnly; Secure; SameSite=Strict; Partitioned")

func (r *cookieRing) get(c *web.Ctx, name string) (value string, ok bool) {
	encoded := c.CookiesBytes(name)
	if len(encoded) == 0 || len(encoded) > maxCookie {
		return "", false
	}
	sealed := make([]byte, base64.RawURLEncoding.DecodedLen(len(encoded)))
	if _, err := base64.RawURLEncoding.Strict().Decode(sealed, encoded); err != nil {
		return "", false
	}
	for _, key := range r.keys {
		plain, ok := r.how.open(key, []byte(name), sealed)
		if !ok {
			continue
		}
		until, rest, ok := cutExpiry(plain)
		if !ok || !time.Now().Before(until) {
			return "", false
		}
		return string(rest), true
	}
	return "", false
}

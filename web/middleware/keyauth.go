package middleware

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// KeyAuth lets only requests with an API key or another bearer token pass (RFC 6750). The client sends the key as
// "Authorization: Bearer KEY". KeyAuth never reads keys from the query or from forms, because URLs end up in logs. Handlers read the name
// of the key with [AuthUser].
//
// A request without a key gets status 401, and a request with a malformed Authorization header gets 400. If the key is not valid, the
// status is 401. If the key lacks a scope, the status is 403. The header WWW-Authenticate says which error it was.
//
// Set Keys, Check or both. To require other scopes for a part of the routes, use a second KeyAuth for these routes.
type KeyAuth struct {
	// Keys lists the keys that are valid. To replace a key without an interruption, list the old and the new key for a while.
	Keys []APIKey

	// Check looks a key up that is not in Keys, for example in a database or as a signed token. Check returns nil and no error if the key
	// is not valid. To look keys up in a database, use the result of [HashAPIKey] instead of the key. Check may be called
	// concurrently. Nil lets only Keys pass.
	Check func(c *web.Ctx, key string) (*APIKey, error)

	// Scopes lists the scopes that a key must have. Nil requires no scope. A scope consists of printable ASCII characters other than
	// spaces, quotes and backslashes.
	Scopes []string

	// Header is a header that holds the key alone, such as "X-Api-Key", instead of Authorization. Empty means Authorization.
	Header string

	// Realm names the part of the server that the key is for. The default is "API".
	Realm string
}

// APIKey describes a key of [KeyAuth].
type APIKey struct {
	// Name is the client that has the key. AuthUser returns Name. Several keys may have the same Name.
	Name string

	// Hash is the hash of the key, as NewAPIKey and HashAPIKey return it. In results of KeyAuth.Check, Hash is not used.
	Hash string

	// Scopes lists what the client may do. Nil means no scopes.
	Scopes []string

	// Expires is the time when the key becomes invalid. The zero time means that the key does not expire.
	Expires time.Time
}

// NewAPIKey returns a new key with 130 random bits, and its hash for [APIKey.Hash]. The key begins with the prefix and an underscore, so that
// people and programs recognize keys that have leaked. Give the key to the client, and store only the hash. NewAPIKey panics if the prefix
// has other characters than letters, digits and "-._".
func NewAPIKey(prefix string) (key, hash string) {
	key = prefix + "_" + rand.Text()
	if !isBearer([]byte(key)) || strings.ContainsFunc(prefix, isNotOfName) {
		panic(fmt.Sprintf("middleware: NewAPIKey: the prefix %q has a character other than letters, digits and -._", prefix))
	}
	return key, HashAPIKey(key)
}

// HashAPIKey returns the hash of a key, for [APIKey.Hash]. The hash is the SHA-256 of the key, in hexadecimal digits. A simple hash is enough
// only for keys that nobody can guess: use random keys of at least 128 bits, such as those of [NewAPIKey].
func HashAPIKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Handler returns the middleware. Handler panics if neither Keys nor Check is set, if two Keys are the same, or if a field is malformed.
func (o KeyAuth) Handler() web.Handler {
	if len(o.Keys) == 0 && o.Check == nil {
		panic("middleware: KeyAuth lets no key pass: set Keys or Check")
	}
	h := &keyAuth{KeyAuth: o, keys: map[[sha256.Size]byte]*APIKey{}}
	keys := slices.Clone(o.Keys)
	for i, key := range keys {
		sum, err := hex.DecodeString(key.Hash)
		if err != nil || len(sum) != sha256.Size {
			panic(fmt.Sprintf("middleware: KeyAuth: the Hash of the key of %q is not a result of HashAPIKey", key.Name))
		}
		if h.keys[[sha256.Size]byte(sum)] != nil {
			panic(fmt.Sprintf("middleware: KeyAuth: the key of %q is listed twice", key.Name))
		}
		h.keys[[sha256.Size]byte(sum)] = &keys[i]
	}
	for _, scope := range o.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			panic(fmt.Sprintf("middleware: KeyAuth: %q cannot be a scope (RFC 6749 §3.3)", scope))
		}
	}
	h.challenge = "Bearer " + realmOf("KeyAuth", o.Realm, "API")
	if o.Header == "" {
		h.Header = gallop.HeaderAuthorization
	} else if strings.ContainsFunc(o.Header, isNotOfName) {
		panic(fmt.Sprintf("middleware: KeyAuth: %q is not the name of a header", o.Header))
	}
	h.scheme = strings.EqualFold(h.Header, gallop.HeaderAuthorization)
	return h.serve
}

// keyAuth is a KeyAuth with its settings parsed.
type keyAuth struct {
	KeyAuth
	keys      map[[sha256.Size]byte]*APIKey
	challenge string
	scheme    bool // the header has the scheme Bearer before the key
}

func (h *keyAuth) serve(c *web.Ctx) error {
	if c.Refused() != nil {
		return c.Next()
	}
	sent, err := h.key(&c.RequestCtx().Request.Header)
	switch {
	case err == errNoCredentials: // without an error code (RFC 6750 §3.1)
		return unauthorized(c, gallop.StatusUnauthorized, h.challenge, err)
	case err != nil:
		return unauthorized(c, gallop.StatusBadRequest, h.challenge+`, error="invalid_request"`, err)
	}
	key, err := h.find(c, sent)
	switch {
	case err != nil:
		return err
	case key == nil || !key.Expires.IsZero() && !time.Now().Before(key.Expires):
		return unauthorized(c, gallop.StatusUnauthorized, h.challenge+`, error="invalid_token"`, errWrongCredentials)
	}
	for _, scope := range h.Scopes {
		if !slices.Contains(key.Scopes, scope) {
			scopes := strings.Join(h.Scopes, " ")
			return unauthorized(c, gallop.StatusForbidden, h.challenge+`, error="insufficient_scope", scope="`+scopes+`"`, fmt.Errorf("middleware: KeyAuth: the key has not all of the scopes %s", scopes))
		}
	}
	return authUser.Set(c, &key.Name).Next()
}

// key returns the key that a request has.
func (h *keyAuth) key(from *gallop.RequestHeader) ([]byte, error) {
	value, err := credentials(from, h.Header)
	if err != nil {
		return nil, err
	}
	if h.scheme {
		rest, ok := afterScheme(value, "Bearer")
		if !ok {
			return nil, errNoCredentials
		}
		value = rest
	}
	if !isBearer(value) {
		return nil, errMalformedCredentials
	}
	return value, nil
}

// isBearer reports whether a key has the form of a bearer token (RFC 6750 §2.1).
func isBearer(key []byte) bool {
	n := len(key)
	for n > 0 && key[n-1] == '=' {
		n--
	}
	for _, b := range key[:n] {
		if !bearerBytes[b] {
			return false
		}
	}
	return n > 0
}

// bearerBytes has true for the bytes of a bearer token before its padding.
var bearerBytes = func() (table [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/") {
		table[b] = true
	}
	return table
}()

// find returns the description of a key, or nil if the key is not valid. It compares hashes only. An attacker who does not know a key cannot
// choose what its hash begins with, so the time of the lookup reveals nothing about the valid keys.
func (h *keyAuth) find(c *web.Ctx, sent []byte) (*APIKey, error) {
	if len(h.keys) > 0 {
		if key := h.keys[sha256.Sum256(sent)]; key != nil {
			return key, nil
		}
	}
	if h.Check != nil {
		return h.Check(c, string(sent))
	}
	return nil, nil
}

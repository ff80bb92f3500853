package oidclogin

import (
	"cmp"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/web"
)

// A login that has begun is kept in an encrypted cookie of the browser:
//
//	seed(32) begun(8) path to return to
//
// The state, the nonce and the PKCE verifier are derived from the seed, the issuer, the client and the redirect URL. A response for one
// provider is therefore useless for another. The name of the cookie ends with the first characters of the state, so each tab has a cookie
// of its own.

const (
	seedSize   = 32
	stateSize  = 43 // 32 bytes in base64
	nameSize   = 8  // characters of the state in the name of the cookie
	maxPending = 5
)

// pending is a login that has begun.
type pending struct {
	seed     [seedSize]byte
	begun    time.Time
	returnTo string
}

// secrets are what the parties of a login know. The provider knows the state, the nonce and, at the end, the verifier.
type secrets struct{ state, nonce, verifier string }

func newPending(now time.Time, returnTo string) pending {
	p := pending{begun: now, returnTo: returnTo}
	rand.Read(p.seed[:])
	return p
}

func (p *pending) encode() string {
	b := binary.BigEndian.AppendUint64(p.seed[:seedSize:seedSize], uint64(p.begun.UnixMilli()))
	return string(append(b, p.returnTo...))
}

func decodePending(value string) (p pending, ok bool) {
	if len(value) < seedSize+8 {
		return p, false
	}
	copy(p.seed[:], value)
	p.begun = time.UnixMilli(int64(binary.BigEndian.Uint64([]byte(value[seedSize:]))))
	p.returnTo = value[seedSize+8:]
	return p, true
}

// derive returns the secrets of a login.
func (l *Login) derive(p pending) secrets {
	of := "\x00" + l.config.Issuer + "\x00" + l.config.ClientID + "\x00" + l.config.RedirectURL
	text := func(purpose string) string {
		b, err := hkdf.Expand(sha256.New, p.seed[:], "gallop oidclogin "+purpose+of, 32)
		if err != nil {
			panic("oidclogin: " + err.Error()) // cannot happen with this length
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return secrets{state: text("state"), nonce: text("nonce"), verifier: text("verifier")}
}

// keep stores a login in a cookie. It deletes the oldest cookies if there are too many.
func (l *Login) keep(c *web.Ctx, begun pending) error {
	type old struct {
		name  string
		begun time.Time
	}
	var all []old
	for key := range c.RequestCtx().Request.Header.Cookies() {
		name := string(key)
		if !strings.HasPrefix(name, l.config.Cookie) || len(name) != len(l.config.Cookie)+nameSize {
			continue
		}
		value, _ := l.cookies.Get(c, name)
		p, _ := decodePending(value) // a cookie that is not valid is the oldest
		all = append(all, old{name, p.begun})
	}
	slices.SortFunc(all, func(a, b old) int { return cmp.Compare(a.begun.UnixMilli(), b.begun.UnixMilli()) })
	for len(all) >= maxPending {
		if err := l.drop(c, all[0].name); err != nil {
			return err
		}
		all = all[1:]
	}
	name := l.config.Cookie + l.derive(begun).state[:nameSize]
	return l.cookies.Set(c, web.Cookie{Name: name, Value: begun.encode(), MaxAge: int(l.config.Lifetime / time.Second)})
}

// drop deletes the cookie of a login.
func (l *Login) drop(c *web.Ctx, name string) error {
	return l.cookies.Set(c, web.Cookie{Name: name, MaxAge: -1})
}

// find returns the login of this browser with the given state, and the name of its cookie.
func (l *Login) find(c *web.Ctx, state string) (p pending, name string, ok bool) {
	if len(state) != stateSize || strings.ContainsFunc(state, func(r rune) bool { return r > 0x7F || !isNameByte(byte(r)) }) {
		return p, "", false
	}
	name = l.config.Cookie + state[:nameSize]
	value, ok := l.cookies.Get(c, name)
	if !ok {
		return p, "", false
	}
	if p, ok = decodePending(value); !ok || subtle.ConstantTimeCompare([]byte(state), []byte(l.derive(p).state)) == 0 {
		return p, "", false
	}
	return p, name, true
}

// isNameByte reports whether a byte is a letter, a digit, "-" or "_". These are the characters of base64 in URLs.
func isNameByte(b byte) bool {
	return b-'a' < 26 || b-'A' < 26 || b-'0' < 10 || b == '-' || b == '_'
}

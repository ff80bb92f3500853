package middleware

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// BasicAuth lets only users with a password pass (RFC 7617). The browser asks for the name and the password. Use BasicAuth over https
// only, because each request contains the password. Handlers read the name of the user with [AuthUser].
//
// A request without valid credentials gets status 401, and a request with malformed credentials gets 400. Add a rate limit before
// BasicAuth, because BasicAuth does not limit how many passwords a client can try.
//
// Set Users, Check or both.
type BasicAuth struct {
	// Users maps names to the hashes of their passwords, as [HashPassword] returns them. A name must not contain a colon. To check a hash,
	// the processor needs a few tenths of a second. BasicAuth therefore remembers correct passwords for one minute, and checks only
	// a few passwords at the same time. For a name that is not in Users, BasicAuth takes equally long.
	Users map[string]string

	// Check reports whether a user who is not in Users has a password. BasicAuth calls Check for each request, and does not
	// remember the result. If Check compares passwords itself, compare them in constant time. Check may be called concurrently. Nil lets
	// only Users pass.
	Check func(c *web.Ctx, user, password string) (bool, error)

	// Realm is the text that some browsers show when they ask for the password. The default is "Restricted".
	Realm string
}

// Handler returns the middleware. Handler panics if neither Users nor Check is set, or if a name, a hash or the Realm is malformed.
func (o BasicAuth) Handler() web.Handler {
	if len(o.Users) == 0 && o.Check == nil {
		panic("middleware: BasicAuth lets no user pass: set Users or Check")
	}
	h := &basicAuth{check: o.Check, users: map[string]*passwordHash{}, challenge: "Basic " + realmOf("BasicAuth", o.Realm, "Restricted") + `, charset="UTF-8"`}
	for name, hash := range o.Users {
		if !isUserText([]byte(name)) || name == "" || strings.Contains(name, ":") {
			panic(fmt.Sprintf("middleware: BasicAuth: %q cannot be the name of a user: it is empty or has a colon or a control character", name))
		}
		p, err := parsePassword(hash)
		if err != nil {
			panic(fmt.Sprintf("middleware: BasicAuth: the password of %q is not a result of HashPassword: %v", name, err))
		}
		h.users[name] = &p
		h.nobody.rounds = max(h.nobody.rounds, p.rounds)
	}
	rand.Read(h.memory.key[:])
	rand.Read(h.nobody.salt[:])
	h.busy = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	return h.serve
}

// basicAuth is a BasicAuth with its settings parsed.
type basicAuth struct {
	check     func(c *web.Ctx, user, password string) (bool, error)
	users     map[string]*passwordHash
	nobody    passwordHash // for names that are not in users
	challenge string
	memory    verifiedMemory
	busy      chan struct{} // has a value for each hash that is computed
}

func (h *basicAuth) serve(c *web.Ctx) error {
	if c.Refused() != nil {
		return c.Next()
	}
	name, password, err := basicCredentials(&c.RequestCtx().Request.Header)
	switch {
	case err == errMalformedCredentials:
		return unauthorized(c, gallop.StatusBadRequest, h.challenge, err)
	case err != nil:
		return unauthorized(c, gallop.StatusUnauthorized, h.challenge, err)
	}
	ok, err := h.verify(c, name, password)
	if err != nil {
		return err
	}
	if !ok {
		return unauthorized(c, gallop.StatusUnauthorized, h.challenge, errWrongCredentials)
	}
	user := name
	return authUser.Set(c, &user).Next()
}

// basicCredentials returns the name and the password of a request.
func basicCredentials(h *gallop.RequestHeader) (name, password string, err error) {
	value, err := credentials(h, gallop.HeaderAuthorization)
	if err != nil {
		return "", "", err
	}
	encoded, ok := afterScheme(value, "Basic")
	if !ok {
		return "", "", errNoCredentials
	}
	var room [128]byte
	decoded, err := strictBase64.AppendDecode(room[:0], encoded)
	if err != nil || !isUserText(decoded) {
		return "", "", errMalformedCredentials
	}
	name, password, ok = strings.Cut(string(decoded), ":")
	if !ok || name == "" {
		return "", "", errMalformedCredentials
	}
	return name, password, nil
}

var strictBase64 = base64.StdEncoding.Strict()

// isUserText reports whether a name, a password or both have only characters that RFC 7617 allows.
func isUserText(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b == 0x7f {
			return false
		}
	}
	return utf8.Valid(text)
}

// verify reports whether a user has a password.
func (h *basicAuth) verify(c *web.Ctx, name, password string) (bool, error) {
	hash, known := h.users[name]
	if !known && h.check != nil {
		return h.check(c, name, password)
	}
	if !known {
		hash = &h.nobody
	}
	sum := h.memory.sum(name, password)
	if known && h.memory.has(sum) {
		return true, nil
	}
	select {
	case h.busy <- struct{}{}:
	default:
		select {
		case h.busy <- struct{}{}:
		case <-c.Done():
			return false, unavailable(c.Err())
		}
	}
	defer func() { <-h.busy }()
	if !hash.matches(password) || !known {
		return false, nil
	}
	h.memory.add(sum)
	return true, nil
}

const (
	verifiedTime = time.Minute
	maxVerified  = 1024
)

// verifiedMemory remembers which credentials are correct. It keeps neither names nor passwords, but an HMAC with a random key.
type verifiedMemory struct {
	key [sha256.Size]byte

	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func (m *verifiedMemory) sum(name, password string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, m.key[:])
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(name)))
	mac.Write(length[:])
	mac.Write([]byte(name))
	mac.Write([]byte(password))
	mac.Sum(sum[:0])
	return sum
}

func (m *verifiedMemory) has(sum [sha256.Size]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	until, ok := m.until[sum]
	return ok && time.Now().Before(until)
}

func (m *verifiedMemory) add(sum [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until == nil || len(m.until) >= maxVerified {
		m.until = map[[sha256.Size]byte]time.Time{}
	}
	m.until[sum] = time.Now().Add(verifiedTime)
}

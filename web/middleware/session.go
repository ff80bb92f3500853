package middleware

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/web"
)

// Session keeps a value of type T for each visitor on the server. The client only has a cookie with a random ID. Make one
// Session, add it to the App, and call its methods in handlers:
//
//	var sessions = &middleware.Session[Visit]{Store: store}
//
//	app.Use(sessions)
//
//	visit, found, err := sessions.Get(c)
//	err := sessions.Update(c, func(v *Visit) error { v.Cart = append(v.Cart, item); return nil })
//	err := sessions.Start(c, "ada", Visit{}) // login
//	err := sessions.End(c)                   // logout
//
// A method reads the Store when a handler first needs the session, and writes to the Store before the method returns. A handler
// can therefore use the session before it starts a stream. If the Store fails, the methods return a web.Error with status 503. Return
// this error from the handler. Do not treat the visitor as logged out.
//
// Session is built to resist attacks:
//
//   - An ID has 130 random bits. The Store only has hashes of IDs, so nobody can log in with a copy of the Store.
//   - Session never adopts an ID that it did not create. Start and Rotate always create a new ID, so an attacker cannot make a
//     visitor log in under an ID that the attacker knows.
//   - Sessions expire in the Store, even if a client keeps the cookie.
//   - Visitors without a session cost no memory, because only Update and Start create sessions.
//
// Values are stored as JSON. Session is safe for several processes that share a Store. If two requests update a session at the same
// time, no change is lost: see [Session.Update].
//
// The zero value keeps sessions in memory, ends a session after 30 minutes without a request, and needs https. Session logs once if it
// sets the cookie for a request over http. Behind a proxy that speaks https, the App only knows about https if web.Config.TrustedProxies
// has the proxy. Do not change or copy a Session once it is in use.
type Session[T any] struct {
	// Store keeps the sessions. Store must also implement Adder and Swapper. If Store is nil, the sessions are kept in a MemoryStore of
	// their own.
	Store Store

	// Cookie is the name of the cookie. The default is "__Host-session". Browsers accept a cookie whose name begins with "__Host-" only
	// from https pages of the same host, so other hosts of the domain cannot overwrite the cookie. Two Sessions that share a Store need
	// different names.
	Cookie string

	// Idle is how long a session lasts without a request that uses it. Zero means 30 minutes. With a negative value, only
	// Absolute limits the lifetime. Session updates the expiry in the Store at most ten times per Idle.
	Idle time.Duration

	// Absolute is how long a session lasts at most after Start or, without Start, after the first Update. Zero means 24 hours. With a
	// negative value, a session lasts as long as it is used.
	Absolute time.Duration

	// RotateEvery is the age at which an ID is replaced with a new ID. Zero means 15 minutes. A negative value turns this off. For 30
	// seconds, the old ID leads to the same session, because parallel requests may still send the old ID.
	RotateEvery time.Duration

	// Persistent makes browsers keep the cookie after they are closed, until Absolute has passed. With a negative Absolute, browsers
	// keep the cookie for 400 days. The default is false: browsers delete the cookie when they are closed.
	Persistent bool

	// SameSite controls whether browsers send the cookie with requests that other sites initiate. The zero value means Lax.
	SameSite gallop.CookieSameSite

	// Insecure allows the cookie over http, for development. The cookie then has no attribute Secure, and the default name of the cookie
	// is "session". Over http, Session creates sessions only for clients on the same machine. For other clients, Update and
	// Start return an error.
	Insecure bool

	once  sync.Once
	core  *sessionCore
	key   web.Key[*visitOf[T]]
	spare sync.Pool
}

// visitOf is the session of one request.
type visitOf[T any] struct {
	sessionVisit
	value   T    // the decoded payload
	decoded bool // value is valid
	home    *Session[T]
}

// Close implements io.Closer. It is called when the request is over.
func (v *visitOf[T]) Close() error {
	home := v.home
	*v = visitOf[T]{home: home}
	home.spare.Put(v)
	return nil
}

// Handler returns the middleware. Handler panics if the Store lacks a method that Session needs, or if the name of the cookie
// requires https although Insecure is set.
//
// If a handler uses the session, the response gets Vary: Cookie. Unless the handler sets Cache-Control, the response also gets
// Cache-Control: private, no-cache. A response that sets the cookie is never stored by shared caches.
func (s *Session[T]) Handler() web.Handler {
	s.once.Do(s.setUp)
	return func(c *web.Ctx) error {
		if _, nested := s.key.Get(c); nested {
			return c.Next()
		}
		v := s.spare.Get().(*visitOf[T])
		s.key.Set(c, v)
		err := c.Next()
		if v.cookieSet {
			keepPrivate(c)
		}
		return err
	}
}

// setUp checks the settings.
func (s *Session[T]) setUp() {
	store := s.Store
	if store == nil {
		store = new(MemoryStore)
	}
	name := s.Cookie
	if name == "" && s.Insecure {
		name = "session"
	} else if name == "" {
		name = "__Host-session"
	}
	if !isCookieName(name) {
		panic(fmt.Sprintf("middleware: Session: %q cannot be the name of a cookie: use up to 64 letters, digits and characters of -_.", name))
	}
	if lower := strings.ToLower(name); s.Insecure && (strings.HasPrefix(lower, "__host-") || strings.HasPrefix(lower, "__secure-")) {
		panic(fmt.Sprintf("middleware: Session: browsers accept the cookie %q only over https: choose another name, or unset Insecure", name))
	}
	s.core = &sessionCore{
		add: need[Adder]("Session", store), swap: need[Swapper]("Session", store), cookie: name, insecure: s.Insecure, persistent: s.Persistent, sameSite: s.SameSite,
		idle: orDefault(s.Idle, 30*time.Minute), absolute: orDefault(s.Absolute, 24*time.Hour), rotate: orDefault(s.RotateEvery, 15*time.Minute),
	}
	s.key = web.NewKey[*visitOf[T]]()
	s.spare.New = func() any { return &visitOf[T]{home: s} }
}

// isCookieName reports whether a name has only bytes that every client accepts.
func isCookieName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, isNotOfName)
}

// orDefault returns d, or otherwise if d is zero. A negative duration becomes zero, which means that there is no limit.
func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

// visit returns the session of the request, loaded. The session may be empty.
func (s *Session[T]) visit(c *web.Ctx) (*visitOf[T], error) {
	v, ok := s.key.Get(c)
	if !ok {
		return nil, errNoSession
	}
	if err := s.core.load(c, &v.sessionVisit); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value of the visitor's session. The result found is false if the visitor has no session. Get never creates a
// session. Changes to the value are not stored: to change the session, call [Session.Update].
func (s *Session[T]) Get(c *web.Ctx) (value T, found bool, err error) {
	v, err := s.visit(c)
	if err != nil || v.key == "" {
		return value, false, err
	}
	if !v.decoded {
		if err := (codec.JSON{}).Decode(v.rec.payload, &v.value); err != nil {
			return value, false, s.malformed(c, v, err)
		}
		v.decoded = true
	}
	return v.value, true, nil
}

// malformed handles a payload that is not a T, for example because a new version of the program has another T. The session
// counts as missing.
func (s *Session[T]) malformed(c *web.Ctx, v *visitOf[T], err error) error {
	c.Log().Warn("session dropped: its value does not fit the type of the session", "error", err)
	failed := s.core.drop(c, &v.sessionVisit)
	var none T
	v.value, v.decoded = none, false
	return failed
}

// Update changes the value of the visitor's session. Update calls the function change with the present value and stores the result. If
// the visitor has no session, the present value is the zero T, and Update creates a session. If change returns an error, Update stores
// nothing and returns the same error. Nothing is written if the value does not change.
//
// If another request has changed the session in the meantime, Update reads the session again and calls change again. The function
// change must therefore be safe to call several times. If another request has ended the session, Update returns a web.Error with status
// 409 and does not create a new session.
//
// Update needs the response header to create a session. It returns an error if the response has already begun.
func (s *Session[T]) Update(c *web.Ctx, change func(value *T) error) error {
	v, err := s.visit(c)
	if err != nil {
		return err
	}
	if v.key != "" {
		if _, _, err := s.Get(c); err != nil { // drops a value of another type
			return err
		}
	}
	v.decoded = false
	return s.core.update(c, &v.sessionVisit, func(payload []byte) ([]byte, error) {
		var value T
		if payload != nil {
			if err := (codec.JSON{}).Decode(payload, &value); err != nil {
				return nil, err
			}
		}
		if err := change(&value); err != nil {
			return nil, err
		}
		return codec.JSON{}.AppendEncode(nil, value, nil)
	})
}

// Start starts a new session with the given value, and ends the session that the visitor has. Call Start at login, after you have
// checked the visitor's password. The argument user is the name or the ID of the user, of up to 200 bytes: see [Session.User] and
// [Session.EndAll]. An empty user is a visitor who is not logged in.
func (s *Session[T]) Start(c *web.Ctx, user string, value T) error {
	v, err := s.visit(c)
	if err != nil {
		return err
	}
	payload, err := codec.JSON{}.AppendEncode(nil, value, nil)
	if err != nil {
		return err
	}
	v.decoded = false
	return s.core.start(c, &v.sessionVisit, user, payload)
}

// Rotate gives the visitor's session a new ID, and the old ID becomes invalid at once. Call Rotate when the visitor gets more rights,
// for example after a second factor. Rotate does nothing if the visitor has no session.
//
// If the visitor logs out at the same time as Rotate, the session ends under its new ID too. For this purpose, a request with the old
// ID can end the session for 30 seconds, by End or Start. Such a request cannot use the session.
func (s *Session[T]) Rotate(c *web.Ctx) error {
	v, err := s.visit(c)
	if err != nil || v.key == "" {
		return err
	}
	v.decoded = false
	return s.core.rotateNow(c, &v.sessionVisit)
}

// User returns the user that [Session.Start] was called with, or "" if the visitor is not logged in.
func (s *Session[T]) User(c *web.Ctx) (string, error) {
	v, err := s.visit(c)
	if err != nil || v.key == "" {
		return "", err
	}
	return v.rec.user, nil
}

// End ends the visitor's session and deletes the cookie. Call End at logout. End does nothing if the visitor has no session.
func (s *Session[T]) End(c *web.Ctx) error {
	v, err := s.visit(c)
	if err != nil {
		return err
	}
	return s.core.end(c, &v.sessionVisit)
}

// EndAll ends all sessions of a user, for example after the user has changed the password. EndAll also ends the session of the
// current request if it belongs to the user. Call [Session.Start] afterwards to keep the current visitor logged in. For sessions with
// a user, each request also reads a key of the user from the Store.
func (s *Session[T]) EndAll(ctx context.Context, user string) error {
	s.once.Do(s.setUp)
	if user == "" {
		return errors.New("middleware: Session.EndAll: user is empty")
	}
	if c, ok := ctx.(*web.Ctx); ok {
		if v, used := s.key.Get(c); used && v.rec.user == user {
			v.clear()
		}
	}
	return s.core.endAll(ctx, user)
}

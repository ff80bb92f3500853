package middleware

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

var (
	errNoSession    = errors.New("middleware: the request did not pass through this Session: add it to the App with Use")
	errSessionBegun = errors.New("middleware: Session: the response has begun, so the cookie cannot be set: use the session before the first byte")
	errSessionHTTP  = errors.New("middleware: Session: Insecure is for development on one machine, and this client is on another machine: use https")
	errSessionUser  = errors.New("middleware: Session.Start: the user is longer than 200 bytes")
	errSessionBusy  = errors.New("middleware: Session: too many requests change the same session at once")
	errSessionEnded = errors.New("middleware: Session: another request has ended the session")
	errSessionID    = errors.New("middleware: Session: the store already has a new random ID")
)

// sessionCore is a Session without its type.
type sessionCore struct {
	add                    Adder
	swap                   Swapper
	cookie                 string
	insecure, persistent   bool
	sameSite               gallop.CookieSameSite
	idle, absolute, rotate time.Duration // 0 is no limit
	hinted                 atomic.Bool   // that browsers drop the cookie
}

// sessionVisit is the session of one request. If key is "", there is no session.
type sessionVisit struct {
	loaded    bool
	cookieSet bool
	now       int64 // when the Store was last read, in Unix milliseconds
	id, key   string
	raw       []byte // as the Store has it
	rec       sessionRecord
	successor string // the ID that Rotate has given to the session of an invalid ID, or ""
}

// hold makes a record the session of the request.
func (v *sessionVisit) hold(id, key string, raw []byte, rec sessionRecord) {
	v.loaded, v.id, v.key, v.raw, v.rec, v.successor = true, id, key, raw, rec, ""
}

// clear makes the request one without a session.
func (v *sessionVisit) clear() { v.hold("", "", nil, sessionRecord{}) }

// How long an old ID leads to the new one, and how many IDs lead to the next one at most.
const (
	moveTime = 30 * time.Second
	maxMoves = 4
)

// load reads the session of the request, unless that has been done.
func (s *sessionCore) load(c *web.Ctx, v *sessionVisit) error {
	if v.loaded {
		return nil
	}
	noteUse(c)
	id := c.CookiesBytes(s.cookie)
	if !isSessionID(id) {
		v.clear()
		return nil
	}
	if err := s.read(c, v, string(id)); err != nil {
		return unavailable(err)
	}
	if err := s.keepAlive(c, v); err != nil {
		v.loaded = false // a second call must not find a session that may be over
		return unavailable(err)
	}
	return nil
}

// forVisitor are the headers of responses that depend on the session.
var forVisitor = func() *gallop.ResponseHeader {
	h := &gallop.ResponseHeader{}
	h.Set(gallop.HeaderVary, gallop.HeaderCookie)
	h.Set(gallop.HeaderCacheControl, "private, no-cache")
	return h
}()

// noteUse keeps shared caches from mixing up visitors.
func noteUse(c *web.Ctx) {
	if isTaken(c.RequestCtx()) {
		return
	}
	if h := &c.RequestCtx().Response.Header; !h.Has(gallop.HeaderVary) && !h.Has(gallop.HeaderCacheControl) {
		h.SetAll(forVisitor)
		return
	}
	c.Vary(gallop.HeaderCookie)
	if len(c.RequestCtx().Response.Header.Peek(gallop.HeaderCacheControl)) == 0 {
		c.SetHeader(gallop.HeaderCacheControl, "private, no-cache")
	}
}

// keepPrivate keeps shared caches from storing a response with the cookie of a session, whatever the handler has said.
func keepPrivate(c *web.Ctx) {
	r := c.RequestCtx()
	if isTaken(r) || isPrivate(r.Response.Header.PeekAll(gallop.HeaderCacheControl)) {
		return
	}
	c.SetHeader(gallop.HeaderCacheControl, "private, no-cache")
}

// isPrivate reports whether lines of Cache-Control keep shared caches from storing the response. The form private="name" is about one header.
func isPrivate(control [][]byte) bool {
	for _, line := range control {
		for directive := range bytes.SplitSeq(line, []byte(",")) {
			directive = bytes.TrimSpace(directive)
			if bytes.EqualFold(directive, []byte("private")) || bytes.EqualFold(directive, []byte("no-store")) {
				return true
			}
		}
	}
	return false
}

// unavailable returns the error for a Store that failed.
func unavailable(err error) error {
	var own *web.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &web.Error{Status: gallop.StatusServiceUnavailable, Message: gallop.StatusMessage(gallop.StatusServiceUnavailable), Err: err}
}

// read reads the session with an ID. The visit is empty afterwards if there is no valid session.
func (s *sessionCore) read(c *web.Ctx, v *sessionVisit, id string) error {
	v.clear()
	v.loaded = false // until all is read
	v.now = nowMillis()
	followed := false
	for range maxMoves {
		key := s.keyOf(id)
		raw, found, err := s.swap.Get(c, key)
		if err != nil {
			return err
		}
		if to, kind, ok := parseMoved(raw, id); found && ok && kind == kindMoved {
			id, followed = to, true
			continue
		} else if found && ok {
			v.successor = to
			break
		}
		rec, ok := parseRecord(raw)
		if !found || !ok {
			break
		}
		if valid, err := s.isValid(c, &rec, v.now); err != nil {
			return err
		} else if !valid {
			if _, err := s.swap.CompareAndDelete(c, key, raw); err != nil {
				return err
			}
			break
		}
		v.hold(id, key, raw, rec)
		if followed && !isTaken(c.RequestCtx()) { // the response with the new cookie may have been lost
			return s.setCookie(c, v)
		}
		return nil
	}
	v.loaded = true
	return nil
}

// isValid reports whether a session is valid at a time in Unix milliseconds.
func (s *sessionCore) isValid(ctx context.Context, rec *sessionRecord, now int64) (bool, error) {
	if s.idle > 0 && now-rec.seen >= s.idle.Milliseconds() || s.absolute > 0 && now-rec.created >= s.absolute.Milliseconds() {
		return false, nil
	}
	if rec.user == "" {
		return true, nil
	}
	epoch, found, err := s.swap.Get(ctx, s.epochOf(rec.user))
	return found && bytes.Equal(epoch, rec.epoch[:]), err
}

// ttl returns how long the Store is to keep a session that is used now.
func (s *sessionCore) ttl(rec *sessionRecord) time.Duration {
	ttl := s.idle
	if s.absolute > 0 {
		left := max(s.absolute-time.Duration(nowMillis()-rec.created)*time.Millisecond, time.Millisecond)
		if ttl == 0 || left < ttl {
			ttl = left
		}
	}
	return ttl
}

// epochTTL returns how long the Store is to keep an epoch: longer than the sessions, which are all touched within Idle.
func (s *sessionCore) epochTTL() time.Duration {
	switch {
	case s.idle > 0:
		return s.idle + time.Minute
	case s.absolute > 0:
		return s.absolute + time.Minute
	}
	return 0
}

// keepAlive extends the session or gives it a new ID, when it is time.
func (s *sessionCore) keepAlive(c *web.Ctx, v *sessionVisit) error {
	if v.key == "" {
		return nil
	}
	now := v.now
	if s.rotate > 0 && now-v.rec.rotated >= s.rotate.Milliseconds() && !isTaken(c.RequestCtx()) && s.mayCreate(c) == nil {
		if done, err := s.renew(c, v, true); err != nil || done {
			return err
		}
		return s.read(c, v, v.id) // another request was faster
	}
	if s.idle == 0 || now-v.rec.seen < s.idle.Milliseconds()/10 {
		return nil
	}
	rec := v.rec
	rec.seen = now
	done, err := s.replace(c, v, rec)
	switch {
	case err != nil:
		return err
	case !done:
		return s.read(c, v, v.id) // another request was faster
	}
	return s.touchEpoch(c, v)
}

// touchEpoch extends the lifetime of the epoch of the session's user.
func (s *sessionCore) touchEpoch(c *web.Ctx, v *sessionVisit) error {
	if v.rec.user == "" {
		return nil
	}
	epoch := v.rec.epoch[:]
	there, err := s.swap.CompareAndSwap(c, s.epochOf(v.rec.user), epoch, epoch, s.epochTTL())
	if err == nil && !there { // EndAll was called just now
		v.clear()
	}
	return err
}

// replace stores another record for the session, unless another request has changed the session.
func (s *sessionCore) replace(c *web.Ctx, v *sessionVisit, rec sessionRecord) (done bool, err error) {
	raw := rec.append(make([]byte, 0, recordHead+len(rec.user)+epochSize+len(rec.payload)))
	done, err = s.swap.CompareAndSwap(c, v.key, v.raw, raw, s.ttl(&rec))
	if err == nil && done {
		rec.payload = raw[len(raw)-len(rec.payload):]
		v.raw, v.rec = raw, rec
	}
	return done, err
}

// maxCookieAge is how long browsers keep a cookie at most (RFC 6265bis §5.5).
const maxCookieAge = 400 * 24 * time.Hour

// setCookie sends the ID to the client.
func (s *sessionCore) setCookie(c *web.Ctx, v *sessionVisit) error {
	v.cookieSet = true
	if !s.insecure && !c.Secure() && !s.hinted.Swap(true) {
		c.Log().Warn("session: the cookie has the attribute Secure, but the server got the request over http, and browsers drop such cookies: use https, " +
			"or set Session.Insecure for development; if a proxy in front of the server speaks https, add its network to Config.TrustedProxies")
	}
	cookie := web.Cookie{Name: s.cookie, Value: v.id, HTTPOnly: true, Secure: !s.insecure || c.Secure(), SameSite: s.sameSite}
	if s.persistent {
		left := maxCookieAge
		if s.absolute > 0 {
			left = min(left, s.absolute-time.Duration(nowMillis()-v.rec.created)*time.Millisecond)
		}
		cookie.MaxAge = int((left + time.Second - 1) / time.Second)
	}
	return c.SetCookie(cookie)
}

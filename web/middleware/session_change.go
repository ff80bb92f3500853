package middleware

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// create stores a record under a new ID. The previous session of the request, if there is one, is left alone.
func (s *sessionCore) create(c *web.Ctx, rec sessionRecord) (made sessionVisit, err error) {
	if err := s.mayCreate(c); err != nil {
		return made, err
	}
	id := newSessionID()
	key, raw := s.keyOf(id), rec.append(nil)
	_, added, err := s.add.Add(c, key, raw, s.ttl(&rec))
	if err == nil && !added {
		err = errSessionID
	}
	if err != nil {
		return made, err
	}
	rec.payload = raw[len(raw)-len(rec.payload):]
	made.hold(id, key, raw, rec)
	return made, nil
}

// mayCreate returns why the response cannot have a cookie, or nil.
func (s *sessionCore) mayCreate(c *web.Ctx) error {
	switch {
	case isTaken(c.RequestCtx()):
		return errSessionBegun
	case s.insecure && !c.Secure() && c.IPAddr().IsValid() && !c.IsFromLocal(): // App.Test has no address
		return errSessionHTTP
	}
	return nil
}

// take makes a created session that of the request, and sets the cookie.
func (s *sessionCore) take(c *web.Ctx, v *sessionVisit, made sessionVisit) error {
	v.hold(made.id, made.key, made.raw, made.rec)
	return s.setCookie(c, v)
}

// renew moves the session to a new ID. It does nothing if another request has changed the session. If gently is set, the old ID leads
// to the new one for a while. Otherwise a client with the old ID can only end the session: a logout that was sent at the same time
// ends the session under its new ID. The new session exists before the old one is given up, and nobody knows its ID until then.
func (s *sessionCore) renew(c *web.Ctx, v *sessionVisit, gently bool) (done bool, err error) {
	rec := v.rec
	rec.rotated = nowMillis()
	rec.seen = rec.rotated
	made, err := s.create(c, rec)
	if err != nil {
		return false, err
	}
	kind := byte(kindReplaced)
	if gently {
		kind = kindMoved
	}
	done, err = s.swap.CompareAndSwap(c, v.key, v.raw, moved(kind, v.id, made.id), moveTime)
	if err != nil || !done {
		return false, errors.Join(err, s.swap.Delete(c, made.key))
	}
	if err := s.take(c, v, made); err != nil {
		return true, err
	}
	return true, s.touchEpoch(c, v)
}

// maxTries is how often a change is tried while other requests change the same session.
const maxTries = 200

// retry reads the session again, after another request has changed it, and waits a little if that happens often.
func (s *sessionCore) retry(c *web.Ctx, v *sessionVisit, try int) error {
	if try > 2 {
		time.Sleep(mathrand.N(time.Duration(min(try, 20)) * 100 * time.Microsecond))
	}
	if err := s.read(c, v, v.id); err != nil {
		return unavailable(err)
	}
	if v.key == "" {
		return &web.Error{Status: gallop.StatusConflict, Message: "the session has ended", Err: errSessionEnded}
	}
	return nil
}

// update changes the payload of the session, or creates a session. A new session has a nil payload.
func (s *sessionCore) update(c *web.Ctx, v *sessionVisit, change func(payload []byte) ([]byte, error)) error {
	if v.key == "" {
		return s.updateNew(c, v, change)
	}
	for try := range maxTries {
		payload, err := change(v.rec.payload)
		if err != nil || bytes.Equal(payload, v.rec.payload) {
			return err
		}
		rec := v.rec
		rec.payload, rec.seen = payload, nowMillis()
		if done, err := s.replace(c, v, rec); err != nil || done {
			return unavailable(err)
		}
		if err := s.retry(c, v, try); err != nil {
			return err
		}
	}
	return unavailable(errSessionBusy)
}

func (s *sessionCore) updateNew(c *web.Ctx, v *sessionVisit, change func(payload []byte) ([]byte, error)) error {
	if err := s.mayCreate(c); err != nil {
		return err
	}
	payload, err := change(nil)
	if err != nil {
		return err
	}
	return s.begin(c, v, sessionRecord{payload: payload})
}

// begin creates a session for the request.
func (s *sessionCore) begin(c *web.Ctx, v *sessionVisit, rec sessionRecord) error {
	now := nowMillis()
	rec.created, rec.rotated, rec.seen = now, now, now
	made, err := s.create(c, rec)
	if err == errSessionBegun || err == errSessionHTTP {
		return err
	}
	if err != nil {
		return unavailable(err)
	}
	return s.take(c, v, made)
}

// start creates a session for a user and ends the present one.
func (s *sessionCore) start(c *web.Ctx, v *sessionVisit, user string, payload []byte) error {
	if len(user) > maxUser {
		return errSessionUser
	}
	if err := s.mayCreate(c); err != nil {
		return err
	}
	rec := sessionRecord{user: user, payload: payload}
	if user != "" {
		if err := s.enter(c, &rec); err != nil {
			return unavailable(err)
		}
	}
	if err := s.drop(c, v); err != nil {
		return err
	}
	return s.begin(c, v, rec)
}

// enter puts the epoch of the user into a record. If the user has no epoch, a new one begins.
func (s *sessionCore) enter(c *web.Ctx, rec *sessionRecord) error {
	key := s.epochOf(rec.user)
	for range maxTries {
		var fresh [epochSize]byte
		rand.Read(fresh[:])
		there, added, err := s.add.Add(c, key, fresh[:], s.epochTTL())
		if err != nil {
			return err
		}
		if added {
			rec.epoch = fresh
			return nil
		}
		kept, err := s.swap.CompareAndSwap(c, key, there, there, s.epochTTL())
		if err != nil {
			return err
		}
		if kept && len(there) == epochSize {
			copy(rec.epoch[:], there)
			return nil
		}
	}
	return errSessionBusy
}

// rotateNow moves the session to a new ID. The old ID becomes invalid.
func (s *sessionCore) rotateNow(c *web.Ctx, v *sessionVisit) error {
	if err := s.mayCreate(c); err != nil {
		return err
	}
	for try := range maxTries {
		if done, err := s.renew(c, v, false); err != nil || done {
			return unavailable(err)
		}
		if err := s.retry(c, v, try); err != nil {
			return err
		}
	}
	return unavailable(errSessionBusy)
}

// end deletes the session and its cookie.
func (s *sessionCore) end(c *web.Ctx, v *sessionVisit) error {
	if err := s.drop(c, v); err != nil {
		return err
	}
	if isTaken(c.RequestCtx()) || len(c.CookiesBytes(s.cookie)) == 0 && !v.cookieSet {
		return nil
	}
	v.cookieSet = true
	return c.SetCookie(web.Cookie{Name: s.cookie, MaxAge: -1, Expires: gallop.CookieExpireDelete, HTTPOnly: true, Secure: !s.insecure || c.Secure(), SameSite: s.sameSite})
}

// drop deletes the session, if there is one. If another request moves the session to a new ID at the same time, drop follows it.
func (s *sessionCore) drop(c *web.Ctx, v *sessionVisit) error {
	for range maxTries {
		if v.key == "" && v.successor == "" {
			return nil
		}
		if v.key == "" {
			if err := s.read(c, v, v.successor); err != nil {
				return unavailable(err)
			}
			continue
		}
		deleted, err := s.swap.CompareAndDelete(c, v.key, v.raw)
		if err != nil {
			return unavailable(err)
		}
		if deleted {
			v.clear()
			return nil
		}
		if err := s.read(c, v, v.id); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(errSessionBusy)
}

// endAll ends the epoch of a user.
func (s *sessionCore) endAll(ctx context.Context, user string) error {
	return unavailable(s.swap.Delete(ctx, s.epochOf(user)))
}

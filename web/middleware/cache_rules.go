package middleware

import (
	"time"

	"github.com/gallop-http/gallop"
)

// The rules of RFC 9111 about freshness, over values, without a store and without a clock.
//
//	        ├───── lifetime ─────┤
//	born ───┬────────────────────┬──────────────────────┬──────────
//	        fresh                stale: while revalidating, if the handler fails

// cacheMeta is what decides whether a stored response may be used. Durations are at least 0.
type cacheMeta struct {
	stored      int64         // when the response was stored, in nanoseconds since 1970
	initialAge  time.Duration // how old it was then (RFC 9111 §4.2.3)
	lifetime    time.Duration // how long it is fresh, from its birth (§4.2.1)
	revalidate  time.Duration // stale-while-revalidate (RFC 5861 §3)
	ifError     time.Duration // stale-if-error (RFC 5861 §4)
	noCache     bool          // each use has to be validated
	mustBeFresh bool          // must-revalidate, proxy-revalidate or s-maxage: never used stale (§4.2.4)
	validators  bool          // it has an ETag or a Last-Modified
	guessed     bool          // its header does not say that it is for all users: only for requests without credentials
}

// age returns how old the response is now.
func (m *cacheMeta) age(now int64) time.Duration {
	return m.initialAge + time.Duration(max(now-m.stored, 0))
}

// left returns how long the response is fresh from now on. It is negative if the response is stale.
func (m *cacheMeta) left(now int64) time.Duration { return m.lifetime - m.age(now) }

// reuse says how a stored response may be used.
type reuse int

const (
	reuseNever             reuse = iota // it has to be validated
	reuseFresh                          // as it is
	reuseStale                          // the client accepts stale responses
	reuseWhileRevalidating              // for some requests, while another one revalidates it
)

// reuse returns how the response may be used for a request (RFC 9111 §4, §5.2.1).
func (m *cacheMeta) reuse(q *requestControl, now int64) reuse {
	age, left := m.age(now), m.left(now)
	switch {
	case m.noCache || q.noCache:
		return reuseNever
	case q.maxAge != unset && age > q.maxAge:
		return reuseNever
	case q.minFresh != unset && left < q.minFresh:
		return reuseNever
	case left > 0:
		return reuseFresh
	case m.mustBeFresh:
		return reuseNever
	case q.maxStale != unset && -left <= q.maxStale:
		return reuseStale
	case m.revalidate > 0 && -left <= m.revalidate && q.maxAge == unset:
		return reuseWhileRevalidating
	}
	return reuseNever
}

// helpsError reports whether the response may be used because the handler has failed.
func (m *cacheMeta) helpsError(q *requestControl, now int64) bool {
	plain := !q.noCache && q.maxAge == unset && q.minFresh == unset
	return plain && !m.noCache && !m.mustBeFresh && m.ifError > 0 && -m.left(now) <= m.ifError
}

// keepUnused is how long a stale response stays in the store so that the handler can validate it.
const keepUnused = time.Hour

// ttl returns how long the store has to keep the response. It is 0 if no request could use the response.
func (m *cacheMeta) ttl() time.Duration {
	if m.noCache && !m.validators {
		return 0
	}
	stale := time.Duration(0)
	if !m.noCache && !m.mustBeFresh {
		stale = max(m.revalidate, m.ifError)
	}
	if m.validators {
		stale = max(stale, keepUnused)
	}
	return max(m.lifetime-m.initialAge+stale, 0)
}

// isStorableStatus reports whether responses with a status are stored. Statuses that describe the request or a failure that may pass are
// not, whatever their header says: a client could make the handler send them to all other clients.
func isStorableStatus(status int) bool {
	switch status {
	case gallop.StatusFound, gallop.StatusSeeOther, gallop.StatusTemporaryRedirect, gallop.StatusUnavailableForLegalReasons:
		return true
	}
	return isHeuristicStatus(status)
}

// isHeuristicStatus reports whether responses with a status may be stored without explicit freshness (RFC 9110 §15.1).
func isHeuristicStatus(status int) bool {
	switch status {
	case gallop.StatusOK, gallop.StatusNonAuthoritativeInfo, gallop.StatusNoContent, gallop.StatusMultipleChoices,
		gallop.StatusMovedPermanently, gallop.StatusPermanentRedirect, gallop.StatusNotFound, gallop.StatusMethodNotAllowed,
		gallop.StatusGone, gallop.StatusRequestURITooLong, gallop.StatusNotImplemented:
		return true
	}
	return false
}

// isFailure reports whether a status means that the handler failed (RFC 5861 §4).
func isFailure(status int) bool {
	switch status {
	case gallop.StatusInternalServerError, gallop.StatusBadGateway, gallop.StatusServiceUnavailable, gallop.StatusGatewayTimeout:
		return true
	}
	return false
}

// cacheable is what is known of a request and its response when a cache decides about storing.
type cacheable struct {
	status        int
	control       responseControl
	authorization bool      // the request has Authorization
	cookie        bool      // the request has Cookie
	expires       time.Time // zero if the header is malformed or has several lines
	hasExpires    bool
	date          time.Time     // the Date of the response, or when it arrived
	modified      time.Time     // Last-Modified, or zero
	tag           bool          // the response has an ETag
	age           time.Duration // the Age of the response
	asked         time.Time     // when the handler was called
	arrived       time.Time     // when it returned
}

// decide returns what to store of a response. ok is false if the response must not be stored (RFC 9111 §3), or if no
// request could use it.
func (a *cacheable) decide(ttl time.Duration, heuristic bool) (m cacheMeta, ok bool) {
	p := &a.control
	if p.noStore || p.private || !isStorableStatus(a.status) || a.authorization && !p.authorized {
		return m, false
	}
	m = cacheMeta{
		stored: a.arrived.UnixNano(), initialAge: a.initialAge(), revalidate: p.whileRevalidate, ifError: p.ifError,
		noCache: p.noCache, mustBeFresh: p.mustRevalidate, validators: a.tag || !a.modified.IsZero(),
	}
	var explicit bool
	if m.lifetime, explicit = a.explicit(); !explicit {
		if !p.public && (a.cookie || a.authorization || !isHeuristicStatus(a.status)) {
			return m, false // it may be meant for one user
		}
		m.guessed = !p.public
		if m.lifetime = ttl; heuristic && !a.modified.IsZero() {
			m.lifetime = a.heuristic()
		}
		if m.lifetime <= 0 && !p.public && !p.noCache {
			return m, false
		}
	}
	return m, m.ttl() > 0
}

// explicit returns the lifetime that the response states (RFC 9111 §4.2.1).
func (a *cacheable) explicit() (lifetime time.Duration, ok bool) {
	switch {
	case a.control.sharedMaxAge != unset:
		return a.control.sharedMaxAge, true
	case a.control.maxAge != unset:
		return a.control.maxAge, true
	case a.hasExpires:
		return min(max(a.expires.Sub(a.date), 0), maxDelta*time.Second), true // 0 if expires is zero
	}
	return 0, false
}

// maxHeuristic is the longest lifetime that is guessed.
const maxHeuristic = 24 * time.Hour

// heuristic returns a tenth of the time since the last change (RFC 9111 §4.2.2).
func (a *cacheable) heuristic() time.Duration {
	return min(max(a.date.Sub(a.modified)/10, 0), maxHeuristic)
}

// initialAge returns how old the response is when it is stored (RFC 9111 §4.2.3).
func (a *cacheable) initialAge() time.Duration {
	apparent := max(a.arrived.Sub(a.date), 0)
	if a.age > 0 {
		apparent = max(apparent, a.age+max(a.arrived.Sub(a.asked), 0))
	}
	return min(apparent, maxDelta*time.Second)
}

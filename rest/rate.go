package rest

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Rate is a rate limit, as the server describes it in the headers of a response.
type Rate struct {
	// Limit is the number of requests that the server allows per window. Limit is 0 if unknown.
	Limit int

	// Remaining is the number of requests that are left in this window. The number is meaningful only if Known returns
	// true.
	Remaining int

	// Reset is when the next window begins. Reset is zero if unknown.
	Reset time.Time

	// Resource is the name that the server gives to the limited resource. Resource is empty if the server sent no name.
	Resource string

	known bool
}

// Known reports whether the server said how many requests are left.
func (r Rate) Known() bool { return r.known }

// Rate returns the rate limit in the headers of the response. The method first reads the RateLimit header, as the
// current and earlier drafts define it (draft-ietf-httpapi-ratelimit-headers). If there is no RateLimit header, it
// reads RateLimit-Remaining, X-RateLimit-Remaining or X-Rate-Limit-Remaining, and their related headers. If RateLimit
// lists several limits, Rate returns the limit with the fewest requests left.
func (r *Response) Rate() Rate { return rateOf(&r.headers, time.Now()) }

func rateOf(f *fields, now time.Time) (rate Rate) {
	if from, to := f.find("RateLimit", foldName); from < to {
		if rate = rateList(strings.Join(f.values[from:to], ","), now); rate.known {
			return rate
		}
	}
	for i := range rateFields {
		name := &rateFields[i]
		remaining, ok := count(f, name.remaining)
		if !ok {
			continue
		}
		rate = Rate{Remaining: clipped(remaining), known: true}
		if limit, ok := count(f, name.limit); ok {
			rate.Limit = clipped(limit)
		}
		if reset, ok := count(f, name.reset); ok {
			rate.Reset = resetAt(reset, now)
		}
		if name, _ := f.get(name.resource, foldName); len(name) <= maxResource {
			rate.Resource = name
		}
		return rate
	}
	return Rate{}
}

// rateFields are the groups of headers, with one number each, that servers use.
var rateFields = []struct{ remaining, limit, reset, resource string }{
	{"RateLimit-Remaining", "RateLimit-Limit", "RateLimit-Reset", "RateLimit-Resource"},
	{"X-RateLimit-Remaining", "X-RateLimit-Limit", "X-RateLimit-Reset", "X-RateLimit-Resource"},
	{"X-Rate-Limit-Remaining", "X-Rate-Limit-Limit", "X-Rate-Limit-Reset", "X-Rate-Limit-Resource"},
}

// count returns the number at the start of a header. The drafts allow a policy after it.
func count(f *fields, name string) (n int64, ok bool) {
	value, ok := f.get(name, foldName)
	if !ok {
		return 0, false
	}
	value, _, _ = strings.Cut(value, ",")
	value, _, _ = strings.Cut(value, ";")
	return number(strings.TrimSpace(value))
}

// number parses digits and cuts off a fraction, which some servers send.
func number(s string) (n int64, ok bool) {
	s, _, _ = strings.Cut(s, ".")
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return n, true
}

// clipped converts n to an int, which may have 32 bits.
func clipped(n int64) int { return int(min(n, math.MaxInt)) }

// resetAt interprets a number as seconds from now, as seconds since 1970, or as milliseconds since 1970, by its
// size.
func resetAt(t int64, now time.Time) time.Time {
	const longAgo, inMillis = 1e8, 1e11
	switch {
	case t < longAgo:
		return now.Add(time.Duration(t) * time.Second)
	case t < inMillis:
		return time.Unix(t, 0)
	case t < 1000*inMillis:
		return time.UnixMilli(t)
	}
	return time.Time{}
}

// rateList parses the RateLimit header: a list of items with parameters, such as "name";r=50;t=30, or the dictionary
// of earlier drafts, such as limit=100, remaining=50, reset=5.
func rateList(value string, now time.Time) (least Rate) {
	var old Rate
	for member := range strings.SplitSeq(value, ",") {
		member = strings.TrimSpace(member)
		if name, text, ok := strings.Cut(member, "="); ok && !strings.ContainsAny(name, `";`) {
			text, _, _ = strings.Cut(text, ";")
			old.set(name, text, now)
			continue
		}
		_, params, _ := strings.Cut(member, ";") // behind the name of a policy, of which several hold at once
		var rate Rate
		for param := range strings.SplitSeq(params, ";") {
			key, text, _ := strings.Cut(strings.TrimSpace(param), "=")
			rate.set(key, text, now)
		}
		if rate.known && (!least.known || rate.Remaining < least.Remaining) {
			least = rate
		}
	}
	if least.known {
		return least
	}
	return old
}

func (r *Rate) set(key, text string, now time.Time) {
	n, ok := number(text)
	if !ok {
		return
	}
	switch key {
	case "r", "remaining":
		r.Remaining, r.known = clipped(n), true
	case "t", "reset":
		r.Reset = now.Add(time.Duration(min(n, 1e9)) * time.Second)
	case "limit":
		r.Limit = clipped(n)
	}
}

// retryAfter returns how long Retry-After asks to wait, by seconds or a date (RFC 9110 §10.2.3). It is negative if
// the header is missing or malformed.
func retryAfter(f *fields, now time.Time) time.Duration {
	value, ok := f.get("Retry-After", foldName)
	if !ok {
		return -1
	}
	value = strings.TrimSpace(value)
	if n, ok := number(value); ok {
		return time.Duration(min(n, 1e9)) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return -1
	}
	return max(at.Sub(now), 0)
}

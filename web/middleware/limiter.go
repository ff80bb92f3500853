package middleware

import (
	"context"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Limiter limits how many requests a client may send. If a client exceeds a limit, Limiter responds with status 429 and the
// header Retry-After before the handler runs:
//
//	app.Use(middleware.Limiter{Rates: []middleware.Rate{{Limit: 100, Window: time.Minute}}})
//
// Responses carry the headers RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), so that clients can slow
// down before they reach a limit.
//
// Register Limiter before middleware that does expensive work. A limit for each user needs a Key that reads the user, so register
// such a Limiter after the middleware that identifies the user.
//
// The zero value allows 100 requests per minute for each IP address.
type Limiter struct {
	// Rates are the limits. A request must be within every limit. If one limit refuses a request, the request does not count
	// toward the limits. The default is one limit of 100 requests per minute.
	Rates []Rate

	// Algorithm selects how Limiter counts. The default is TokenBucket.
	Algorithm RateAlgorithm

	// Key returns the client that a request counts for, such as a user ID. If Key returns an empty string, the request is not
	// limited. Key may be called concurrently. The default is KeyByIP.
	Key func(c *web.Ctx) string

	// Cost returns how many requests this request counts as. A cost of 0 or less does not count. Cost may be called concurrently.
	// By default, each request counts as 1.
	Cost func(c *web.Ctx) int64

	// Refund reports whether a request does not count after all. Limiter calls Refund after the handler has returned, with the
	// handler's error. For example, a Limiter that counts only failed logins returns err == nil here. Refund is not called for
	// refused requests. By default, all requests count.
	Refund func(c *web.Ctx, err error) bool

	// Store keeps the counts. TokenBucket needs a [Taker], and the other algorithms need a [Counter]. By default, each call of
	// Handler creates a MemoryStore, so every process counts for itself.
	//
	// If a client has to wait for at least a second, Limiter refuses its requests for one second without asking the Store, and then
	// asks again. If you delete the counts of a client from the Store, the client may therefore have to wait for up to a second. Each
	// process remembers up to 4,096 refused clients. Limiter always asks a MemoryStore, always asks if Refund is set, and always asks for
	// a SlidingWindow and for a FixedWindow with several Rates or a Cost.
	Store Store

	// Name distinguishes this Limiter from other users of the same Store. Name is required if Store is set. It may contain ASCII
	// letters, digits and the characters "-_./".
	Name string

	// FailClosed makes Limiter respond with 503 if the Store fails. By default, Limiter then counts in a MemoryStore of its own
	// until the Store works again, so each process applies the limits separately.
	FailClosed bool

	// HideHeaders omits the headers RateLimit-Policy and RateLimit. A response with status 429 still has a Retry-After header.
	HideHeaders bool

	// LegacyHeaders adds the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset for clients that expect them.
	// The headers describe the limit that has the fewest requests left. X-RateLimit-Reset is a number of seconds.
	LegacyHeaders bool
}

// Rate is one limit of a [Limiter].
type Rate struct {
	// Limit is the number of requests per Window. Limit must be positive.
	Limit int64

	// Window is the period that Limit applies to. Window must be at least one millisecond.
	Window time.Duration

	// Burst is the number of requests that a client may send at once after a pause. Zero means Limit. With a Burst, a client can send
	// Burst + Limit requests in the first Window, and Limit requests in every later Window. Only TokenBucket supports a Burst.
	Burst int64

	// Name is the name of the limit in the headers. If there are several Rates, their names must differ. Name may contain ASCII letters,
	// digits and the characters "-_./". The default is "default".
	Name string
}

// LimitError is the cause of the [web.Error] that Limiter returns for a refused request.
type LimitError struct {
	Rate       Rate          // Rate is the limit that was exceeded.
	RetryAfter time.Duration // RetryAfter is the time until the request would be allowed. It is negative if its cost exceeds the limit.
}

// Error implements error.
func (e *LimitError) Error() string {
	return "middleware: over the limit of " + e.Rate.String()
}

// Handler returns the middleware. Handler panics if the settings contradict each other.
func (o Limiter) Handler() web.Handler {
	l := o.build()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		s := limitStates.Get().(*limitState)
		defer limitStates.Put(s)
		known, cost := s.setClient(l, c), int64(1)
		if l.Cost != nil {
			cost = l.Cost(c)
		}
		if !known || cost <= 0 {
			return c.Next()
		}
		return l.run(c, s, cost)
	}
}

// limiter is a Limiter whose settings are complete.
type limiter struct {
	Limiter
	take   takeFunc
	inKey  bool     // take reads the key of the only bucket from limitState.key
	backup takeFunc // nil with FailClosed
	denied *denials
	policy string // the value of RateLimit-Policy

	prefix   string   // of the keys of buckets, before the client
	suffixes []string // of the keys, one for each of Rates
	warning  storeWarning

	announced gallop.ResponseHeader // has RateLimit-Policy
}

// takeFunc takes cost out of all buckets, or out of none, and sets their state. It gives back a negative cost.
type takeFunc func(ctx context.Context, cost int64, s *limitState) (taken bool, err error)

// run limits one request.
func (l *limiter) run(c *web.Ctx, s *limitState, cost int64) error {
	s.begin(l)
	if l.denied.find(cost, s.buckets) {
		return l.refuse(c, s)
	}
	take, taken, err := l.takeOr(c, s, cost)
	switch {
	case err != nil:
		return err
	case !taken:
		return l.refuse(c, s)
	}
	l.show(c, s)
	err = c.Next()
	if l.Refund != nil && l.Refund(c, err) {
		if _, failed := take(context.WithoutCancel(c), -cost, s); failed != nil {
			l.warn(c, failed)
		}
	}
	return err
}

// takeOr takes from the Store and, if the Store fails, from the backup. It returns the function that a refund has to call.
func (l *limiter) takeOr(c *web.Ctx, s *limitState, cost int64) (take takeFunc, taken bool, err error) {
	asked := l.clock()
	taken, err = l.take(c, cost, s)
	if err == nil {
		if !taken {
			l.denied.add(cost, asked, s.buckets)
		}
		return l.take, taken, nil
	}
	if gone := c.Err(); gone != nil { // the Store may be well
		return nil, false, gone
	}
	l.warn(c, err)
	if l.backup == nil {
		return nil, false, &web.Error{Status: gallop.StatusServiceUnavailable, Message: gallop.StatusMessage(gallop.StatusServiceUnavailable), Err: err}
	}
	s.beginAgain(l) // because the algorithm may have changed the buckets
	taken, err = l.backup(c, cost, s)
	return l.backup, taken, err
}

// clock returns the time if denials needs it.
func (l *limiter) clock() (now time.Time) {
	if l.denied != nil {
		now = time.Now()
	}
	return now
}

// warn logs that the Store has failed, at most once in 10 seconds.
func (l *limiter) warn(c *web.Ctx, err error) {
	l.warning.log(c, "the store of the rate limiter failed", "limiter", l.Name, err)
}

// refuse returns the error for a request that exceeds a limit.
func (l *limiter) refuse(c *web.Ctx, s *limitState) error {
	l.show(c, s)
	exceeded := s.exceeded()
	cause := &LimitError{Rate: l.Rates[exceeded], RetryAfter: s.buckets[exceeded].RetryAfter}
	if cause.RetryAfter > 0 {
		c.SetHeader(gallop.HeaderRetryAfter, seconds(cause.RetryAfter))
	}
	return &web.Error{Status: gallop.StatusTooManyRequests, Message: gallop.StatusMessage(gallop.StatusTooManyRequests), Err: cause}
}

// KeyByIP returns the IP address of the client, as [web.Ctx.IPAddr] finds it. For an IPv6 address, the result is the network of 64
// bits, because a single client usually has all addresses of such a network. If the address is not known, the result is "local".
func KeyByIP(c *web.Ctx) string { return string(appendIP(nil, c)) }

// appendIP appends the result of KeyByIP to b.
func appendIP(b []byte, c *web.Ctx) []byte {
	addr := c.IPAddr().Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return append(b, "local"...)
	case addr.Is4():
		return addr.AppendTo(b)
	}
	network, _ := addr.Prefix(64)
	return network.Addr().AppendTo(b)
}

package rest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// RateLimit sets how a client handles the server's rate limits. By default, the client remembers the limits. If the
// client expects a refusal, it returns a [RateLimitError] without sending the request.
type RateLimit struct {
	// Ignore makes the client ignore rate limits: the client does not remember limits and does not hold back
	// requests.
	Ignore bool

	// If Wait is set, a call waits until the rate limit allows the call or the context of the call is done. If the
	// server refuses a request because of a limit, the client sends the request once more. The client does not
	// repeat a request whose body can be read only once.
	Wait bool

	// MaxPause is the longest pause after a response with Retry-After, or after the window has no requests left.
	// During the pause, new requests fail without being sent, or wait if Wait is set. 0 means no limit.
	MaxPause time.Duration
}

type rateKey struct{}

type rateChoice int

const (
	rateWait rateChoice = iota + 1
	rateIgnore
)

// WaitForRate returns a context that makes calls wait until the rate limit allows them. See [RateLimit.Wait].
func WaitForRate(ctx context.Context) context.Context {
	return context.WithValue(ctx, rateKey{}, rateWait)
}

// IgnoreRate returns a context whose requests ignore rate limits. With this context, the client sends requests even
// if it expects the server to refuse them. The client still remembers the limits that the responses announce.
func IgnoreRate(ctx context.Context) context.Context {
	return context.WithValue(ctx, rateKey{}, rateIgnore)
}

// limits is what a client knows about the limits of servers. The server counts all requests in a bucket together:
// those of one identity to one origin or, if responses name a resource, to that resource.
type limits struct {
	policy  RateLimit
	mu      sync.Mutex
	buckets map[bucketKey]bucket
	routes  map[routeKey]string // the resource that a route belongs to
}

type bucketKey struct{ credential, origin, resource string }

// everything is the resource of the bucket for all requests of an identity to an origin. No server can send this
// name.
const everything = "\n"

type routeKey struct{ credential, origin, route string }

type bucket struct {
	rate   Rate
	paused time.Time // no requests are sent before this time
}

const (
	maxBuckets  = 4096            // beyond this, all buckets are dropped
	maxResource = 128             // in bytes; longer names are ignored
	clockSkew   = 1 * time.Second // extra wait, because clocks differ and times are cut to seconds
)

// rateLimited is the stage that refuses requests, or delays them.
func (c *Client) rateLimited(next stage) stage {
	l := &c.limits
	if l.policy.Ignore {
		return next
	}
	return func(x *exchange) (*Response, error) {
		choice, _ := x.ctx.Value(rateKey{}).(rateChoice)
		waits := choice == rateWait || choice == 0 && l.policy.Wait
		if choice != rateIgnore {
			if err := l.admit(x, waits); err != nil {
				return nil, err
			}
		}
		resp, err := next(x)
		if err == nil {
			return resp, nil
		}
		var limited *RateLimitError
		if !waits || !errors.As(err, &limited) || !x.body.replayable() || x.acted && !x.isRepeatable() {
			return resp, err
		}
		until, known := limited.until(time.Now())
		if !known {
			return resp, err
		}
		x.log("wait for the rate limit", "until", until)
		if limited.cause = sleepUntil(x.ctx, until); limited.cause != nil {
			return resp, err
		}
		return next(x)
	}
}

// until returns when to send the request again.
func (e *RateLimitError) until(now time.Time) (at time.Time, known bool) {
	switch {
	case e.RetryAfter >= 0:
		return now.Add(e.RetryAfter), true
	case !e.Rate.Reset.IsZero():
		return e.Rate.Reset.Add(clockSkew), true
	}
	return time.Time{}, false
}

// admit returns nil once x may be sent.
func (l *limits) admit(x *exchange, waits bool) error {
	for {
		limited := l.refuses(x, time.Now())
		if limited == nil {
			return nil
		}
		if !waits {
			return limited
		}
		until, _ := limited.until(time.Now())
		x.log("wait for the rate limit", "until", until)
		if limited.cause = sleepUntil(x.ctx, until); limited.cause != nil {
			return limited
		}
	}
}

// refuses returns the error with which the server is expected to refuse x, or nil.
func (l *limits) refuses(x *exchange, now time.Time) *RateLimitError {
	l.mu.Lock()
	key := l.bucketOf(x)
	b := l.buckets[key]
	key.resource = everything
	if all := l.buckets[key]; all.paused.After(b.paused) {
		b.paused = all.paused
	}
	l.mu.Unlock()
	after := time.Duration(-1)
	switch {
	case b.paused.After(now):
		after = b.paused.Sub(now)
	case b.rate.Known() && b.rate.Remaining == 0 && b.rate.Reset.After(now):
	default:
		return nil
	}
	return &RateLimitError{Rate: b.rate, RetryAfter: after, name: x.method + " " + redacted(x.to.String())}
}

// bucketOf returns the key of the bucket for x. The caller holds l.mu.
func (l *limits) bucketOf(x *exchange) bucketKey {
	return bucketKey{x.credential, x.to.origin, l.routes[x.routeKey()]}
}

// routeKey groups requests that the server probably counts together: by the path with its parameters left open, or
// by its first two segments. For a URL, such as that of the next page, the part below the base URL counts.
func (x *exchange) routeKey() routeKey {
	route, _, _ := strings.Cut(x.req.path, "?")
	if _, rest, isURL := strings.Cut(route, "://"); isURL {
		_, route, _ = strings.Cut(rest, "/")
		route = strings.TrimPrefix(route, x.client.base.path[1:])
	}
	if route = strings.TrimPrefix(route, "/"); !strings.Contains(route, "{") {
		first, rest, _ := strings.Cut(route, "/")
		second, _, _ := strings.Cut(rest, "/")
		route = first + "/" + second
	}
	return routeKey{x.credential, x.to.origin, route}
}

// observed is the stage that remembers the rate limits in responses, and adds the request to errors of the
// transport.
func (c *Client) observed(next stage) stage {
	return func(x *exchange) (*Response, error) {
		resp, err := next(x)
		if err != nil {
			return nil, x.failed(err)
		}
		if !c.limits.policy.Ignore && resp.Header("X-From-Cache") == "" {
			if rate := rateOf(&resp.headers, time.Now()); rate.Known() {
				c.limits.note(x, rate.within(c.limits.policy.MaxPause))
			}
		}
		return resp, nil
	}
}

// within returns the rate with its reset at most pause away. 0 means no limit.
func (r Rate) within(pause time.Duration) Rate {
	if latest := time.Now().Add(pause); pause > 0 && r.Reset.After(latest) {
		r.Reset = latest
	}
	return r
}

// note remembers a rate. Responses may arrive out of order. Within one window the lowest number remaining counts,
// and an earlier window is ignored.
func (l *limits) note(x *exchange, rate Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(x, rate.Resource)
	key := l.bucketOf(x)
	b := l.buckets[key]
	const sameWindow = 2 * time.Second
	switch apart := rate.Reset.Sub(b.rate.Reset); {
	case !b.rate.Known() || rate.Reset.IsZero() || apart > sameWindow:
	case !b.rate.Reset.After(time.Now()): // that one is over, also if windows are this short
	case apart < -sameWindow:
		return
	default:
		rate.Remaining = min(rate.Remaining, b.rate.Remaining)
	}
	b.rate = rate
	l.buckets[key] = b
}

// learn remembers which resource x belongs to, and makes room for one more bucket. The caller holds l.mu.
func (l *limits) learn(x *exchange, resource string) {
	if l.buckets == nil || len(l.buckets) >= maxBuckets {
		l.buckets = map[bucketKey]bucket{}
	}
	if l.routes == nil || len(l.routes) >= maxBuckets {
		l.routes = map[routeKey]string{}
	}
	if key := x.routeKey(); resource != "" && l.routes[key] != resource {
		l.routes[key] = resource
	}
}

// pause refuses requests like x for a time, or all requests of the same identity to the origin. It never shortens an
// earlier pause, because responses may arrive out of order.
func (l *limits) pause(x *exchange, rate Rate, all bool, d time.Duration) {
	if l.policy.Ignore {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(x, rate.Resource)
	key := l.bucketOf(x)
	if all {
		key.resource = everything
	}
	b := l.buckets[key]
	if until := time.Now().Add(d); until.After(b.paused) {
		b.paused = until
		l.buckets[key] = b
	}
}

// limitError returns an error if a response reports a rate limit: a 429 (RFC 6585 §4), or a 403 that mentions one.
func (c *Client) limitError(x *exchange, api *APIError) *RateLimitError {
	resp, now := api.Response, time.Now()
	rate := rateOf(&resp.headers, now)
	after := retryAfter(&resp.headers, now)
	used := rate.Known() && rate.Remaining == 0
	switch {
	case api.StatusCode == 429:
	case api.StatusCode == 403 && (used || after >= 0 || api.isAboutRate()):
	default:
		return nil
	}
	if after < 0 && !used && !rate.Reset.IsZero() {
		after = max(rate.Reset.Sub(now), 0)
	}
	if most := c.limits.policy.MaxPause; most > 0 {
		after = min(after, most)
	}
	if after >= 0 && resp.url.origin == x.to.origin { // a redirect may have led to somebody else, whose limit is not that of x
		others := api.isAboutRate() || rate.Known() // something is left of the resource, if there is one, and so it is a limit of another kind
		c.limits.pause(x, rate, !used && others, after)
	}
	return &RateLimitError{Rate: rate, RetryAfter: after, Sent: true, api: api}
}

// isAboutRate reports whether the body of an error is about too many requests. It knows the problem types of the
// RateLimit draft and the pages that GitHub links to.
func (e *APIError) isAboutRate() bool {
	for _, hint := range []string{"#quota-exceeded", "#temporary-reduced-capacity", "#abnormal-usage-detected"} {
		if strings.HasSuffix(e.Type, hint) {
			return true
		}
	}
	return strings.HasSuffix(e.DocsURL, "#abuse-rate-limits") || strings.HasSuffix(e.DocsURL, "secondary-rate-limits")
}

// sleepUntil waits until the given time. It returns an error if ctx ends before that, or would.
func sleepUntil(ctx context.Context, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, limited := ctx.Deadline(); limited && deadline.Before(at) {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

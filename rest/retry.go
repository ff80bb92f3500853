package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/gallop-http/gallop"
)

// Retry sets which requests a client repeats. By default, the client repeats a request after a network error or a
// response with status 408, 502, 503 or 504. By default, the client repeats only requests that are safe to repeat: see
// [Attempt.ReplaySafe]. The client never repeats a request whose body can be read only once, or whose context is done.
type Retry struct {
	// Max is the maximum number of retries of a request. 0 means no retries.
	Max int

	// Wait is the time between the first and the second attempt. The time doubles with every further attempt. From each
	// time, the client subtracts a random part of at most half. 0 means 200 ms.
	Wait time.Duration

	// MaxWait limits the time that the client computes from Wait. If the Retry-After header of a response asks for a
	// wait of more than MaxWait, the client does not send the request again. 0 means 10 s.
	MaxWait time.Duration

	// The If function decides whether to send a request again after a failed attempt. A nil function means the default
	// rule: see [Retry]. The client calls the function only if the body can be sent again, the context is not done, and
	// Max is not reached. If the function returns true although ReplaySafe is false, the server may process the request
	// twice.
	If func(a Attempt) bool

	// Backoff returns the time to wait after an attempt. If Backoff is nil, Wait and MaxWait determine the wait. The
	// server's Retry-After takes precedence over Backoff.
	Backoff func(a Attempt) time.Duration
}

// Attempt describes a failed attempt to send a request.
type Attempt struct {
	// Context is the context of the call.
	Context context.Context

	// Request is the request. Do not change the request.
	Request *Request

	// Response is the response. The client has already read or dropped its body. Response is nil if no response
	// arrived.
	Response *Response

	// Err is the error from the network or from the source of a token. Err is nil if there is a Response.
	Err error

	// Number is the number of this attempt within the call, starting at 1.
	Number int

	// Elapsed is the time since the first attempt began.
	Elapsed time.Duration

	// ReplaySafe is true if repeating the request is safe. A request is safe to repeat if its method is idempotent (RFC
	// 9110 §9.2.2) or it has an Idempotency-Key header. A request is also safe to repeat if it certainly has not
	// reached the server.
	ReplaySafe bool
}

const (
	defaultRetries = 2
	defaultWait    = 200 * time.Millisecond
	defaultMaxWait = 10 * time.Second
)

// retried is the stage that repeats failed requests.
func (c *Client) retried(next stage) stage {
	policy := c.retry
	if policy.Max <= 0 {
		return next
	}
	if policy.Wait <= 0 {
		policy.Wait = defaultWait
	}
	if policy.MaxWait <= 0 {
		policy.MaxWait = defaultMaxWait
	}
	return func(x *exchange) (*Response, error) {
		var begun time.Time
		if policy.If != nil || policy.Backoff != nil {
			begun = time.Now()
		}
		for try := 0; ; try++ {
			resp, err := next(x)
			if err == nil || try >= policy.Max || x.ctx.Err() != nil || !x.body.replayable() {
				return resp, err
			}
			a, wants := policy.judge(x, resp, err)
			if a.Number = try + 1; !begun.IsZero() {
				a.Elapsed = time.Since(begun)
			}
			if !wants(&a) {
				return resp, err
			}
			wait, ok := policy.pause(&a)
			if !ok {
				return resp, err
			}
			x.log("send again", "attempt", try+2, "wait", wait, "reason", hideURL(err))
			if sleepUntil(x.ctx, time.Now().Add(wait)) != nil {
				return resp, err
			}
		}
	}
}

// pause returns how long to wait after an attempt. ok is false if the server asks for more than MaxWait.
func (p *Retry) pause(a *Attempt) (wait time.Duration, ok bool) {
	if a.Response != nil {
		if asked := retryAfter(&a.Response.headers, time.Now()); asked >= 0 {
			return asked, asked <= p.MaxWait
		}
	}
	if p.Backoff != nil {
		return max(p.Backoff(*a), 0), true
	}
	return p.wait(a.Number - 1), true
}

// wait returns how long to wait before the next try.
func (p *Retry) wait(try int) time.Duration {
	d := p.MaxWait
	if p.Wait <= d>>try {
		d = p.Wait << try
	}
	return d/2 + rand.N(d/2+1)
}

// judge returns the attempt that ended with err, and what decides whether there is another one.
func (p *Retry) judge(x *exchange, resp *Response, err error) (a Attempt, wants func(*Attempt) bool) {
	var api *APIError
	var network *RequestError
	var auth *AuthError
	isAuth := errors.As(err, &auth)
	unsent := isAuth && resp == nil // there were no credentials
	a = Attempt{Context: x.ctx, Request: x.req, Response: resp, ReplaySafe: x.isRepeatable() || unsent && !x.acted}
	if resp == nil {
		a.Err = err
	}
	isAPI := errors.As(err, &api)
	isNetwork := !isAPI && errors.As(err, &network)
	if isNetwork {
		a.ReplaySafe = a.ReplaySafe || !x.acted && neverArrived(err)
	}
	if isNetwork && !isAuth {
		a.Response, a.Err = nil, network.Err
	}
	switch {
	case resp != nil && resp.FromCache: // the server was not asked
		return a, never
	case p.If != nil && (isAuth || isAPI || isNetwork):
		return a, func(a *Attempt) bool { return p.If(*a) }
	case isAPI && isPassing(api.StatusCode):
		return a, replaySafe
	case isNetwork && !isUntrusted(err):
		return a, replaySafe
	}
	return a, never
}

func never(*Attempt) bool        { return false }
func replaySafe(a *Attempt) bool { return a.ReplaySafe }

// isUntrusted reports whether a certificate was rejected. Another attempt would not help.
func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// isPassing reports whether a status indicates a temporary problem.
func isPassing(status int) bool {
	return status == 408 || status == 502 || status == 503 || status == 504
}

// isRepeatable reports whether sending x twice has the same effect as sending it once.
func (x *exchange) isRepeatable() bool {
	switch x.method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY":
		return true
	}
	return x.has("Idempotency-Key")
}

// neverArrived reports whether the server certainly did not receive the request.
func neverArrived(err error) bool {
	var known interface{ NotProcessed() bool } // gallop.ClosedError has it
	var dial *gallop.ErrDialWithUpstream
	var op *net.OpError
	return errors.As(err, &dial) || errors.As(err, &known) && known.NotProcessed() || errors.As(err, &op) && op.Op == "dial"
}

package rest

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/gallop-http/gallop"
)

// Retry says what a client sends again. By default that is a request that failed in the network, or was
// answered 408, 502, 503 or 504, if it does no harm: its method is idempotent (RFC 9110 §9.2.2), it has an
// Idempotency-Key, or it certainly has not reached the server. Never if its body cannot be sent
// again, or if the context has ended.
type Retry struct {
	// Max is how often a request is sent again; 0 is never.
	Max int

	// Wait is how long to wait before the first time, twice as long before every further, and
	// from half of it to all, by chance. 200 ms if it is 0.
	Wait time.Duration

	// MaxWait is the longest wait; 10 s if it is 0. An answer whose Retry-After is longer is
	// not retried.
	MaxWait time.Duration

	// If decides instead, if it is not nil. Exactly one of the response, which has no body
	// any more, and the error, of the network or of the source of a token, says what happened.
	If func(r *Request, resp *Response, err error) bool
}

const (
	defaultRetries = 2
	defaultWait    = 200 * time.Millisecond
	defaultMaxWait = 10 * time.Second
)

// retried is the stage that sends again.
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
		for try := 0; ; try++ {
			resp, err := next(x)
			if err == nil || try >= policy.Max || x.ctx.Err() != nil || !x.body.replayable() || !policy.wants(x, resp, err) {
				return resp, err
			}
			wait := policy.wait(try)
			if resp != nil {
				if asked := retryAfter(&resp.headers, time.Now()); asked > policy.MaxWait {
					return resp, err
				} else if asked >= 0 {
					wait = asked
				}
			}
			if sleepUntil(x.ctx, time.Now().Add(wait)) != nil {
				return resp, err
			}
		}
	}
}

// wait returns how long to wait before the next try.
func (p *Retry) wait(try int) time.Duration {
	d := p.MaxWait
	if p.Wait <= d>>try {
		d = p.Wait << try
	}
	return d/2 + rand.N(d/2+1)
}

// wants reports whether to send x again, which ended with err.
func (p *Retry) wants(x *exchange, resp *Response, err error) bool {
	var api *APIError
	var network *RequestError
	var auth *AuthError
	isAuth := errors.As(err, &auth)
	without := isAuth && resp == nil // there were no credentials, and nothing was sent
	switch isAPI := errors.As(err, &api); {
	case resp != nil && resp.FromCache: // the server was not asked
	case p.If != nil && (isAuth || isAPI):
		if resp != nil { // which says it all
			err = nil
		}
		return p.If(x.req, resp, err)
	case isAPI:
		return isPassing(api.StatusCode) && (x.isRepeatable() || without && !x.acted)
	case errors.As(err, &network):
		if p.If != nil {
			return p.If(x.req, nil, network.Err)
		}
		var untrusted *tls.CertificateVerificationError
		return !errors.As(err, &untrusted) && (x.isRepeatable() || !x.acted && (without || neverArrived(err)))
	}
	return false
}

// isPassing reports whether a status says that it may be better soon.
func isPassing(status int) bool {
	return status == 408 || status == 502 || status == 503 || status == 504
}

// isRepeatable reports whether sending x twice is as good as once.
func (x *exchange) isRepeatable() bool {
	switch x.method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY":
		return true
	}
	return x.has("Idempotency-Key")
}

// neverArrived reports whether the server has certainly not seen the request.
func neverArrived(err error) bool {
	var known interface{ NotProcessed() bool } // gallop.ClosedError has it
	var dial *gallop.ErrDialWithUpstream
	var op *net.OpError
	return errors.As(err, &dial) || errors.As(err, &known) && known.NotProcessed() || errors.As(err, &op) && op.Op == "dial"
}

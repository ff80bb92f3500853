package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Timeout gives handlers a deadline: that of Ctx.Context, and of the Ctx itself. A handler that passes the context on, to
// a database or to another server, is told when the time is over, and the error that it returns because of that
// is answered with 503.
//
// Handlers run on where they are, and nothing answers in their place: one that does not look at the context takes
// as long as it takes, and what it answers then is sent. So there is never a handler that works on a request
// which is somebody else's by now. gallop.TimeoutHandler is the other way.
//
// The zero value gives 30 seconds.
type Timeout struct {
	// After is the time; 30 seconds by default.
	After time.Duration

	// Status is that of the answer: 503 by default, 504 for gateways (RFC 9110 §15.6.4, §15.6.5).
	Status int
}

// Handler returns the middleware. Its error is a web.Error of that status with a TimeoutError.
func (o Timeout) Handler() web.Handler {
	if o.After <= 0 {
		o.After = 30 * time.Second
	}
	if o.Status == 0 {
		o.Status = gallop.StatusServiceUnavailable
	}
	return func(c *web.Ctx) error {
		around := c.Context()
		ctx, cancel := context.WithTimeout(around, o.After)
		defer func() {
			c.SetContext(around)
			cancel()
		}()
		c.SetContext(ctx)
		err := c.Next()
		if isTimeout(err) && ctx.Err() == context.DeadlineExceeded {
			return &web.Error{Status: o.Status, Message: gallop.StatusMessage(o.Status), Err: &TimeoutError{After: o.After, Err: err}}
		}
		return err
	}
}

// isTimeout reports whether err says that time was over: also as the network says it, which learns of the deadline by
// one of its own.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

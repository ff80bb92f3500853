package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Timeout sets a deadline on Ctx.Context and on the Ctx itself. Database calls and HTTP requests that use either context
// fail when the deadline passes. If the handler returns a timeout error after the deadline, the response is a 503.
//
// Timeout does not interrupt a handler. If a handler ignores the context, Timeout waits until the handler returns, and the
// server sends the response of the handler. Timeout therefore never leaves a handler running after its request has ended. In
// contrast, [gallop.TimeoutHandler] responds with 408 as soon as the time limit has passed, and the handler continues to run on
// another goroutine. Use gallop.TimeoutHandler for handlers that cannot watch a context.
//
// The zero value allows 30 seconds.
type Timeout struct {
	// The field After is the time limit. Zero or less means 30 seconds.
	After time.Duration

	// Status is the status of the web.Error that Timeout returns. Zero means 503. Set 504 in a gateway (RFC 9110 §15.6.4,
	// §15.6.5).
	Status int
}

// Handler returns the middleware. After a timeout, the middleware returns a web.Error with the configured Status and a
// [TimeoutError] as its cause.
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

// isTimeout reports whether err is a timeout. Network calls return timeout errors of their own instead of
// context.DeadlineExceeded.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// CircuitBreaker stops calling handlers that keep failing, for example because a database is down. While the circuit is open,
// CircuitBreaker responds with status 503 and the header Retry-After, and the handlers do not run. The failing system gets time to
// recover, and clients do not wait for timeouts.
//
// After a pause, CircuitBreaker lets a few requests through as probes. If the probes succeed, the circuit closes and all requests
// run again. If a probe fails, the circuit stays open for another pause.
//
// CircuitBreaker logs to Ctx.Log when the circuit opens, at level Warn, and when it closes, at level Info with the number of refused
// requests. Requests that meet an open circuit are logged at level Debug. A [Logger] logs their status like any other.
//
// Each call of Handler makes one circuit. Add CircuitBreaker to the routes that depend on the same system:
//
//	reports := app.Group("/reports", middleware.CircuitBreaker{})
//
// With the zero value, the circuit opens if half of at least 20 requests fail within 10 seconds.
type CircuitBreaker struct {
	// Ratio is the share of failed requests at which the circuit opens, from 0 to 1. Zero means 0.5.
	Ratio float64

	// MinRequests is the number of requests that must have finished within Window before the circuit can open. Zero means 20.
	MinRequests int

	// Window is the time over which CircuitBreaker counts requests. Zero means 10 seconds.
	Window time.Duration

	// OpenFor is the pause before CircuitBreaker sends probes. Zero means 5 seconds.
	OpenFor time.Duration

	// Probes is the number of probes. All probes must succeed to close the circuit. Zero means 1.
	Probes int

	// Failed reports whether a request failed. Failed is called after the handlers have returned, with their error. By default, a
	// request fails if its status is 500 or above, or if its handler returns an error whose status would be 500 or above. By
	// default, a request that the client canceled counts neither as failed nor as successful. A panic always counts as a failure.
	Failed func(c *web.Ctx, err error) bool

	// OnChange is called after the circuit has opened (open is true) or closed (open is false). Calls do not overlap, but OnChange
	// delays the request that caused the change. OnChange may be nil.
	OnChange func(open bool)
}

// ErrCircuitOpen is the cause of the [web.Error] that [CircuitBreaker] returns while its circuit is open.
var ErrCircuitOpen = errors.New("middleware: the circuit is open, because too many requests failed")

// Handler returns the middleware. Handler panics if a setting is out of its range.
func (o CircuitBreaker) Handler() web.Handler {
	k := o.circuit()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		turn, wait := k.enter(time.Now())
		if wait > 0 {
			return circuitOpen(c, wait)
		}
		result := failure // unless the handlers return
		defer func() {
			if change := k.leave(turn, result, time.Now()); change != nil {
				k.tell(c, change)
			}
		}()
		err := c.Next()
		result = o.judge(c, err)
		return err
	}
}

// circuit checks the settings and returns a new circuit.
func (o CircuitBreaker) circuit() *circuit {
	if o.Ratio < 0 || o.Ratio > 1 || o.MinRequests < 0 || o.Window < 0 || o.OpenFor < 0 || o.Probes < 0 {
		panic(fmt.Sprintf("middleware: a setting of CircuitBreaker is out of its range: Ratio %v, MinRequests %d, Window %v, OpenFor %v, Probes %d",
			o.Ratio, o.MinRequests, o.Window, o.OpenFor, o.Probes))
	}
	k := &circuit{ratio: 0.5, least: 20, slot: time.Second, pause: 5 * time.Second, probes: 1, changed: o.OnChange}
	if o.Ratio > 0 {
		k.ratio = o.Ratio
	}
	if o.MinRequests > 0 {
		k.least = o.MinRequests
	}
	if o.Window > 0 {
		k.slot = max(o.Window/circuitSlots, 1)
	}
	if o.OpenFor > 0 {
		k.pause = o.OpenFor
	}
	if o.Probes > 0 {
		k.probes = o.Probes
	}
	return k
}

// tell logs a change of the circuit and calls OnChange.
func (k *circuit) tell(c *web.Ctx, change *circuitChange) {
	k.changing.Lock()
	defer k.changing.Unlock()
	if change.open {
		c.Log().Warn("circuit opened, because too many requests failed", "failed", change.failed, "of", change.all, "pause", k.pause)
	} else {
		c.Log().Info("circuit closed", "refused", change.refused)
	}
	if k.changed != nil {
		k.changed(change.open)
	}
}

// judge returns the outcome of a request.
func (o CircuitBreaker) judge(c *web.Ctx, err error) outcome {
	failed := false
	switch {
	case o.Failed != nil:
		failed = o.Failed(c, err)
	case errors.Is(err, context.Canceled):
		return canceled
	default:
		failed = statusAfter(c, err) >= gallop.StatusInternalServerError
	}
	if failed {
		return failure
	}
	return success
}

// statusAfter returns the status of the response, or the status that an error handler would choose for err.
func statusAfter(c *web.Ctx, err error) int {
	if err == nil {
		return c.RequestCtx().Response.StatusCode()
	}
	var e *web.Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 600 {
		return e.Status
	}
	return gallop.StatusInternalServerError
}

// circuitOpen returns the error for a request that meets an open circuit. A random part of Retry-After keeps clients from returning
// all at once.
func circuitOpen(c *web.Ctx, wait time.Duration) error {
	if c.MarkErrorLogged() {
		c.Log().Debug("circuit is open: request refused")
	}
	c.SetHeader(gallop.HeaderRetryAfter, seconds(wait+rand.N(wait/4+time.Second)))
	return &web.Error{Status: gallop.StatusServiceUnavailable, Message: gallop.StatusMessage(gallop.StatusServiceUnavailable), Err: ErrCircuitOpen}
}

package middleware

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// LoadShed limits the number of requests in progress. If there are too many, LoadShed responds with status 503 and the header
// Retry-After before the handler runs. Under overload, the server thus responds to some requests in time, instead of to all requests too late.
//
// By default, LoadShed adapts the limit to the response times of the handlers. The limit grows while response times stay stable, and
// shrinks when they rise. Routes with very different response times should not share a limit: each call of Handler makes a limit of
// its own, so add LoadShed to each group of similar routes.
//
// A request is in progress until its response has been sent, so slow readers of large responses count too.
//
// The zero value adapts the limit between 10 and 1,000 requests.
type LoadShed struct {
	// Limit is the maximum number of requests in progress. Zero means that LoadShed adapts the limit.
	Limit int

	// Min and Max are the bounds of an adapted limit. Zero means 10 and 1,000. The limit starts at Min.
	Min, Max int

	// Priority returns how important a request is. Priority may be called concurrently. Derive the priority from the route or from
	// the user, not from a header that any client can set. By default, every request has the priority Normal.
	Priority func(c *web.Ctx) Priority
}

// Priority is the importance of a request for [LoadShed].
type Priority uint8

const (
	// Normal requests run while fewer requests than the limit are in progress.
	Normal Priority = iota

	// Critical requests always run, for example health checks and the requests of administrators. They count toward the limit.
	Critical

	// Sheddable requests run while less than 80 % of the limit are in progress, for example prefetches.
	Sheddable
)

// ErrOverloaded is the cause of the [web.Error] that [LoadShed] returns for a refused request.
var ErrOverloaded = errors.New("middleware: too many requests are in progress")

// Handler returns the middleware. Handler panics if the settings contradict each other.
func (o LoadShed) Handler() web.Handler {
	g := o.gate()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		priority := Normal
		if o.Priority != nil {
			priority = o.Priority(c)
		}
		if !g.enter(priority) {
			return overloaded(c)
		}
		visit := &visit{gate: g}
		c.SetLocal(visit, visit) // which is closed when the request is over
		begun := time.Now()
		err := c.Next()
		if err == nil { // errors are often faster than responses
			g.measured(time.Since(begun))
		}
		return err
	}
}

// gate checks the settings and returns a new gate.
func (o LoadShed) gate() *gate {
	g := new(gate)
	switch {
	case o.Limit < 0 || o.Min < 0 || o.Max < 0:
		panic(fmt.Sprintf("middleware: LoadShed needs limits of at least 0: Limit %d, Min %d, Max %d", o.Limit, o.Min, o.Max))
	case o.Limit > 0 && (o.Min > 0 || o.Max > 0):
		panic("middleware: LoadShed has a fixed Limit, so Min and Max have no effect: remove them or Limit")
	case o.Limit > 0:
		g.limit.Store(int64(o.Limit))
		return g
	}
	least, most := o.Min, o.Max
	if least == 0 {
		least = 10
	}
	if most == 0 {
		most = max(1000, least)
	}
	if least > most {
		panic(fmt.Sprintf("middleware: LoadShed has a Min of %d over its Max of %d", least, most))
	}
	g.adapt = &gradient{limit: float64(least), min: float64(least), max: float64(most)}
	g.limit.Store(int64(least))
	return g
}

// overloaded returns the error for a refused request. The random Retry-After keeps clients from returning all at once.
func overloaded(c *web.Ctx) error {
	c.SetHeader(gallop.HeaderRetryAfter, seconds(time.Second+rand.N(3*time.Second)))
	return &web.Error{Status: gallop.StatusServiceUnavailable, Message: gallop.StatusMessage(gallop.StatusServiceUnavailable), Err: ErrOverloaded}
}

// visit is a request in progress. It is stored as a local, which the server closes when the request is over.
type visit struct{ gate *gate }

// Close implements io.Closer.
func (v *visit) Close() error {
	v.gate.inProgress.Add(-1)
	return nil
}

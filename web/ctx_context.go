package web

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// setContext is a context that the methods of a Ctx stand for.
type setContext struct {
	context.Context
	own   bool                    // it is SetContext's, and not that of middleware of net/http
	asked atomic.Pointer[derived] // nil as long as nobody asked for Done
}

// derived is a context of package context. Others that are derived from a Ctx find it by Value and hold to it, and not to the Ctx,
// which may stand for something else when they learn of its end.
type derived struct{ context.Context }

// kept is what there is of a Ctx for those that asked for Done. They look at it also when the request is over, so that it is
// not used for another one.
type kept struct {
	by      atomic.Bool // somebody
	mu      sync.Mutex
	over    bool // the handler has returned
	cancels []context.CancelFunc
}

// end ends what Done was asked for.
func (k *kept) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	for _, cancel := range k.cancels {
		cancel()
	}
}

// Context returns the context of the request: what SetContext was given, or that of
// the server, which ends when the client goes away, the time is up or the server
// stops. It ends with the handler at the latest.
func (c *Ctx) Context() context.Context {
	if set := c.context.Load(); set != nil {
		return set.Context
	}
	return c.request
}

// isOf is a key whose value is the Ctx that a context was made of.
type isOf struct{}

// SetContext makes ctx the context that Context returns and that the methods of context.Context use. Derive ctx from
// c.Context(). A context derived from c itself would refer to itself, and SetContext panics.
func (c *Ctx) SetContext(ctx context.Context) *Ctx {
	if ctx.Value(isOf{}) == c {
		panic("web: SetContext of a context that is derived from the Ctx: derive it from Ctx.Context")
	}
	c.context.Store(&setContext{Context: ctx, own: true})
	return c
}

// Deadline is that of Context.
func (c *Ctx) Deadline() (deadline time.Time, ok bool) { return c.Context().Deadline() }

// Done is that of Context. It is closed when the handler has returned, at the latest.
func (c *Ctx) Done() <-chan struct{} {
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.by.Load() {
		k.by.Store(true)
		c.request.Done() // so that it is not used again, either
	}
	set := c.context.Load()
	for set == nil {
		c.context.CompareAndSwap(nil, &setContext{Context: c.request})
		set = c.context.Load()
	}
	if d := set.asked.Load(); d != nil {
		return d.Done()
	}
	if set.Context.Done() == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(set.Context)
	set.asked.Store(&derived{ctx})
	if k.cancels = append(k.cancels, cancel); k.over {
		cancel()
	}
	return ctx.Done()
}

// Err is that of Context.
func (c *Ctx) Err() error {
	set := c.context.Load()
	if set == nil {
		return c.request.Err()
	}
	err := set.Context.Err()
	if d := set.asked.Load(); d != nil && err == nil {
		return d.Err()
	}
	return err
}

// Value is that of Context. What SetLocal was given is found by its key.
func (c *Ctx) Value(key any) any {
	if key == (isOf{}) {
		return c
	}
	set := c.context.Load()
	if set == nil {
		return c.request.Value(key)
	}
	if d := set.asked.Load(); d != nil {
		return d.Value(key)
	}
	return set.Context.Value(key)
}

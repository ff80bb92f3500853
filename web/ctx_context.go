package web

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// setContext is the context that the methods of a Ctx delegate to.
type setContext struct {
	context.Context
	own   bool                    // SetContext set it; false for the context of net/http middleware
	asked atomic.Pointer[derived] // nil until Done is called
}

// derived is a context of package context that Done creates. Contexts derived from the Ctx find it through Value and attach to it
// instead of the Ctx. The Ctx may delegate to a different context by the time that they are canceled.
type derived struct{ context.Context }

// kept is the state of a Ctx whose Done was called. Contexts derived from the Ctx look at it even after the request, so such a Ctx
// is not used for another request.
type kept struct {
	by      atomic.Bool // Done was called
	mu      sync.Mutex
	over    bool // the handler has returned
	cancels []context.CancelFunc
}

// end cancels the contexts that Done created.
func (k *kept) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	for _, cancel := range k.cancels {
		cancel()
	}
}

// Context returns the context that SetContext set. If SetContext was not called, Context returns the context that the server made
// for the request. The server's context is done when the client disconnects or the handler returns. The server's context is also
// done when the server stops or the handler's time limit expires.
func (c *Ctx) Context() context.Context {
	if set := c.context.Load(); set != nil {
		return set.Context
	}
	return c.request
}

// isOf is the key under which a context derived from a Ctx holds that Ctx.
type isOf struct{}

// SetContext replaces the context of the request and returns c. The methods Context, Deadline, Done, Err and Value use the new
// context. Derive ctx from c.Context(). If ctx is derived from c itself, SetContext panics.
func (c *Ctx) SetContext(ctx context.Context) *Ctx {
	if ctx.Value(isOf{}) == c {
		panic("web: SetContext of a context that is derived from the Ctx: derive it from Ctx.Context")
	}
	c.context.Store(&setContext{Context: ctx, own: true})
	return c
}

// Deadline implements context.Context. The method returns the deadline of the context that [Ctx.Context] returns.
func (c *Ctx) Deadline() (deadline time.Time, ok bool) { return c.Context().Deadline() }

// Done implements context.Context. Done returns a channel that is closed when the handler has returned or the context from
// [Ctx.Context] is done. The first call of Done allocates memory. After this call, the server does not reuse the Ctx for another
// request.
func (c *Ctx) Done() <-chan struct{} {
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.by.Load() {
		k.by.Store(true)
		c.request.Done() // so that the server does not use its context again, either
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

// Err implements context.Context. Err returns nil until the context from [Ctx.Context] is done.
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

// Value implements context.Context. The method looks up the key in the context that [Ctx.Context] returns. Value also finds
// values that [Ctx.SetLocal] stored. If SetContext set a context that is not derived from c.Context(), Value does not find the
// values of SetLocal.
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

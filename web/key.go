package web

import "context"

// Key identifies a value of type T that belongs to a request, such as the user who is logged in. Middleware sets the value, and
// handlers read it. Make each key once, in a package variable:
//
//	var user = web.NewKey[*User]()
//
//	user.Set(c, u)
//	u, ok := user.Get(c)
//
// Two keys never identify the same value, even if both have the same T. The zero Key is not valid: Set panics, and Get finds
// nothing. Several goroutines may use a Key at once, but only the goroutine that runs the handler may call Set.
type Key[T any] struct{ id *keyID }

// keyID is not empty, so that each has an address of its own.
type keyID struct{ _ byte }

// NewKey returns a new key, which is different from all other keys.
func NewKey[T any]() Key[T] { return Key[T]{new(keyID)} }

// Set stores a value until the request ends, and returns c. The method replaces the value that was stored before. If the value is
// an io.Closer, the framework calls Close when the request ends.
func (k Key[T]) Set(c *Ctx, value T) *Ctx {
	if k.id == nil {
		panic("web: Key.Set: the Key is the zero value: make it with NewKey")
	}
	return c.SetLocal(k.id, value)
}

// Get returns the value that Set stored. The result ok is false if no value was stored. Pass the Ctx or a context derived from
// the Ctx. In a net/http handler, pass the context of the *http.Request.
func (k Key[T]) Get(ctx context.Context) (value T, ok bool) {
	if k.id == nil {
		return value, false
	}
	if c, is := ctx.(*Ctx); is {
		return Local[T](c, k.id)
	}
	value, ok = ctx.Value(k.id).(T)
	return value, ok
}

package web

import "context"

// Key is the key of a value with the type T that belongs to a request, such as the user who is logged in. Make keys with
// NewKey, once, and keep them in variables:
//
//	var user = web.NewKey[*User]()
//
//	user.Set(c, u)
//	u, ok := user.Get(c)
//
// Two keys never stand for the same value. The zero Key is not valid: Set panics, and Get finds nothing. The methods of a Key
// may be called by any number of goroutines at once, but Set only by the goroutine that the Ctx belongs to.
type Key[T any] struct{ id *keyID }

// keyID has a size so that each has an address of its own.
type keyID struct{ _ byte }

// NewKey returns a new key.
func NewKey[T any]() Key[T] { return Key[T]{new(keyID)} }

// Set keeps a value until the request ends, in place of one that was there. If the value has a method Close() error, it is
// called then. It returns c.
func (k Key[T]) Set(c *Ctx, value T) *Ctx {
	if k.id == nil {
		panic("web: Set of a zero Key: make it with NewKey")
	}
	return c.SetLocal(k.id, value)
}

// Get returns the value that Set kept, and whether there is one. ctx is the Ctx or a context derived from it, such as the one
// of the request that a handler of net/http sees.
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

package middleware

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/web"
)

// Store keeps values for a limited time, for sessions and other data that outlives a request. [MemoryStore] is a Store for a
// single process.
//
// Get, Set and Delete are enough for a simple store. Some middleware also needs to read, change and write back a value in one
// atomic step. If two requests read the same value and both write a changed value, the first change is lost. A Store that supports
// atomic steps implements some of the small interfaces [Adder], [Swapper], [Counter], [Toucher] and [Taker]. Middleware checks at
// setup whether its Store implements the interfaces that the middleware needs.
//
// The following rules apply to all methods of Store and of the small interfaces. Package storetest checks these rules:
//
//   - Any number of goroutines may call the methods at the same time, and each call is atomic.
//   - A key is any sequence of bytes. A Store accepts keys of up to 512 bytes. If a key can be longer, use a hash of the key instead.
//   - A value is any sequence of bytes. The Store copies the values that it gets, and returns copies. nil and an empty slice are
//     the same value. A key whose value is empty still exists.
//   - A positive ttl is how long the value lasts. The value does not expire early, so a Store with a coarse clock rounds ttl up. If
//     ttl is 0, the value does not expire. A negative ttl, for example the result of time.Until for a time in the past, is an error.
//   - A key whose value has expired counts as missing. A Store of limited size may also drop values that have not expired.
//   - If ctx is done before the call, a method returns an error and changes nothing. If ctx is canceled or expires while a method
//     waits, the method also returns an error. After an interrupted wait, the caller cannot know whether the Store has made the
//     change.
//   - If a Store cannot tell whether a key exists, it returns an error. A Store never reports a failure as a missing key.
type Store interface {
	// Get returns the value of a key. The result found is false if the key is missing.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)

	// Set stores a value under a key and replaces any value that the key has. If the value is too large for an empty Store, the error
	// is [ErrValueTooLarge].
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Delete removes a key. Delete does nothing if the key is missing.
	Delete(ctx context.Context, key string) error
}

// Adder is a [Store] in which only the first of several callers can claim a key, for example to process a payment once.
type Adder interface {
	Store

	// If the key is missing, Add stores the value under the key and returns added == true. If the key exists, Add changes nothing and
	// returns the existing value.
	Add(ctx context.Context, key string, value []byte, ttl time.Duration) (existing []byte, added bool, err error)
}

// Swapper is a [Store] that can change a value on the condition that no other caller has changed the value in the meantime. To store a
// value only if the key is missing, call [Adder.Add].
type Swapper interface {
	Store

	// CompareAndSwap replaces the value and the ttl of a key if the current value equals the argument old. If the key is missing or
	// has another value, swapped is false and nothing changes.
	CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (swapped bool, err error)

	// CompareAndDelete removes a key if its value equals the argument old. If the key is missing or has another value,
	// deleted is false.
	CompareAndDelete(ctx context.Context, key string, old []byte) (deleted bool, err error)
}

// Counter is a [Store] with counters. The value of a counter is a decimal number as text, such as "-7", in the range of int64. Get
// returns this text, and Set can store such a text.
type Counter interface {
	Store

	// Incr adds n to the number stored under a key and returns the sum. The argument n may be negative or 0. A missing key counts as 0
	// and is created with the given ttl. If the key exists, Incr ignores ttl and does not change the expiry.
	//
	// The result left is the time until the counter expires, rounded up, or 0 if the counter does not expire. If the value is not a
	// number or the sum overflows int64, Incr returns an error and changes nothing.
	Incr(ctx context.Context, key string, n int64, ttl time.Duration) (value int64, left time.Duration, err error)
}

// Toucher is a Store that can extend the lifetime of a value, such as a session, without writing the value again.
type Toucher interface {
	Store

	// Touch sets a new ttl for a key and keeps the value. The ttl means the same as in [Store.Set]. The result found is false if the key
	// is missing.
	Touch(ctx context.Context, key string, ttl time.Duration) (found bool, err error)
}

// need returns s as the interface T. If s lacks a method of T, need panics with the name of the middleware that needs it.
func need[T Store](middleware string, s Store) T {
	capable, ok := s.(T)
	if !ok {
		panic(fmt.Sprintf("middleware: %s needs a Store that is also a %v, such as MemoryStore; %T is not", middleware, reflect.TypeFor[T](), s))
	}
	return capable
}

// storeWarning logs that a Store has failed, at most once in 10 seconds.
type storeWarning struct{ last atomic.Int64 }

// log logs the message. kind and name say which middleware uses the Store.
func (w *storeWarning) log(c *web.Ctx, message, kind, name string, err error) {
	now, last := time.Now().UnixNano(), w.last.Load()
	if now-last >= int64(10*time.Second) && w.last.CompareAndSwap(last, now) {
		c.Log().Warn(message, kind, name, "error", err)
	}
}

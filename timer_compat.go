package gallop

import (
	"sync"
	"time"
)

// The functions below are there for programs that were written against fasthttp.

var timers sync.Pool // of *time.Timer

// AcquireTimer returns a timer from a pool that fires after timeout. Return it with ReleaseTimer.
func AcquireTimer(timeout time.Duration) *time.Timer {
	if t, ok := timers.Get().(*time.Timer); ok {
		t.Reset(timeout)
		return t
	}
	return time.NewTimer(timeout)
}

// ReleaseTimer stops t and returns it to the pool. t need not have fired. Do not use it afterwards.
func ReleaseTimer(t *time.Timer) {
	t.Stop() // nothing is received from its channel after this
	timers.Put(t)
}

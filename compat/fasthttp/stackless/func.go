// Package stackless provides the names of github.com/valyala/fasthttp/stackless. It runs functions on a few
// goroutines whose stacks have grown already. gallop itself does not use it.
package stackless

import (
	"runtime"
	"sync"
)

// queuedPerWorker is the number of calls that may wait for each worker.
const queuedPerWorker = 2048

// NewFunc returns a function that calls f on one of GOMAXPROCS goroutines and waits until f returns. If too many
// calls are waiting, it returns false without calling f. The goroutines run forever.
func NewFunc(f func(ctx any)) func(ctx any) bool {
	if f == nil {
		panic("stackless: nil function")
	}
	workers := runtime.GOMAXPROCS(0)
	calls := make(chan *call, workers*queuedPerWorker)
	start := sync.OnceFunc(func() {
		for range workers {
			go work(calls, f)
		}
	})
	return func(ctx any) bool {
		start()
		c := calling.Get().(*call)
		defer calling.Put(c)
		c.ctx = ctx
		select {
		case calls <- c:
			<-c.done
			c.ctx = nil
			return true
		default:
			c.ctx = nil
			return false
		}
	}
}

type call struct {
	ctx  any
	done chan struct{}
}

var calling = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func work(calls <-chan *call, f func(ctx any)) {
	for c := range calls {
		f(c.ctx)
		c.done <- struct{}{}
	}
}

package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/bench/peers"
	"github.com/redis/go-redis/v9"
)

// The apps whose handlers take their time. Those of event loops may not let others wait for it.
func init() {
	apps["sleep1"] = func(options) peers.App { return after(func() { time.Sleep(time.Millisecond) }) }
	apps["sleep10"] = func(options) peers.App { return after(func() { time.Sleep(10 * time.Millisecond) }) }
	apps["burn5"] = func(options) peers.App { return after(func() { burn(5 * time.Millisecond) }) }
	apps["alternate"] = func(options) peers.App { return after(alternate()) }
	apps["redis"] = func(o options) peers.App { return redisApp(o.redis) }
	apps["mixed-sleep"] = func(options) peers.App { return mixed(func() { time.Sleep(10 * time.Millisecond) }) }
	apps["mixed-burn"] = func(options) peers.App { return mixed(func() { burn(5 * time.Millisecond) }) }
}

// after answers when work is done.
func after(work func()) peers.App {
	return peers.App{
		Handle: func(ctx peers.Context) {
			work()
			hello.Handle(ctx)
		},
		Standard: func(w http.ResponseWriter, r *http.Request) {
			work()
			hello.Standard(w, r)
		},
	}
}

// alternate is quick and slow in turn, so that what one request took says nothing about the next.
func alternate() (work func()) {
	var n atomic.Uint64
	return func() {
		if n.Add(1)%2 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// mixed answers at once, and with ?slow=1 when work is done: one path, so that its requests look alike.
func mixed(work func()) peers.App {
	slow := after(work)
	return peers.App{
		Handle: func(ctx peers.Context) {
			if len(peers.Query(ctx, "slow")) > 0 {
				slow.Handle(ctx)
				return
			}
			hello.Handle(ctx)
		},
		Standard: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("slow") != "" {
				slow.Standard(w, r)
				return
			}
			hello.Standard(w, r)
		},
	}
}

// burn uses a processor for so long: not by the clock, which goes on while others have the processor.
func burn(d time.Duration) { spin(int(float64(d) * turnsPerNanosecond())) }

// spin turns so many times.
func spin(turns int) {
	x := uint64(1)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // it never is, but the compiler does not know that
		panic("a generator of numbers has come to zero")
	}
}

// turnsPerNanosecond is how fast this machine spins: the best of a few tries, in which nobody else had the processor.
var turnsPerNanosecond = sync.OnceValue(func() (best float64) {
	const turns = 1 << 20
	for range 5 {
		start := time.Now()
		spin(turns)
		best = max(best, float64(turns)/float64(time.Since(start)))
	}
	return best
})

// redisApp answers with what a Redis server has for a key.
func redisApp(address string) peers.App {
	const key = "greeting"
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 128})
	if err := client.Set(context.Background(), key, greeting, 0).Err(); err != nil {
		panic(err)
	}
	return peers.App{
		Handle: func(ctx peers.Context) {
			value, err := client.Get(context.Background(), key).Result()
			if err != nil {
				ctx.SetStatusCode(http.StatusBadGateway)
				return
			}
			ctx.SetContentType("text/plain")
			ctx.SetBodyString(value)
		},
		Standard: func(w http.ResponseWriter, r *http.Request) {
			value, err := client.Get(r.Context(), key).Result()
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, value)
		},
	}
}

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

// Apps whose handlers are slow. On event loops other requests must not wait for them.
func init() {
	apps["sleep1"] = func(options) peers.App { return after(func() { time.Sleep(time.Millisecond) }) }
	apps["sleep10"] = func(options) peers.App { return after(func() { time.Sleep(10 * time.Millisecond) }) }
	apps["burn5"] = func(options) peers.App { return after(func() { burn(5 * time.Millisecond) }) }
	apps["alternate"] = func(options) peers.App { return after(alternate()) }
	apps["redis"] = func(o options) peers.App { return redisApp(o.redis) }
	apps["mixed-sleep"] = func(options) peers.App { return mixed(func() { time.Sleep(10 * time.Millisecond) }) }
	apps["mixed-burn"] = func(options) peers.App { return mixed(func() { burn(5 * time.Millisecond) }) }
}

// after responds when work is done.
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

// alternate is fast and slow in turn, so that the duration of one request says nothing about the next one.
func alternate() (work func()) {
	var n atomic.Uint64
	return func() {
		if n.Add(1)%2 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// mixed responds at once, or when work is done if the request has ?slow=1. All requests have the same path.
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

// burn uses CPU time of about d. It does not look at the clock, which also advances while other threads run.
func burn(d time.Duration) { spin(int(float64(d) * turnsPerNanosecond())) }

// spin runs this many iterations.
func spin(turns int) {
	x := uint64(1)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // never true, but the compiler does not know that
		panic("the random number generator returned zero")
	}
}

// turnsPerNanosecond is the speed of spin on this machine. It is the best of several tries, so that interruptions by
// other threads do not count.
var turnsPerNanosecond = sync.OnceValue(func() (best float64) {
	const turns = 1 << 20
	for range 5 {
		start := time.Now()
		spin(turns)
		best = max(best, float64(turns)/float64(time.Since(start)))
	}
	return best
})

// redisApp responds with the value of a key in Redis.
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

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/bench/peers"
)

// Apps with a goroutine that runs beside the server. The server serves hello and must not starve the goroutine.
func init() {
	apps["caller"] = func(o options) peers.App { return beside(call(o.neighbor)) }
	apps["sleeper"] = func(options) peers.App { return beside(sleep) }
}

// besidePath returns the goroutine's measurements since the last request for this path.
const besidePath = "/beside"

// pause is how long the goroutine sleeps between two measurements.
const pause = time.Millisecond

// call returns a function that calls another service and returns how long the call took.
func call(url string) func() time.Duration {
	return func() time.Duration {
		time.Sleep(pause)
		start := time.Now()
		resp, err := http.Get(url)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		return time.Since(start)
	}
}

// sleep sleeps for pause and returns how long that took.
func sleep() time.Duration {
	start := time.Now()
	time.Sleep(pause)
	return time.Since(start)
}

// beside repeats work forever and responds to besidePath with the latencies.
func beside(work func() time.Duration) peers.App {
	var mu sync.Mutex
	var latencies measure.Latencies
	go func() {
		for {
			took := work()
			mu.Lock()
			latencies.Add(took)
			mu.Unlock()
		}
	}()
	report := func() []byte {
		mu.Lock()
		defer mu.Unlock()
		text, _ := json.Marshal(map[string]int64{
			"count": int64(latencies.Count()), "p50": int64(latencies.Quantile(.5)),
			"p95": int64(latencies.Quantile(.95)), "p99": int64(latencies.Quantile(.99)),
		})
		latencies = measure.Latencies{}
		return text
	}
	return peers.App{
		Handle: func(ctx peers.Context) {
			if string(ctx.Path()) == besidePath {
				ctx.SetBody(report())
				return
			}
			hello.Handle(ctx)
		},
		Standard: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == besidePath {
				w.Write(report())
				return
			}
			hello.Standard(w, r)
		},
	}
}

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

// The apps that have a goroutine run beside their server, which otherwise says hello. A server may not starve it.
func init() {
	apps["caller"] = func(o options) peers.App { return beside(call(o.neighbor)) }
	apps["sleeper"] = func(options) peers.App { return beside(sleep) }
}

// besidePath is where the app tells what the goroutine has measured since the last time it was asked.
const besidePath = "/beside"

// pause is how long the goroutine does nothing between two times.
const pause = time.Millisecond

// call calls another service, and returns how long the call took.
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

// sleep returns how long a pause took.
func sleep() time.Duration {
	start := time.Now()
	time.Sleep(pause)
	return time.Since(start)
}

// beside does work over and over, and answers besidePath with the latencies.
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

//go:build linux

// Command soakmixed keeps a server at 70 % of a processor for a long time. Clients send requests of many kinds over HTTP/1.1, HTTP/2 and
// TLS. Other clients are slow, or send malformed requests. The command checks each response, and that the server's memory does not grow.
//
//	go run ./cmd/soakmixed            # ten minutes
//	go run ./cmd/soakmixed -d 1m
//
// The server is examples/arena on processor 0 with GOMAXPROCS=1. The load comes from several processes of gallop-load on processor 1,
// in open loops at random moments. The rate is chosen so that the server is busy for the given share of the time.
//
//	main.go    flags, and the course of a run
//	hall.go    the programs and the server
//	plan.go    the requests
//	load.go    running gallop-load
//	rude.go    slow and malformed clients
//	judge.go   the verdict
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	length time.Duration
	share  float64
	slow   int
	seed   uint64
}

func main() {
	var o options
	flag.DurationVar(&o.length, "d", 10*time.Minute, "duration of the load, not counting the search for the rate before it and a minute after it")
	flag.Float64Var(&o.share, "share", 0.7, "share of the time in which the server is busy")
	flag.IntVar(&o.slow, "slow", 30, "number of slow clients of each kind")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1_000_000_000), "seed of random choices")
	flag.Parse()
	v, err := soak(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soakmixed:", err)
		os.Exit(2)
	}
	fmt.Println(v.line())
	if len(v.missed) > 0 {
		os.Exit(1)
	}
}

// soak runs everything and returns the verdict.
func soak(o options) (v *verdict, err error) {
	fmt.Printf("soakmixed: %v at %.0f %% of a processor, %d slow clients of each kind, seed %d\n", o.length, 100*o.share, o.slow, o.seed)
	h, err := newHall()
	if err != nil {
		return nil, err
	}
	defer h.close()
	loads, err := h.plans(o.seed)
	if err != nil {
		return nil, err
	}
	rate, err := h.search(loads, o.share)
	if err != nil {
		return nil, err
	}
	// The peak of connections is past now, and the descriptors of the server are those that it needs without clients.
	open := h.server.Descriptors()
	fmt.Printf("%.0f requests/s, %d descriptors without clients\n", rate, open)

	v = &verdict{options: o, rate: rate}
	rude := startRude(h.plain, o.slow, o.seed)
	watch := h.watch(o.length)
	cpu := h.cpu()
	start := time.Now()
	results, err := h.run(loads, rate, o.length)
	if err != nil {
		return nil, err
	}
	v.busy = (h.cpu() - cpu).Seconds() / time.Since(start).Seconds()
	v.samples = watch()
	rude.stop()
	v.left = h.await(open)
	v.rude = rude.end()
	v.results = results
	v.require(h.server.Alive(), "the server has ended")
	var others []string
	if v.refusals, others, err = h.logged(); err != nil {
		return nil, err
	}
	for _, line := range others {
		v.require(false, "the server logged: %.200s", line)
	}
	v.judge(os.Stdout)
	return v, nil
}

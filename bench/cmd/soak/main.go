// Command soak checks that a server never mixes up requests. Every request carries a unique ID, the length of its body and a
// checksum in its path, in a header and in its body. The handler compares the three and echoes ID and body. The client compares
// the response with its request. No request may be mixed up, cut short, lost or handled twice.
//
// The clients are raw TCP and unix sockets. They keep connections alive and pipeline up to 16 requests. They send
// chunked bodies with extensions and trailers, HEAD, conditional requests, HTTP/1.0, requests in pieces, and requests
// that end or are reset in the middle.
//
// With -http2, the clients are net/http's over HTTP/2. They send up to 16 requests at a time over each connection, with bodies
// of known and unknown length and trailers, and cancel some requests before the body is complete.
//
// All choices derive from a seed, which is printed. The last line and the exit
// status give the verdict.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/bench/peers"
)

type options struct {
	server   string
	networks string
	requests uint64
	workers  uint64
	seed     uint64
	http2    bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "gallop", "one of "+peers.Names())
	flag.StringVar(&o.networks, "net", "tcp,unix", "networks, separated by commas; clients are spread over them")
	flag.Uint64Var(&o.requests, "requests", 1_000_000, "number of requests, not counting those that are cut off on purpose")
	flag.Uint64Var(&o.workers, "workers", 64, "connections open at a time")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of all choices")
	flag.BoolVar(&o.http2, "http2", false, "clients use HTTP/2 without TLS, with up to 16 requests at a time on a connection")
	flag.Parse()
	ok, err := soak(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func soak(o options) (ok bool, err error) {
	book := newLedger(o.requests)
	server, err := peers.New(o.server, book.app(), peers.Options{Logger: silent{}, H2C: o.http2})
	if err != nil {
		return false, err
	}
	addrs, stop, err := listen(o.networks, func(l net.Listener) { _ = server.Serve(l) })
	if err != nil {
		return false, err
	}
	defer stop()

	version := "HTTP/1"
	if o.http2 {
		version = "HTTP/2"
	}
	fmt.Printf("soak: %s over %s, %s, %d requests, %d workers, seed %d\n", o.server, o.networks, version, o.requests, o.workers, o.seed)
	start := time.Now()
	sum := new(counts)
	var done sync.WaitGroup
	for i := range o.workers {
		done.Go(func() {
			addr := addrs[i%uint64(len(addrs))]
			if o.http2 {
				newWorker2(o, i, addr, sum).run()
			} else {
				newWorker(o, i, addr, sum).run()
			}
		})
	}
	stopProgress := progress(sum, o.requests, start)
	done.Wait()
	stopProgress()
	return verdict(o, book, sum, time.Since(start)), nil
}

// listen opens one listener for each network and runs serve on it.
func listen(networks string, serve func(net.Listener)) (addrs []net.Addr, stop func(), err error) {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, nil, err
	}
	var listeners []net.Listener
	stop = func() {
		for _, l := range listeners {
			l.Close()
		}
		os.RemoveAll(dir)
	}
	for network := range strings.SplitSeq(networks, ",") {
		at := "127.0.0.1:0"
		if network == "unix" {
			at = filepath.Join(dir, "soak.sock")
		}
		l, err := net.Listen(network, at)
		if err != nil {
			stop()
			return nil, nil, err
		}
		listeners = append(listeners, l)
		addrs = append(addrs, l.Addr())
		go serve(l)
	}
	return addrs, stop, nil
}

// counts holds what the clients saw. Workers add to it after each batch.
type counts struct {
	answered atomic.Uint64 // correct responses
	lost     atomic.Uint64 // requests without a response, or after a wrong one
	wrong    atomic.Uint64 // responses to another request, cut short or malformed
	extra    atomic.Uint64 // connections with bytes after the last response
	aborts   atomic.Uint64 // requests that were cut off on purpose
	conns    atomic.Uint64 // connections opened
	batches  atomic.Uint64
	kinds    [kinds]atomic.Uint64
}

func progress(sum *counts, requests uint64, start time.Time) (stop func()) {
	end := make(chan struct{})
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case now := <-tick.C:
				n := sum.answered.Load()
				fmt.Fprintf(os.Stderr, "soak: %d of %d, %.0f/s, %d wrong\n",
					n, requests, float64(n)/now.Sub(start).Seconds(), sum.wrong.Load())
			}
		}
	}()
	return func() { close(end) }
}

// verdict prints the counts and the last line, and reports whether the run succeeded.
func verdict(o options, book *ledger, sum *counts, took time.Duration) bool {
	answered, missing := sum.answered.Load(), book.missing()
	fmt.Printf("soak: %d connections, %d batches, %d cut off on purpose;", sum.conns.Load(), sum.batches.Load(), sum.aborts.Load())
	for k := range kinds {
		fmt.Printf(" %s %d", kind(k), sum.kinds[k].Load())
	}
	fmt.Println()
	fmt.Printf("soak: clients: %d right, %d wrong, %d lost, %d with extra bytes; handler: %d right, %d wrong, %d twice, %d never, %d of the cut off\n",
		answered, sum.wrong.Load(), sum.lost.Load(), sum.extra.Load(),
		book.right.Load(), book.wrong.Load(), book.twice.Load(), missing, book.revived.Load())
	ok := answered == o.requests &&
		sum.wrong.Load()+sum.lost.Load()+sum.extra.Load() == 0 &&
		book.right.Load() == o.requests &&
		book.wrong.Load()+book.twice.Load()+book.revived.Load()+missing == 0
	word := "PASS"
	if !ok {
		word = "FAIL"
	}
	fmt.Printf("%s %s seed=%d requests=%d time=%.1fs rate=%.0f/s\n",
		word, o.server, o.seed, o.requests, took.Seconds(), float64(o.requests)/took.Seconds())
	return ok
}

// silent drops the log, which connections cut off on purpose would fill.
type silent struct{}

func (silent) Printf(string, ...any) {}

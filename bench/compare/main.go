//go:build linux

// Command compare puts servers under the same load over loopback TCP, one at a time, interleaved round by round. It
// prints each round, medians, ratios to the first server, and whether gallop meets its goals.
//
//	go run ./compare                        # lists the workloads
//	go run ./compare hello-64               # the workload hello with 64 connections
//	go run ./compare -n 3 -d 2s -servers fasthttp,gallop hello-64 hello-512
//	go run ./compare -save baseline-512     # also writes results/tcp-baseline-512.txt
//
// Run it in bench/. It needs Linux, two processors, taskset and wrk, and redis-server for one workload.
//
// CPU time is the server's user and system time from /proc, divided by the number of responses in the same period. If
// server and load have a core each, the load limits requests/s, so CPU time is the figure to compare. Memory is the
// resident memory shortly before the end of the load.
//
//	main.go        flags, rounds
//	workloads.go   workloads and their goals
//	round.go       one server under load
//	cores.go       programs that use all processors
//	loads.go       the sources of load
//	wrk.go         running wrk and parsing its output
//	beside.go      latencies of a goroutine beside the server
//	negotiate.go   a check of responses
//	files.go       sets of files that servers serve, and checks of them
//	static.go      the files of the workload static, a check of their codings, and nginx
//	report.go      medians, ratios, verdicts
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/load"
	"github.com/gallop-http/gallop/bench/measure"
)

type options struct {
	rounds  int
	length  time.Duration
	servers string
	commit  string // see measure.Commit
	save    bool
}

func main() {
	child.Play(load.Roles)
	var o options
	flag.IntVar(&o.rounds, "n", 5, "rounds")
	flag.DurationVar(&o.length, "d", 3*time.Second, "length of a round")
	flag.StringVar(&o.servers, "servers", "", "run only these of the workload's servers, separated by commas")
	flag.BoolVar(&o.save, "save", false, "also write results/tcp-NAME.txt; this takes a clean tree")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: compare [flags] workload-connections ...\n\n")
		flag.PrintDefaults()
		fmt.Fprintln(flag.CommandLine.Output(), "\nworkloads:")
		list(flag.CommandLine.Output())
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	met, err := compareAll(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// compareAll runs comparisons and reports whether all goals were met.
func compareAll(o options, names []string) (met bool, err error) {
	var all []comparison
	for _, name := range names {
		c, err := parseComparison(name, o.servers)
		if err != nil {
			return false, err
		}
		all = append(all, c)
	}
	if err := raiseLimit(); err != nil {
		return false, err
	}
	if o.commit, err = measure.Commit(o.save); err != nil {
		return false, err
	}
	h, err := newHall(all)
	if err != nil {
		return false, err
	}
	defer h.close()
	met = true
	for _, c := range all {
		ok, err := compare(h, o, c)
		if err != nil {
			return false, fmt.Errorf("%s: %w", c.name, err)
		}
		met = met && ok
	}
	return met, nil
}

// compare runs one comparison.
func compare(h *hall, o options, c comparison) (met bool, err error) {
	var out io.Writer = os.Stdout
	if o.save {
		f, err := os.Create(filepath.Join("results", "tcp-"+c.name+".txt"))
		if err != nil {
			return false, err
		}
		defer f.Close()
		out = io.MultiWriter(os.Stdout, f)
	}
	r := newReport(out, c)
	r.head(o)
	for range o.rounds {
		for _, rival := range c.rivals {
			s, err := h.round(c, rival, o.length)
			if err != nil {
				return false, fmt.Errorf("%s: %w", rival.name, err)
			}
			r.add(rival.name, s)
		}
	}
	return r.finish(), nil
}

// only returns the rivals whose name or server is in names, a list separated by commas.
func only(rivals []rival, names string) ([]rival, error) {
	if names == "" {
		return rivals, nil
	}
	wanted := strings.Split(names, ",")
	left := slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool {
		return !slices.Contains(wanted, r.name) && !slices.Contains(wanted, r.server)
	})
	if len(left) == 0 {
		return nil, errors.New("none of the servers is in the workload")
	}
	return left, nil
}

// raiseLimit raises the limit of descriptors for this process and its children to the maximum.
func raiseLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

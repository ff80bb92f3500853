//go:build linux

// Command versus puts servers under the same load over loopback TCP, one at a time, interleaved round by round, and
// prints each round, medians, ratios to the first server, and whether gallop is where it is meant to be.
//
//	go run ./cmd/versus                        # lists the workloads
//	go run ./cmd/versus hello-64               # the workload hello with 64 connections
//	go run ./cmd/versus -n 3 -d 2s -servers fasthttp,gallop hello-64 hello-512
//	go run ./cmd/versus -save baseline-512     # writes results/tcp-baseline-512.txt, too
//
// It is run in bench/ and needs Linux, two processors, taskset, and wrk; redis-server for one of the workloads. CPU time
// is that of the server's process, by /proc, user and system, divided by the requests that were answered in the same
// time; the load limits requests/s where server and load have a core each, so that there CPU time is the figure to
// compare. Memory is what is resident shortly before the end of the load.
//
//	main.go        flags, rounds
//	workloads.go   what is compared, and what is hoped for
//	round.go       one server under load
//	cores.go       servers that are several processes
//	loads.go       where load comes from
//	wrk.go         what wrk says
//	beside.go      what a goroutine beside the server says
//	negotiate.go   a check of answers
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
)

type options struct {
	rounds  int
	length  time.Duration
	servers string
	commit  string // what the tree is called before results are written into it
	save    bool
}

func main() {
	child.Play(load.Roles)
	var o options
	flag.IntVar(&o.rounds, "n", 5, "rounds")
	flag.DurationVar(&o.length, "d", 3*time.Second, "length of a round")
	flag.StringVar(&o.servers, "servers", "", "only these of the workload's, by commas")
	flag.BoolVar(&o.save, "save", false, "write results/tcp-NAME.txt, too")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: versus [flags] workload-connections ...\n\n")
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
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// compareAll runs comparisons, and reports whether all goals were met.
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
	o.commit = output("git", "describe", "--always", "--dirty")
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

// only leaves the rivals whose names, or servers, are among the names, which are separated by commas.
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

// raiseLimit allows this process and its children as many descriptors as it may have.
func raiseLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

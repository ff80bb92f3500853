//go:build linux

// Command compare puts servers under the same load over loopback TCP, one at a time, interleaved round by round. It
// prints each round, medians, ratios to the first server, and whether gallop meets its goals.
//
//	go run ./compare                        # lists the workloads
//	go run ./compare hello-64               # the workload hello with 64 connections
//	go run ./compare -n 3 -d 2s -servers fasthttp,gallop hello-64 hello-512
//	go run ./compare -quick                     # the most important ones, in three minutes
//	go run ./compare -out /tmp/today hello-64   # also writes JSON, plots and a page
//	go run ./compare -save baseline-512     # also writes results/tcp-baseline-512.txt
//
// Run it in bench/. It needs Linux, two processors, taskset and wrk, and redis-server for one workload.
//
// Each comparison measures gallop twice. If the two results differ by more than 3 %, the comparison is refused. The exit status
// is 0 if all goals were met, 1 if a goal was missed, 2 after an error and 3 if a comparison was refused. (go run itself exits
// with 1 in all these cases.)
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
//	arena.go       the arena's workloads, by frameworks
//	report.go      medians, ratios, verdicts
//	twin.go        the same server, measured twice
//	record.go      the results as JSON
//	page.go        the page and the plots
package main

import (
	"bytes"
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
	quick   bool
	twin    float64 // the largest difference of the same server, in percent; 0 means no twin
	out     string
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
	flag.BoolVar(&o.quick, "quick", false, "run the most important comparisons in three minutes, with three rounds of 1s")
	flag.Float64Var(&o.twin, "twin", 3, "refuse a comparison if the same server, measured twice, differs by more than this many percent; 0 measures it once")
	flag.StringVar(&o.out, "out", "", "write results.json, plots and a page with all tables to this directory")
	flag.StringVar(&o.servers, "servers", "", "run only these of the workload's servers, separated by commas")
	flag.BoolVar(&o.save, "save", false, "also write results/tcp-NAME.txt; this takes a clean tree")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: compare [flags] workload-connections ...\n\n")
		flag.PrintDefaults()
		fmt.Fprintln(flag.CommandLine.Output(), "\nworkloads:")
		list(flag.CommandLine.Output())
	}
	flag.Parse()
	names := flag.Args()
	if o.quick {
		names, o.rounds, o.length = append(names, quick...), 3, time.Second
	}
	if len(names) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	met, err := compareAll(o, names)
	switch {
	case errors.Is(err, errUnsteady):
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// quick are the comparisons of the flag -quick.
var quick = []string{"hello-64", "pipelined-64", "sleep1-64", "nethttp-64", "arena-json-64"}

// errUnsteady reports that at least one comparison was refused.
var errUnsteady = errors.New("at least one comparison was refused")

// compareAll runs comparisons and reports whether all goals were met. A comparison that is refused has missed its goals.
func compareAll(o options, names []string) (met bool, err error) {
	var all []comparison
	for _, name := range names {
		c, err := parseComparison(name, o.servers)
		if err != nil {
			return false, err
		}
		if o.twin > 0 {
			c = c.withTwin()
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
	total := newRecord(o)
	var unsteady error
	for _, c := range all {
		ok, err := compare(h, o, c, total)
		switch {
		case errors.Is(err, errUnsteady):
			unsteady = err
		case err != nil:
			return false, fmt.Errorf("%s: %w", c.name, err)
		}
		met = met && ok
	}
	if o.out != "" {
		if err := total.write(o.out); err != nil {
			return false, err
		}
	}
	return met, unsteady
}

// compare runs one comparison and adds it to the record. It saves the report unless the comparison is refused.
func compare(h *hall, o options, c comparison, total *record) (met bool, err error) {
	var text bytes.Buffer
	r := newReport(io.MultiWriter(os.Stdout, &text), c)
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
	met = r.finish()
	doubt := r.doubt(o.twin)
	total.add(r, doubt)
	if doubt != "" {
		fmt.Fprintf(r, "%s\n\n", doubt)
		return false, errUnsteady
	}
	if o.save {
		return met, os.WriteFile(filepath.Join("results", "tcp-"+c.name+".txt"), text.Bytes(), 0o644)
	}
	return met, nil
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

//go:build linux

// Command compare measures gallop beside its peers. A row is one measurement, such as hello-64, and a group has rows that belong
// together. Most rows put servers under the same load over loopback TCP, interleaved round by round. Other rows run Go benchmarks, or
// commands of this module.
//
//	go run ./compare                            # lists groups and rows, and how long they take
//	go run ./compare tcp client-tcp1            # runs a group and a row
//	go run ./compare -n 3 -d 2s -servers fasthttp,gallop hello-64 hello-512
//	go run ./compare -quick                     # the most important rows, in three minutes
//	go run ./compare -out /tmp/today hello-64   # also writes texts, JSON, plots and a page
//	go run ./compare -save baseline-512         # also writes results/tcp-baseline-512.txt
//	go run ./compare -page                      # fills the pages in docs/ and the README's plot from results/
//
// Run it in bench/. It needs Linux, two processors and taskset. Most rows need wrk, and some need h2load, redis-server, nginx or
// PostgreSQL. A row that fails does not stop the rows after it. The last lines sum up all rows.
//
// Each comparison over TCP measures gallop twice. If the two results differ by more than 3 %, the comparison is refused. The exit
// status is 0 if all goals were met, 1 if a goal was missed, 2 after an error and 3 if a comparison was refused. (go run itself exits
// with 1 in all these cases.)
//
// CPU time is the server's user and system time from /proc, divided by the number of responses in the same period. If
// server and load have a core each, the load limits requests/s, so CPU time is the figure to compare. Memory is the
// resident memory shortly before the end of the load.
//
//	main.go        flags
//	groups.go      the groups: a table of contents
//	rows.go        finding rows, running them, the summary
//	benchmarks.go  rows that run Go benchmarks
//	programs.go    rows that run another command
//	pages.go       filling pages and the README's plot from results
//	sockets.go     rows that put servers under load
//	workloads.go   their workloads and goals
//	round.go       one server under load
//	hall.go        what servers need
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
//	page.go        the page and the plots of -out
package main

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/load"
)

// options are the flags. Zero rounds and a zero length mean the defaults of each row.
type options struct {
	quick   bool
	page    bool
	twin    float64 // the largest difference of the same server, in percent; 0 means no twin
	out     string
	rounds  int
	length  time.Duration
	servers string
	core    int
	bench   string
	commit  string // see measure.Commit
	save    bool
}

func main() {
	child.Play(load.Roles)
	var o options
	flag.IntVar(&o.rounds, "n", 0, "rounds; 0 means the row's default")
	flag.DurationVar(&o.length, "d", 0, "length of a round, or time of each Go benchmark; 0 means the row's default")
	flag.BoolVar(&o.quick, "quick", false, "run the most important rows in three minutes, with three rounds of 1s")
	flag.BoolVar(&o.page, "page", false, "measure nothing: fill the pages and the plot of the README from results/")
	flag.Float64Var(&o.twin, "twin", 3, "refuse a comparison if the same server, measured twice, differs by more than this many percent; 0 measures it once")
	flag.StringVar(&o.out, "out", "", "write texts, results.json, plots and a page with all tables to this directory")
	flag.StringVar(&o.servers, "servers", "", "run only these servers of rows over TCP, separated by commas")
	flag.IntVar(&o.core, "core", 0, "the processor on which Go benchmarks run")
	flag.StringVar(&o.bench, "bench", "", "run only the Go benchmarks that match this pattern, in rows of Go benchmarks")
	flag.BoolVar(&o.save, "save", false, "write texts to results/; this takes a clean tree")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: compare [flags] group or row ...\n\n")
		flag.PrintDefaults()
		list(flag.CommandLine.Output(), o)
	}
	flag.Parse()
	os.Exit(run(o, flag.Args()))
}

// run does what the flags say, and returns the exit status.
func run(o options, names []string) int {
	if o.page {
		return status(fillPages("..", "results"))
	}
	if o.quick {
		names, o.rounds, o.length = append(names, "quick"), 3, time.Second
	}
	if len(names) == 0 {
		flag.Usage()
		return 2
	}
	rows, err := find(names, o.servers)
	if err != nil {
		return status(err)
	}
	s, err := newSession(o)
	if err != nil {
		return status(err)
	}
	defer s.close()
	return s.runAll(rows)
}

// status prints an error and returns the exit status.
func status(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "compare:", err)
	return 2
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

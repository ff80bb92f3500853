// Run runs the tests of compiled test programs on gallop and prints those that fail, one per line. For example, this
// failed with gallop's server:
//
//	server/httputil TestReverseProxy/sub
//
// Usage:
//
//	run [flags] PROGRAM.test ...
//
// Each test runs in its own process, which starts in the directory PROGRAM. The package name http is left out. A test
// that fails because of a failed subtest is not printed. The numbers of tests that used gallop, and of those that
// passed, go to standard error.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"time"
)

var (
	side  = flag.String("side", "server", "the side that is gallop's: server, client or none")
	only  = flag.String("only", "", "a pattern for the names of tests; by default all run")
	skip  = flag.String("skip", "", "a file with tests that do not run, in the form in which they are printed; a subtest takes its test with it")
	logs  = flag.String("logs", "", "a file for what failed tests print")
	limit = flag.Duration("limit", 20*time.Second, "how long a test may take")
	jobs  = flag.Int("jobs", 2*runtime.GOMAXPROCS(0), "how many tests run at once")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("run: ")
	tests, err := list(flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	out := os.Stderr
	if *logs != "" {
		if out, err = os.Create(*logs); err != nil {
			log.Fatal(err)
		}
		defer out.Close()
	}
	used, passed, failed := 0, 0, 0
	for r := range runAll(tests) {
		if r.used {
			used++
		}
		switch {
		case len(r.failed) > 0:
			failed++
			fmt.Fprintf(out, "=== %s %s: %.1f s\n%s\n", r.test.side(), r.test.name, r.took.Seconds(), r.output)
		case r.used:
			passed++
		}
		for _, name := range r.failed {
			fmt.Println(r.test.side(), name)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d tests that use it passed; %d failed\n", *side, passed, used, failed)
}

// wanted reports whether -only selects a test.
func wanted(name string) bool {
	matched, err := regexp.MatchString(*only, name)
	if err != nil {
		log.Fatal(err)
	}
	return matched
}

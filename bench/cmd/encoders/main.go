//go:build linux

// Command encoders compares compression libraries: CPU time for each body, size, allocations, and the memory that an
// encoder holds. docs/design/0017-compression.md derives the default levels from its output.
//
//	go run ./cmd/encoders                 # all bodies, about two minutes
//	go run ./cmd/encoders 'json-8K' 'br'  # some bodies and some encoders, as regular expressions
//	go run ./cmd/encoders -save           # also writes results/encoders.txt
//
// Run it in bench/. The rounds of all encoders are interleaved. The CPU time is the smallest of all rounds. It includes the
// goroutines that an encoder starts, and the garbage collector's work.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("n", 5, "number of rounds")
	save := flag.Bool("save", false, "write results/encoders.txt")
	flag.Parse()
	var out io.Writer = os.Stdout
	if *save {
		file, err := os.Create(filepath.Join("results", "encoders.txt"))
		if err != nil {
			log.Fatal(err)
		}
		defer file.Close()
		out = io.MultiWriter(out, file)
	}
	fmt.Fprintf(out, "# go run ./cmd/encoders -n %d -save\n# %s, %s, %s/%s, %d processors\n", *rounds, time.Now().UTC().Format(time.DateOnly),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(out, "# %s\n", strings.Join(versions(), ", "))
	fmt.Fprintln(out, "# us: CPU time for a body; allocs: allocations for a body with a reused encoder; new: bytes allocated for the first")
	fmt.Fprintln(out, "# body of an encoder; held: bytes that an encoder holds afterwards")
	for _, b := range bodies() {
		if !matches(flag.Arg(0), b.name) {
			continue
		}
		fmt.Fprintf(out, "\n%-10s %6d B   %9s %8s %7s %7s %10s %10s\n", b.name, len(b.data), "us", "bytes", "percent", "allocs", "new", "held")
		for _, r := range compare(selected(flag.Arg(1)), b.data, *rounds) {
			fmt.Fprintf(out, "%-21s %9.1f %8d %7.1f %7.1f %10d %10d\n", r.name, float64(r.cpu)/1e3, r.size,
				100*float64(r.size)/float64(len(b.data)), r.allocs, r.fresh, r.held)
		}
	}
}

// matches reports whether name matches the pattern. All names match an empty pattern.
func matches(pattern, name string) bool {
	return regexp.MustCompile(pattern).MatchString(name)
}

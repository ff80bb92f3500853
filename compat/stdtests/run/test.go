package main

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// result is the result of a test.
type result struct {
	test   test
	used   bool     // gallop was used
	failed []string // the test, or its subtests that failed
	output string
	took   time.Duration
}

// runAll runs tests, at most -jobs at once, and yields the results as they arrive.
func runAll(tests []test) iter.Seq[result] {
	todo, results := make(chan test), make(chan result)
	go func() {
		for _, t := range tests {
			todo <- t
		}
		close(todo)
	}()
	var workers sync.WaitGroup
	for range *jobs {
		workers.Go(func() {
			for t := range todo {
				results <- run(t)
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	return func(yield func(result) bool) {
		for r := range results {
			if !yield(r) {
				return
			}
		}
	}
}

// run runs a test in a process. It ends the process some time after the limit, if the process has not ended itself.
func run(t test) result {
	dir, err := os.MkdirTemp("", "stdtests")
	if err != nil {
		return result{test: t, failed: []string{t.name}, output: err.Error()}
	}
	defer os.RemoveAll(dir)
	mark := filepath.Join(dir, "used")
	ctx, cancel := context.WithTimeout(context.Background(), *limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.program, "-test.v", "-test.run", "^"+t.name+"$", "-test.timeout", limit.String())
	cmd.Dir = t.dir()
	cmd.Env = append(os.Environ(), "STDTESTS_SIDE="+*side, "STDTESTS_USED="+mark)
	cmd.WaitDelay = time.Second
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	_, unused := os.Stat(mark)
	r := result{test: t, used: unused == nil, output: string(out), took: time.Since(begun)}
	if err != nil {
		r.failed = failures(r.output, t.name)
	}
	return r
}

var failLine = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failures returns the failed tests, or at least top. It leaves out tests that failed because of a subtest.
func failures(output, top string) (names []string) {
	all := failLine.FindAllStringSubmatch(output, -1)
	for _, m := range all {
		if !isAbove(m[1], all) {
			names = append(names, m[1])
		}
	}
	if names == nil {
		names = []string{top}
	}
	return names
}

// isAbove reports whether all contains a subtest of the test with this name.
func isAbove(name string, all [][]string) bool {
	for _, m := range all {
		if strings.HasPrefix(m[1], name+"/") {
			return true
		}
	}
	return false
}

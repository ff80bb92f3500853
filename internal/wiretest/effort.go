package wiretest

import (
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

// Long reports whether tests run in their long forms: the environment variable GALLOP_LONG is set.
func Long() bool { return os.Getenv("GALLOP_LONG") != "" }

// Full reports whether tests run in full: GALLOP_FULL is set, as in CI, or they run in their long forms. Without it, some
// tests attack a server for a shorter time, or measure the memory of fewer connections.
func Full() bool { return os.Getenv("GALLOP_FULL") != "" || Long() }

// RunWithRareGC runs the tests of a package, and exits. Garbage may grow to four times the memory in use. That saves time if the
// tests allocate much and keep little. Call it in TestMain.
func RunWithRareGC(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// RunWaiting is like RunWithRareGC, for tests that mostly wait: up to sixteen parallel tests run at a time, unless the command
// line says something else.
func RunWaiting(m *testing.M) {
	WaitInParallel()
	RunWithRareGC(m)
}

// WaitInParallel lets up to sixteen parallel tests run at a time, unless the command line says something else. Call it before m.Run.
func WaitInParallel() {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
}

// DrawCuts returns up to ten places, in order, at which to cut n bytes.
func DrawCuts(n int) (at []int) {
	for range 2 + rand.IntN(9) {
		at = append(at, 1+rand.IntN(n-1))
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// LongerLimits yields a time limit for a test, and then limits that are each five times as long, up to 30 s or more. A test in which
// something has to happen before a limit ends goes on to the next one if the machine was too slow.
func LongerLimits(first time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for limit := first; yield(limit) && limit < 30*time.Second; limit *= 5 {
		}
	}
}

// InParallel calls f for each of the items, on a few goroutines, and returns when all calls have returned.
func InParallel[T any](items []T, f func(T)) {
	next := make(chan T)
	var group sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) { // each waits for the server now and then
		group.Go(func() {
			for item := range next {
				f(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	group.Wait()
}

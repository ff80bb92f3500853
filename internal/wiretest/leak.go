package wiretest

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// CheckLeaks fails the test if new goroutines still run or more descriptors are open when the test ends. Both get 16
// s to disappear. Descriptors are counted if the system can list them. CheckLeaks cannot be used in parallel tests.
func CheckLeaks(t testing.TB) {
	t.Helper()
	openPoller()
	if OpenForGood != nil {
		OpenForGood()
	}
	before, files := goroutines(), descriptors()
	t.Cleanup(func() {
		for wait := time.Millisecond; ; wait *= 2 {
			leaked := newGoroutines(before)
			if len(leaked) == 0 && descriptors() <= files {
				return
			}
			if wait > 8*time.Second {
				t.Errorf("%d descriptors, %d before; %d goroutines leaked:\n%s",
					descriptors(), files, len(leaked), strings.Join(leaked, "\n\n"))
				return
			}
			runtime.GC() // makes package net drop its pooled splice pipes
			time.Sleep(wait)
		}
	})
}

// OpenForGood is nil, or opens other descriptors that stay open until the process ends. CheckLeaks calls it before it counts.
var OpenForGood func()

// openPoller has the runtime open the descriptors of its poller, which stay open.
var openPoller = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
})

func newGoroutines(before map[string]string) (leaked []string) {
	for id, stack := range goroutines() {
		if _, ok := before[id]; !ok {
			leaked = append(leaked, stack)
		}
	}
	return leaked
}

// goroutines returns the stacks of all goroutines by id, without those of package testing.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	stacks := map[string]string{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		if !strings.Contains(stack, "created by testing.") {
			stacks[id] = stack
		}
	}
	return stacks
}

// descriptors returns the number of open files of the process, or 0 if the system cannot list them.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// Eventually waits until ok returns true. It fails the test after 30 s.
func Eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition did not become true within 30 s")
		}
	}
}

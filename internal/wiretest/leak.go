package wiretest

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// CheckLeaks fails the test if, when it ends, goroutines run that did not run when
// CheckLeaks was called, or more descriptors are open (where the system can list
// them). It gives them 16 s to end. It is not for tests that run in parallel.
func CheckLeaks(t testing.TB) {
	t.Helper()
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
			runtime.GC() // net keeps the pipes of splice in a pool, which forgets them so
			time.Sleep(wait)
		}
	})
}

func newGoroutines(before map[string]string) (leaked []string) {
	for id, stack := range goroutines() {
		if _, ok := before[id]; !ok {
			leaked = append(leaked, stack)
		}
	}
	return leaked
}

// goroutines returns the stacks of all goroutines but the testing package's, by id.
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

// descriptors counts the open files of the process; 0 where that cannot be told.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// Eventually waits until ok reports true, and fails the test if that takes 30 s.
func Eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to pass")
		}
	}
}

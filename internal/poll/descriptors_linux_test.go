package poll

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tableSize returns the size of the kernel's table of this process's descriptors.
func tableSize(t *testing.T) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if size, ok := strings.CutPrefix(lines.Text(), "FDSize:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(size))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("/proc/self/status has no FDSize")
	return 0
}

// TestReserve opens thousands of descriptors. The table is never full when one is opened, so none of them has to wait.
func TestReserve(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 5000 {
		t.Skipf("%v, a process may have %d descriptors", err, limit.Cur)
	}
	defer descriptors.Store(descriptors.Swap(0))
	var open []int
	defer func() {
		for _, fd := range open {
			syscall.Close(fd)
		}
	}()
	reserve(0)
	for len(open) < 2500 {
		fd, err := syscall.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, fd)
		reserve(fd)
		// Connections do not arrive faster than the table grows.
		for start := time.Now(); tableSize(t) < int(descriptors.Load()); time.Sleep(time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("with %d descriptors, the table has room for %d and not for %d", fd, tableSize(t), descriptors.Load())
			}
		}
		if size := tableSize(t); fd > size-min(leastSpare/2, size/4) {
			t.Fatalf("descriptor %d in a table for %d", fd, size)
		}
	}
}

// TestReserveSizes checks when the table grows, and that it grows to a size that is not soon used up.
func TestReserveSizes(t *testing.T) {
	defer descriptors.Store(descriptors.Swap(0))
	for _, test := range []struct{ size, fd, want int64 }{
		{0, 3, 256}, {256, 127, 256}, {256, 128, 512}, {512, 383, 512}, {512, 384, 1024}, {1024, 767, 1024}, {1024, 768, 2048}, {0, 5000, 8192}, {0, 7000, 16384},
		{16384, 12_287, 16384}, {16384, 12_288, 32768}, {1 << 30, 1000, 1 << 30},
	} {
		descriptors.Store(test.size)
		if reserve(int(test.fd)); descriptors.Load() != test.want {
			t.Errorf("descriptor %d in a table for %d: it grows to %d, not to %d", test.fd, test.size, descriptors.Load(), test.want)
		}
	}
}

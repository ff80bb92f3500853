//go:build unix && !aix

package poll

import (
	"syscall"
	"testing"
)

// pair returns two connected non-blocking sockets.
func pair(t *testing.T) (a, b int) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = syscall.Close(fds[0])
		_ = syscall.Close(fds[1])
	})
	return fds[0], fds[1]
}

func TestQuiet(t *testing.T) {
	a, b := pair(t)
	if !Quiet(a) {
		t.Error("a new socket is not quiet")
	}
	if n, err := Write(b, []byte("xy")); n != 2 || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
	for range 2 { // looking consumes nothing
		if Quiet(a) {
			t.Error("a socket with bytes is quiet")
		}
	}
	p := make([]byte, 8)
	if n, err := Read(a, p); n != 2 || err != nil || string(p[:n]) != "xy" {
		t.Errorf("Read: %q, %v", p[:n], err)
	}
	if !Quiet(a) {
		t.Error("not quiet when all is read")
	}
	if err := syscall.Shutdown(b, syscall.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if Quiet(a) {
		t.Error("an ended socket is quiet")
	}
	if n, err := Read(a, p); n != 0 || err != nil {
		t.Errorf("Read at the end: %d, %v", n, err)
	}
	if Quiet(-1) {
		t.Error("no socket is quiet")
	}
}

func TestReadAndWriteDoNotWait(t *testing.T) {
	a, b := pair(t)
	if n, err := Read(a, make([]byte, 1)); n != 0 || err != syscall.EAGAIN {
		t.Errorf("Read: %d, %v", n, err)
	}
	for {
		n, err := Write(a, make([]byte, 1<<16))
		if err != nil {
			if n != 0 || err != syscall.EAGAIN {
				t.Errorf("Write: %d, %v", n, err)
			}
			break
		}
	}
	_ = b
	for name, call := range map[string]func(int, []byte) (int, error){"Read": Read, "Write": Write} {
		if n, err := call(-1, []byte("x")); n != 0 || err != syscall.EBADF {
			t.Errorf("%s of no socket: %d, %v", name, n, err)
		}
		if _, err := call(a, nil); err != nil && err != syscall.EAGAIN {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	a, b := pair(t)
	p := make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		_ = Quiet(a)
		_, _ = Write(b, p)
		_, _ = Read(a, p)
		_, _ = Read(a, p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

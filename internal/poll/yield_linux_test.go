package poll

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A goroutine that only yields lets another one run whose socket has become ready. After runtime.Gosched, that would take milliseconds.
func TestYieldPolls(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	write := func() { // without giving up the processor
		raw.Control(func(fd uintptr) {
			if _, err := syscall.Write(int(fd), []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	var read atomic.Int32
	go func() {
		for one := make([]byte, 1); ; read.Add(1) {
			if _, err := r.Read(one); err != nil {
				return
			}
		}
	}()
	time.Sleep(time.Millisecond) // the goroutine waits
	for i := range int32(20) {
		write()
		for range 3 { // the poll may find this goroutine first
			Yield()
		}
		if n := read.Load(); n != i+1 {
			t.Fatalf("%d bytes were read, want %d", n, i+1)
		}
	}
}

// Goroutines that yield at the same time wait for the same polls.
func TestYieldOfMany(t *testing.T) {
	const goroutines, rounds = 20, 50
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	Yield()
	before := theYielder.polls
	done := make(chan bool)
	for range goroutines {
		go func() {
			for range rounds {
				Yield()
			}
			done <- true
		}()
	}
	for range goroutines {
		<-done
	}
	if n := theYielder.polls - before; n > 3*rounds {
		t.Errorf("%d polls for %d rounds", n, rounds)
	}
}

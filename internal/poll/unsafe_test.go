//go:build linux && !race && !386 && !s390x

package poll

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// The scheduler can stop all goroutines during a wait in the kernel.
func TestWaitInTheKernelCanBeStopped(t *testing.T) {
	ep, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(ep)
	const long = 20 * time.Second
	begun, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		close(begun)
		events := make([]syscall.EpollEvent, 1)
		for from := time.Now(); time.Since(from) < 200*time.Millisecond; {
			if n, _ := pollFor(ep, events, int(long/time.Millisecond)); n != 0 {
				t.Errorf("%d events", n)
				return
			}
			runtime.Gosched()
		}
	}()
	<-begun
	from := time.Now()
	for range 200 {
		runtime.GC()
		select {
		case <-ended:
			if took := time.Since(from); took > long/2 {
				t.Errorf("it took %v", took)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the wait goes on")
}

package wiretest

import (
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const (
	in  = syscall.EPOLLIN
	out = syscall.EPOLLOUT
	rd  = syscall.EPOLLRDHUP
)

// accepted returns a kernel's connection that is registered in a queue for these events.
func accepted(t *testing.T, k *Kernel, events uint32) (client *Conn, ep, fd int) {
	t.Helper()
	client, server := Pipe()
	ln := k.Listen()
	t.Cleanup(func() { _ = ln.Close() })
	if ln.Connect(server) == nil {
		t.Fatal("the listener is closed")
	}
	ep, err := k.EpollCreate()
	if err != nil {
		t.Fatal(err)
	}
	fd, _, err = k.Accept(ln.f.fd)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.EpollCtl(ep, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events | edgeTriggered, Fd: int32(fd)}); err != nil {
		t.Fatal(err)
	}
	return client, ep, fd
}

// wantEvents compares the events that are there now for a descriptor with want; 0 means no events.
func wantEvents(t *testing.T, k *Kernel, ep int, want uint32) {
	t.Helper()
	var events [4]syscall.EpollEvent
	got := uint32(0)
	for _, e := range events[:k.EpollWait(ep, events[:], 0)] {
		got |= e.Events
	}
	if got != want {
		t.Errorf("events %#x, want %#x", got, want)
	}
}

func TestKernelReportsEdges(t *testing.T) {
	k := NewKernel()
	client, ep, fd := accepted(t, k, in|rd)
	p := make([]byte, 8)
	wantEvents(t, k, ep, 0)
	write(t, client, "one")
	wantEvents(t, k, ep, in)
	wantEvents(t, k, ep, 0) // although nothing was read
	write(t, client, "two")
	wantEvents(t, k, ep, in)
	if n, err := k.Read(fd, p); string(p[:n]) != "onetwo" || err != nil {
		t.Errorf("Read: %q, %v", p[:n], err)
	}
	if n, err := k.Read(fd, p); n != 0 || err != syscall.EAGAIN {
		t.Errorf("Read: %d, %v", n, err)
	}
	write(t, client, "three")
	if n, _ := k.Read(fd, p); n != 5 {
		t.Errorf("%d bytes", n)
	}
	wantEvents(t, k, ep, 0) // edge-triggered, so the closed connection is not reported again
	_ = client.CloseWrite()
	wantEvents(t, k, ep, in|rd)
	if n, err := k.Read(fd, p); n != 0 || err != nil {
		t.Errorf("Read at the end: %d, %v", n, err)
	}
	if err := k.Close(fd); err != nil {
		t.Error(err)
	}
	wantReadError(t, client, io.EOF)
}

func TestKernelReportsRoom(t *testing.T) {
	k := NewKernel()
	client, ep, fd := accepted(t, k, in)
	client.SetWindow(4)
	wantEvents(t, k, ep, 0)
	if n, err := k.Writev(fd, []byte("abc"), []byte("def")); n != 4 || err != nil {
		t.Errorf("Writev: %d, %v", n, err)
	}
	if n, err := k.Write(fd, []byte("ef")); n != 0 || err != syscall.EAGAIN {
		t.Errorf("Write: %d, %v", n, err)
	}
	event := syscall.EpollEvent{Events: in | out | edgeTriggered, Fd: int32(fd)}
	if err := k.EpollCtl(ep, syscall.EPOLL_CTL_MOD, fd, &event); err != nil {
		t.Error(err)
	}
	wantEvents(t, k, ep, 0)
	wantRead(t, client, "ab")
	wantEvents(t, k, ep, out)
	wantRead(t, client, "cd")
	wantEvents(t, k, ep, 0) // no write has failed since
	client.Reset()
	wantEvents(t, k, ep, in|out|syscall.EPOLLHUP)
	if _, err := k.Read(fd, make([]byte, 1)); err != syscall.ECONNRESET {
		t.Errorf("Read: %v", err)
	}
	if _, err := k.Write(fd, []byte("x")); err != syscall.EPIPE {
		t.Errorf("Write: %v", err)
	}
}

// Of the queues that watch a listener, one is woken for a connection, and again while the connection still waits.
func TestKernelWakesOneForAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKernel()
		ln := k.Listen()
		woken := make(chan int, 2)
		var waiting sync.WaitGroup
		for range 2 {
			ep, _ := k.EpollCreate()
			if err := k.EpollCtl(ep, syscall.EPOLL_CTL_ADD, ln.f.fd, &syscall.EpollEvent{Events: in, Fd: -1}); err != nil {
				t.Fatal(err)
			}
			waiting.Go(func() {
				var events [4]syscall.EpollEvent
				if n := k.EpollWait(ep, events[:], time.Minute); n > 0 && events[0].Fd == -1 {
					woken <- ep
				}
			})
		}
		synctest.Wait()
		if _, err := ln.Dial(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(woken) != 1 {
			t.Fatalf("%d woken", len(woken))
		}
		ep := <-woken
		wantEvents(t, k, ep, in)
		if _, _, err := k.Accept(ln.f.fd); err != nil {
			t.Error(err)
		}
		wantEvents(t, k, ep, 0)
		if _, _, err := k.Accept(ln.f.fd); err != syscall.EAGAIN {
			t.Error(err)
		}
		waiting.Wait()
	})
}

func TestKernelWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKernel()
		client, ep, _ := accepted(t, k, in)
		for name, tt := range map[string]struct {
			timeout time.Duration
			happen  func()
			n       int
			after   time.Duration
		}{
			"at its time": {time.Second, func() {}, 0, time.Second},
			"for events":  {-1, func() { write(t, client, "x") }, 1, time.Millisecond},
			"by the bell": {time.Minute, func() { k.Ring(ep) }, 0, time.Millisecond},
		} {
			time.AfterFunc(time.Millisecond, tt.happen)
			begun := time.Now()
			if n := k.EpollWait(ep, make([]syscall.EpollEvent, 4), tt.timeout); n != tt.n {
				t.Errorf("%s: %d events", name, n)
			}
			if d := time.Since(begun); d != tt.after {
				t.Errorf("%s: after %v", name, d)
			}
		}
		k.Ring(ep) // before anything waits
		if n := k.EpollWait(ep, make([]syscall.EpollEvent, 4), -1); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

func TestKernelNotesMisuse(t *testing.T) {
	k := NewKernel()
	_, ep, fd := accepted(t, k, in)
	if n := k.Open(); n != 1 {
		t.Errorf("%d connections", n)
	}
	for _, fd := range []int{fd, ep} {
		if err := k.Close(fd); err != nil {
			t.Error(err)
		}
	}
	if len(k.Misuse()) > 0 {
		t.Error(k.Misuse())
	}
	for call, err := range map[string]error{
		"close":     k.Close(fd),
		"shutdown":  k.Shutdown(fd, syscall.SHUT_RDWR),
		"epoll_ctl": k.EpollCtl(ep, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{}),
	} {
		if err != syscall.EBADF {
			t.Errorf("%s: %v", call, err)
		}
		if !strings.Contains(strings.Join(k.Misuse(), "\n"), call+" of descriptor") {
			t.Errorf("%s was not noted in %q", call, k.Misuse())
		}
	}
}

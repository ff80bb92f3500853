package peers

import (
	"context"
	"net"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// floor does the least that a server with epoll can do for a request: it waits for an event, reads, and writes a
// response that was made before. It does not parse anything and treats each read as one request. There is a loop per
// processor, and each loop accepts its own connections. The difference to the other servers is what HTTP, handlers,
// timeouts and fairness cost.
type floor struct{ answer func(request []byte) []byte }

// floorAnswer is the response of gallop to the app "hello".
const floorAnswer = "HTTP/1.1 200 OK\r\nServer: gallop\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

func newFloor(app App, _ Options) Server {
	if app.Floor != nil {
		return floor{app.Floor()}
	}
	answer := []byte(floorAnswer)
	return floor{func([]byte) []byte { return answer }}
}

func (floor) Shutdown(context.Context) error { return nil }

func (f floor) Serve(ln net.Listener) error {
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Control(func(listener uintptr) {
		var loops sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			loops.Go(func() {
				runtime.LockOSThread()
				f.loop(int(listener))
			})
		}
		loops.Wait()
	})
	return err
}

const (
	edgeTriggered = 1 << 31
	exclusive     = 1 << 28
)

// loop serves until epoll fails. It makes system calls without telling the scheduler, which has little else to do. The
// memory behind its unsafe pointers stays alive and in place because it is used again afterwards.
func (f floor) loop(listener int) {
	ep, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	defer syscall.Close(ep)
	syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, listener, &syscall.EpollEvent{Events: syscall.EPOLLIN | exclusive, Fd: int32(listener)})
	buf, rests := make([]byte, 4096), map[int][]byte{}
	var events [256]syscall.EpollEvent
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&events)), uintptr(len(events)), ^uintptr(0), 0, 0)
		if errno == syscall.EINTR {
			runtime.Gosched() // the scheduler preempts this goroutine from time to time anyway
		} else if errno != 0 {
			return
		}
		for i := range events[:max(int(n), 0)] {
			fd := int(events[i].Fd)
			if fd == listener {
				floorAccept(ep, listener)
				continue
			}
			if rest := rests[fd]; len(rest) > 0 {
				floorWrite(fd, rest, rests) // the next read meets an error too
			}
			got, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)))
			switch {
			case errno == syscall.EAGAIN || errno == syscall.EINTR:
			case errno != 0 || got == 0 || !floorWrite(fd, f.answer(buf[:got]), rests):
				delete(rests, fd)
				syscall.Close(fd)
			}
		}
	}
}

// floorWrite writes what the socket accepts. The rest waits in rests for an event. The result is false if nothing can be
// written, or if there is nothing to write.
func floorWrite(fd int, p []byte, rests map[int][]byte) bool {
	if len(p) == 0 {
		return false
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		n = 0
	}
	if rest := p[n:]; len(rest) > 0 {
		rests[fd] = rest
	} else if len(rests) > 0 {
		delete(rests, fd)
	}
	return errno == 0 || errno == syscall.EAGAIN || errno == syscall.EINTR
}

func floorAccept(ep, listener int) {
	for {
		fd, _, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{
			Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | edgeTriggered, Fd: int32(fd),
		})
	}
}

//go:build linux

package reliability

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/load"
)

// floodCase is a request with the statuses that are allowed in response.
type floodCase struct {
	ID       string
	Raw      []byte
	Statuses []int // 0 allows the server to close the connection without a response
}

// flooded counts the outcomes of a flood.
type flooded struct {
	Answered   int // got an allowed status, and was closed
	Wrong      int // any other response
	Silent     int // closed or reset without a response
	Stuck      int // not closed after floodPatience
	Failed     int // could not connect or send
	WrongCases map[string]int
}

func (f *flooded) add(other flooded) {
	f.Answered += other.Answered
	f.Wrong += other.Wrong
	f.Silent += other.Silent
	f.Stuck += other.Stuck
	f.Failed += other.Failed
	if f.WrongCases == nil {
		f.WrongCases = map[string]int{}
	}
	for id, n := range other.WrongCases {
		f.WrongCases[id] += n
	}
}

// worst names the cases that failed most often.
func (f flooded) worst() string {
	ids := slices.SortedFunc(maps.Keys(f.WrongCases), func(a, b string) int { return f.WrongCases[b] - f.WrongCases[a] })
	text := strings.Join(ids[:min(len(ids), 8)], " ")
	if len(ids) > 8 {
		text += fmt.Sprintf(" and %d more", len(ids)-8)
	}
	return text
}

func (f flooded) String() string {
	return fmt.Sprintf("%d correct, %d wrong, %d without a response, %d not closed, %d not sent", f.Answered, f.Wrong, f.Silent, f.Stuck, f.Failed)
}

// floodPatience is the maximum lifetime of a connection.
const floodPatience = 5 * time.Second

// flood keeps a number of connections busy from one thread: connect, send a case, read to the end, again. It makes
// system calls directly, because the server runs on the same two cores.
type flood struct {
	*attacker
	poll    int
	to      syscall.SockaddrInet4
	slots   map[int32]*floodSlot // by descriptor
	missing int                  // connections that could not be opened; the next sweep tries again
	made    int                  // number of connections opened
	buffer  [4096]byte
}

type floodSlot struct {
	floodCase
	start  time.Time
	status int
}

// startFlood starts two flooding threads and returns a function that stops them.
func startFlood(a *attacker) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	a.stat.WrongCases = map[string]int{}
	a.stat.Connected = a.Conns
	for range 2 {
		wait.Go(func() {
			runtime.LockOSThread()
			f := newFlood(a)
			if len(a.Cases) == 0 {
				f.storm(done)
			} else {
				f.run(a.Conns/2, done)
			}
		})
	}
	return func() { close(done); wait.Wait() }
}

func newFlood(a *attacker) *flood {
	f := &flood{attacker: a, slots: map[int32]*floodSlot{}}
	f.poll, _ = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	f.to, _ = load.Resolve(a.Address)
	return f
}

func (f *flood) run(conns int, done <-chan struct{}) {
	for range conns {
		f.open()
	}
	events := make([]syscall.EpollEvent, conns)
	for swept := time.Now(); ; {
		select {
		case <-done:
			return
		default:
		}
		n, err := syscall.EpollWait(f.poll, events, 100)
		if err != nil && err != syscall.EINTR {
			return
		}
		for _, e := range events[:max(n, 0)] {
			f.read(e.Fd)
		}
		if time.Since(swept) > time.Second {
			swept = time.Now()
			f.sweep()
		}
	}
}

// open opens the next connection, unless the flood has opened all of them.
func (f *flood) open() {
	f.mu.Lock()
	enough := f.Count > 0 && f.stat.total() >= f.Count
	f.mu.Unlock()
	if enough {
		return
	}
	c := f.Cases[rand.IntN(len(f.Cases))]
	fd, err := f.send(c.Raw)
	if err != nil {
		f.count(func(s *flooded) { s.Failed++ })
		f.missing++
		return
	}
	f.slots[int32(fd)] = &floodSlot{floodCase: c, start: time.Now()}
}

// made returns how many connections the server closed, with or without a response.
func (f *flooded) made() int { return f.Answered + f.Wrong + f.Silent }

func (f *flooded) total() int { return f.Answered + f.Wrong + f.Silent + f.Stuck + f.Failed }

// send connects and sends. On the loopback device neither call waits.
func (f *flood) send(request []byte) (int, error) {
	f.made++
	fd, err := load.Connect(&f.to, f.made)
	if err != nil {
		return -1, err
	}
	err = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	if err == nil && len(request) > 0 {
		_, writeErr := syscall.Write(fd, request)
		err = errors.Join(writeErr, syscall.SetNonblock(fd, true),
			syscall.EpollCtl(f.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}))
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// read reads what has arrived, and opens the next connection when this one is closed.
func (f *flood) read(fd int32) {
	slot := f.slots[fd]
	for slot != nil {
		n, err := syscall.Read(int(fd), f.buffer[:])
		switch {
		case n > 0:
			if slot.status == 0 {
				slot.status = statusOf(f.buffer[:n])
			}
		case err == syscall.EAGAIN:
			return
		case err == syscall.EINTR:
		default:
			f.close(fd, slot, false)
			return
		}
	}
}

// statusOf returns the status code, or -1 if head is not the start of a response.
func statusOf(head []byte) int {
	if status, err := parseStatus(head); err == nil {
		return status
	}
	return -1
}

func (f *flood) close(fd int32, slot *floodSlot, stuck bool) {
	syscall.Close(int(fd))
	delete(f.slots, fd)
	f.count(func(s *flooded) {
		switch {
		case stuck:
			s.Stuck++
		case slices.Contains(slot.Statuses, slot.status):
			s.Answered++
			return
		case slot.status == 0:
			s.Silent++
		default:
			s.Wrong++
		}
		s.WrongCases[slot.ID]++
	})
	f.open()
}

func (f *flood) count(change func(*flooded)) {
	f.mu.Lock()
	change(&f.stat.flooded)
	f.mu.Unlock()
}

// sweep closes the connections that the server should have closed, and replaces those that could not be opened.
func (f *flood) sweep() {
	for fd, slot := range f.slots {
		if time.Since(slot.start) > floodPatience {
			f.close(fd, slot, true)
		}
	}
	retry := f.missing
	f.missing = 0
	for range retry {
		f.open()
	}
}

// storm opens connections and resets them at once until it is stopped. The server's only work is accepting.
func (f *flood) storm(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		fd, err := f.send(nil)
		if err == nil {
			err = syscall.Close(fd)
		}
		f.count(func(s *flooded) {
			if err != nil {
				s.Failed++
			} else {
				s.Silent++
			}
		})
	}
}

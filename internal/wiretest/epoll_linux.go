package wiretest

import (
	"slices"
	"sync"
	"syscall"
	"time"
)

// kernelQueue is an epoll instance of a [Kernel], with a bell. The kernel's lock guards it.
type kernelQueue struct {
	change  sync.Cond
	ready   []*interest // files with events that were not examined yet
	waiters int
	rung    bool
}

// interest is a file's registration in a queue.
type interest struct {
	q      *kernelQueue
	f      *kernelFile
	event  syscall.EpollEvent
	queued bool
	gone   bool
}

const edgeTriggered = 1 << 31

// EpollCreate returns a new queue.
func (k *Kernel) EpollCreate() (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := &kernelQueue{}
	q.change.L = &k.mu
	return k.open(&kernelFile{queue: q}), nil
}

// EpollCtl adds fd to a queue, changes its events or removes it.
func (k *Kernel) EpollCtl(ep, op, fd int, event *syscall.EpollEvent) error {
	k.step("epoll_ctl", fd)
	defer k.step("after epoll_ctl", fd)
	if op == syscall.EPOLL_CTL_ADD {
		if err := k.refused("epoll_ctl"); err != nil {
			return err
		}
	}
	f, err := k.epollCtl(ep, op, fd, *event)
	if err == nil && f.conn != nil && op == syscall.EPOLL_CTL_ADD {
		f.conn.Watch(func() { k.happened(f) })
		k.happened(f) // events may have happened before the registration
	}
	return err
}

func (k *Kernel) epollCtl(ep, op, fd int, event syscall.EpollEvent) (*kernelFile, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, queue := k.fileLocked("epoll_ctl", fd), k.fileLocked("epoll_ctl", ep)
	if f == nil || queue == nil || queue.queue == nil {
		return nil, syscall.EBADF
	}
	q := queue.queue
	at := slices.IndexFunc(f.interest, func(i *interest) bool { return i.q == q })
	switch {
	case op == syscall.EPOLL_CTL_ADD && at >= 0:
		return nil, syscall.EEXIST
	case op != syscall.EPOLL_CTL_ADD && at < 0:
		return nil, syscall.ENOENT
	case op == syscall.EPOLL_CTL_DEL:
		f.interest[at].gone = true
		f.interest = slices.Delete(f.interest, at, at+1)
		return f, nil
	case op == syscall.EPOLL_CTL_ADD:
		at = len(f.interest)
		f.interest = append(f.interest, &interest{q: q, f: f})
	}
	f.interest[at].event = event
	f.interest[at].queue()
	return f, nil
}

// happened is called when the state of a connection changed.
func (k *Kernel) happened(f *kernelFile) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range f.interest {
		i.queue()
	}
}

// wakeOne is called when a connection entered a listener's queue. It wakes at most one waiter, like EPOLLEXCLUSIVE.
func (f *kernelFile) wakeOne() {
	for _, i := range f.interest {
		if i.queue(); i.q.waiters > 0 {
			return
		}
	}
}

// queue makes the next call of EpollWait examine the file.
func (i *interest) queue() {
	if !i.queued && !i.gone {
		i.queued = true
		i.q.ready = append(i.q.ready, i)
	}
	i.q.change.Broadcast()
}

// Pending returns the descriptors that the next EpollWait on ep examines, in this order.
func (k *Kernel) Pending(ep int) (fds []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range k.files[ep].queue.ready {
		if !i.gone {
			fds = append(fds, i.f.fd)
		}
	}
	return fds
}

// Ring ends the current EpollWait, or the next one if none is running.
func (k *Kernel) Ring(ep int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.fileLocked("ring", ep); f != nil {
		f.queue.rung = true
		f.queue.change.Broadcast()
	}
}

// EpollWait waits for events. See [poll.Kernel].
func (k *Kernel) EpollWait(ep int, events []syscall.EpollEvent, timeout time.Duration) int {
	k.step("epoll_wait", ep)
	defer k.step("after epoll_wait", ep)
	f := k.file("epoll_wait", ep)
	if f == nil || f.queue == nil {
		return 0
	}
	end := time.Now().Add(timeout)
	if timeout > 0 {
		defer time.AfterFunc(timeout, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			f.queue.change.Broadcast()
		}).Stop()
	}
	for {
		if n := k.collect(f.queue, events); n > 0 || !k.await(f.queue, timeout, end) {
			return n
		}
	}
}

// await waits for an event. It reports false if the timeout or the bell ended the wait.
func (k *Kernel) await(q *kernelQueue, timeout time.Duration, end time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(q.ready) == 0 {
		if q.rung || timeout >= 0 && !time.Now().Before(end) {
			q.rung = false
			return false
		}
		q.waiters++
		q.change.Wait()
		q.waiters--
	}
	return true
}

// collect moves ready files to events. Files that are not edge-triggered are examined again next time.
func (k *Kernel) collect(q *kernelQueue, events []syscall.EpollEvent) (n int) {
	k.mu.Lock()
	todo := q.ready[:min(len(q.ready), len(events))]
	q.ready = slices.Clone(q.ready[len(todo):])
	for _, i := range todo {
		i.queued = false
	}
	k.mu.Unlock()
	for _, i := range todo {
		if event, ok := k.happening(i); ok {
			events[n] = event
			n++
		}
	}
	return n
}

// happening returns the event to report, if there is one now. It queries the connection without holding the kernel's
// lock, because the connection holds its own lock when it reports a change.
func (k *Kernel) happening(i *interest) (event syscall.EpollEvent, ok bool) {
	var r Readiness
	if i.f.conn != nil {
		r = i.f.conn.Ready()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if i.f.listens {
		r.Read = len(i.f.backlog) > 0
	}
	event = i.event
	event.Events = r.events() & (i.event.Events | syscall.EPOLLHUP | syscall.EPOLLERR)
	if ok = event.Events != 0 && !i.gone; ok && i.event.Events&edgeTriggered == 0 {
		i.queue()
	}
	return event, ok
}

func (r Readiness) events() (mask uint32) {
	for _, bit := range []struct {
		is   bool
		mask uint32
	}{
		{r.Read, syscall.EPOLLIN}, {r.Write, syscall.EPOLLOUT}, {r.Ended, syscall.EPOLLIN | syscall.EPOLLRDHUP},
		{r.Broken, syscall.EPOLLHUP},
	} {
		if bit.is {
			mask |= bit.mask
		}
	}
	return mask
}

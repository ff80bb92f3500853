package conn

import (
	"net"
	"sync"
	"time"
)

// workerPool runs a function for each connection on goroutines that are used
// again, latest first, so that their stacks, once grown, stay grown.
type workerPool struct {
	serve func(Accepted)
	idle  time.Duration

	mu     sync.Mutex
	parked []*worker // longest parked first
	reaper bool
	reaps  uint64 // how often reap was called
	closed bool
}

// Accepted is a connection that a listener has accepted.
type Accepted struct {
	net.Conn
	From *Listener
}

type worker struct {
	next   chan Accepted
	parked uint64 // the reaps before it was parked
}

func (p *workerPool) run(c Accepted) {
	p.mu.Lock()
	var w *worker
	if n := len(p.parked); n > 0 {
		w = p.parked[n-1]
		p.parked[n-1] = nil
		p.parked = p.parked[:n-1]
	}
	p.mu.Unlock()
	if w == nil {
		w = &worker{next: make(chan Accepted, 1)}
		go p.work(w)
	}
	w.next <- c
}

func (p *workerPool) work(w *worker) {
	for c := range w.next {
		p.serve(c)
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		w.parked = p.reaps
		p.parked = append(p.parked, w)
		if !p.reaper {
			p.reaper = true
			time.AfterFunc(p.idle, p.reap)
		}
		p.mu.Unlock()
	}
}

// reap ends the workers that were parked before its last call, and comes back after p.idle while any are left. So nobody
// looks at the clock when a worker is parked.
func (p *workerPool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := 0
	for old < len(p.parked) && p.parked[old].parked < p.reaps {
		close(p.parked[old].next)
		old++
	}
	p.reaps++
	p.parked = append(p.parked[:0], p.parked[old:]...)
	clear(p.parked[len(p.parked):cap(p.parked)])
	if p.reaper = len(p.parked) > 0; p.reaper {
		time.AfterFunc(p.idle, p.reap)
	}
}

// Drain ends all parked workers, and the others when they have served.
func (p *workerPool) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.parked {
		close(w.next)
	}
	p.parked = nil
}

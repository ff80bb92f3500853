package gallop

import (
	"errors"
	"net"
	"sync"
	"time"
)

// maxAcceptPause is how long accepting waits at most for descriptors to come back:
// short enough that nobody notices that they have, long enough to cost nothing.
const maxAcceptPause = 250 * time.Millisecond

// acceptLoop hands the connections of a listener to workers until it fails or has come to its end.
func (s *Server) acceptLoop(of *servedListener) error {
	ln := of.Listener
	var pause time.Duration
	for {
		c, err := ln.Accept()
		if err != nil {
			if s.conns.isClosing() || isClosedListener(err) {
				return nil
			}
			if !isTemporary(err) {
				return err
			}
			// Out of descriptors or memory: wait until others have gone.
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			s.log.accepting(ln, pause, err)
			s.sleep(pause)
			continue
		}
		pause = 0
		s.tune(c)
		if err := s.admit(); err != nil {
			s.turnAway(c, StatusServiceUnavailable, err, true)
			s.sleep(s.SleepWhenConcurrencyLimitsExceeded)
			continue
		}
		s.workers.run(acceptedConn{c, of})
	}
}

// isTemporary reports whether accepting may work again later.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// sleep waits for d or until no more is to be accepted.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.conns.closingC:
	}
}

// tune sets the options of an accepted connection.
func (s *Server) tune(c net.Conn) {
	if !s.TCPKeepalive {
		return
	}
	if tc, ok := c.(interface {
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
	}); ok {
		if tc.SetKeepAlive(true) == nil && s.TCPKeepalivePeriod > 0 {
			tc.SetKeepAlivePeriod(s.TCPKeepalivePeriod)
		}
	}
}

// admit counts a connection in, unless there are too many.
func (s *Server) admit() error {
	if int(s.conns.open.Add(1)) > orDefault(s.Concurrency, DefaultConcurrency) {
		s.conns.leave()
		return ErrConcurrencyLimit
	}
	return nil
}

// workerPool runs a function for each connection on goroutines that are used
// again, latest first, so that their stacks, once grown, stay grown.
type workerPool struct {
	serve func(acceptedConn)
	idle  time.Duration

	mu     sync.Mutex
	parked []*worker // longest parked first
	reaper bool
	closed bool
}

// acceptedConn is a connection that a listener has accepted.
type acceptedConn struct {
	net.Conn
	of *servedListener
}

type worker struct {
	next  chan acceptedConn
	since time.Time
}

func (p *workerPool) run(c acceptedConn) {
	p.mu.Lock()
	var w *worker
	if n := len(p.parked); n > 0 {
		w = p.parked[n-1]
		p.parked[n-1] = nil
		p.parked = p.parked[:n-1]
	}
	p.mu.Unlock()
	if w == nil {
		w = &worker{next: make(chan acceptedConn, 1)}
		go p.work(w)
	}
	w.next <- c
}

func (p *workerPool) work(w *worker) {
	for c := range w.next {
		p.serve(c)
		w.since = time.Now()
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		p.parked = append(p.parked, w)
		if !p.reaper {
			p.reaper = true
			time.AfterFunc(p.idle, p.reap)
		}
		p.mu.Unlock()
	}
}

// reap ends the workers that were parked for long, and comes back while any are left.
func (p *workerPool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, now := 0, time.Now()
	for old < len(p.parked) && now.Sub(p.parked[old].since) >= p.idle {
		close(p.parked[old].next)
		old++
	}
	p.parked = append(p.parked[:0], p.parked[old:]...)
	clear(p.parked[len(p.parked):cap(p.parked)])
	if p.reaper = len(p.parked) > 0; p.reaper {
		time.AfterFunc(p.idle, p.reap)
	}
}

// drain ends all parked workers, and the others when they have served.
func (p *workerPool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.parked {
		close(w.next)
	}
	p.parked = nil
}

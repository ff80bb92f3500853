package server_test

import (
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// simListener is where clients connect.
type simListener interface {
	net.Listener
	Connect(c wiretest.Pollable) net.Addr // nil if the listener is closed
}

// listen makes the listener, and returns the one that the server serves.
func (m *simulation) listen() net.Listener {
	if m.goroutines {
		m.ln = newSimQueue(m)
	} else {
		ln := servertest.ListenOnLoop(m.s)
		servertest.SetLoops(m.s, 1+m.rng.IntN(3))
		m.k = servertest.Kernel(m.s)
		m.k.Step = m.at
		_ = ln.Control(func(fd uintptr) { m.locked[int(fd)] = true })
		m.ln = ln
	}
	if m.tls {
		return tls.NewListener(m.ln, simServerTLS())
	}
	return m.ln
}

// openSockets returns how many connections the server has open.
func (m *simulation) openSockets() int {
	if m.k != nil {
		return m.k.Open()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}

// findMisuse fails if the server has used a descriptor that is not open.
func (m *simulation) findMisuse() {
	if m.k == nil {
		return
	}
	for _, misuse := range m.k.Misuse() {
		m.fail("%s", misuse)
	}
}

// simQueue is a listener without a descriptor, so goroutines serve its connections.
type simQueue struct {
	m      *simulation
	mu     sync.Mutex
	change sync.Cond
	queue  []wiretest.Pollable
	closed bool
}

func newSimQueue(m *simulation) *simQueue {
	q := &simQueue{m: m}
	q.change.L = &q.mu
	return q
}

// Connect adds a connection.
func (q *simQueue) Connect(c wiretest.Pollable) net.Addr {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.queue = append(q.queue, c)
	q.change.Signal()
	return c.RemoteAddr()
}

// Accept waits for a connection.
func (q *simQueue) Accept() (net.Conn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) == 0 && !q.closed {
		q.change.Wait()
	}
	if q.closed {
		return nil, net.ErrClosed
	}
	c := q.queue[0].(*simSocket)
	q.queue = q.queue[1:]
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.open++
	return &simBlocking{simSocket: c}, nil
}

// Close closes the listener, and connections that were not accepted.
func (q *simQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
	for _, c := range q.queue {
		_ = c.Close()
	}
	q.queue = nil
	return nil
}

// Addr returns the address of a TCP listener.
func (q *simQueue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// simBlocking is the server's end of a connection that a goroutine serves. Its calls wait.
type simBlocking struct {
	*simSocket
	close sync.Once
}

// Read reads less than there is now and then.
func (s *simBlocking) Read(p []byte) (int, error) {
	s.m.at("read", s.id)
	defer s.m.at("after read", s.id)
	return s.Conn.Read(p[:s.some(len(p))])
}

// Write writes in pieces now and then, so that other goroutines can do something between them.
func (s *simBlocking) Write(p []byte) (done int, err error) {
	for {
		s.m.at("write", s.id)
		n, err := s.Conn.Write(p[done : done+s.some(len(p)-done)])
		s.m.at("after write", s.id)
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// some returns n, or something less now and then.
func (s *simBlocking) some(n int) int {
	if n < 2 || s.m.draw(8) > 0 {
		return n
	}
	return 1 + s.m.draw(min(n, 64))
}

// Close closes the connection.
func (s *simBlocking) Close() error {
	s.m.at("close", s.id)
	defer s.m.at("after close", s.id)
	s.close.Do(func() {
		s.m.mu.Lock()
		defer s.m.mu.Unlock()
		s.m.open--
	})
	return s.Conn.Close()
}

// simSocket is the server's end of a connection, on which calls do less than they could now and
// then. The bytes or the room that they leave over count later.
type simSocket struct {
	*wiretest.Conn
	m        *simulation
	id       int
	happened func()
	owesRead bool // an event; guarded by m.mu
	owesRoom bool
}

// Watch is told of a connection that is taken away by nil.
func (s *simSocket) Watch(f func()) {
	s.m.mu.Lock()
	s.happened = f
	s.m.mu.Unlock()
	s.Conn.Watch(f)
}

// TryRead reads less than there is now and then, or nothing.
func (s *simSocket) TryRead(p []byte) (int, error) { return s.less(p, s.Conn.TryRead, &s.owesRead) }

// TryWrite does so with writing.
func (s *simSocket) TryWrite(p []byte) (int, error) { return s.less(p, s.Conn.TryWrite, &s.owesRoom) }

func (s *simSocket) less(p []byte, call func([]byte) (int, error), owes *bool) (int, error) {
	m := s.m
	m.mu.Lock()
	if len(p) < 2 || m.nobody || m.rng.IntN(8) > 0 {
		m.mu.Unlock()
		return call(p)
	}
	n := m.rng.IntN(min(len(p), 64))
	if *owes = true; !slices.Contains(m.owing, s) {
		m.owing = append(m.owing, s)
	}
	m.mu.Unlock()
	if n > 0 {
		return call(p[:n])
	}
	return 0, syscall.EAGAIN
}

// Ready reports more than there is now and then, as systems do.
func (s *simSocket) Ready() wiretest.Readiness {
	r := s.Conn.Ready()
	r.Read = r.Read || s.m.draw(16) == 0
	return r
}

// payOne has an event come that a socket owes, if there is one.
func (m *simulation) payOne() bool {
	m.mu.Lock()
	if len(m.owing) == 0 {
		m.mu.Unlock()
		return false
	}
	i := m.rng.IntN(len(m.owing))
	s := m.owing[i]
	f, paid := s.happened, !s.owesRoom || s.Conn.Ready().Write
	if paid {
		s.owesRead, s.owesRoom = false, false
		m.owing = slices.Delete(m.owing, i, i+1)
	}
	m.note("event", i)
	m.mu.Unlock()
	if f != nil {
		f()
	}
	return paid
}

package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// stream is one direction of a connection. Waiting is done on condition
// variables only, never on the mutex, so that a bubble of testing/synctest sees
// its goroutines as durably blocked.
type stream struct {
	mu       sync.Mutex
	readable sync.Cond // something that Read waits for may have happened
	writable sync.Cond // the same for Write

	bytes   ring
	readBy  deadline
	writeBy deadline

	writing    bool  // a Write has put some of its bytes here and waits to put the rest
	writeErr   error // what Write returns; once set, EOF follows the bytes in the ring
	readClosed bool  // the reading end is closed: bytes have nowhere to go
}

func (s *stream) init() {
	s.readable.L, s.writable.L = &s.mu, &s.mu
	s.readBy.wake, s.writeBy.wake = &s.readable, &s.writable
}

// Read and Write are not passed on to the streams: behind a wait every return from a
// call costs more than the call, since the processor has forgotten where to.

func (c *conn) Read(p []byte) (int, error) {
	s := c.in
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readClosed:
			return 0, net.ErrClosed
		case s.readBy.expired:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.bytes.n > 0:
			n := s.bytes.read(p)
			s.writable.Broadcast()
			return n, nil
		case s.writeErr != nil:
			return 0, io.EOF
		}
		s.readable.Wait()
	}
}

func (s *stream) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readClosed || s.bytes.n > 0 || s.writeErr != nil
}

func (c *conn) Write(p []byte) (n int, err error) {
	s := c.out
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing && s.cannotWrite() == nil {
		s.writable.Wait()
	}
	if err := s.cannotWrite(); err != nil {
		return 0, err
	}
	n = s.put(p)
	if n == len(p) {
		return n, nil
	}
	s.writing = true
	for n < len(p) && err == nil {
		s.writable.Wait()
		if err = s.cannotWrite(); err == nil {
			n += s.put(p[n:])
		}
	}
	s.writing = false
	s.writable.Broadcast()
	return n, err
}

// put queues as much of p as there is room for and returns how much that was.
func (s *stream) put(p []byte) int {
	n := s.bytes.write(p)
	if n > 0 {
		s.readable.Broadcast()
	}
	return n
}

// cannotWrite returns why no byte may be written now, full buffers aside.
func (s *stream) cannotWrite() error {
	switch {
	case s.writeErr != nil:
		return s.writeErr
	case s.readClosed:
		return io.ErrClosedPipe
	case s.writeBy.expired:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// closeWrite ends the stream; from now on Write returns err. If that is
// net.ErrClosed the end is closed for good, which only the first call does.
func (s *stream) closeWrite(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeErr == net.ErrClosed {
		return net.ErrClosed
	}
	s.writeErr = err
	if err == net.ErrClosed {
		s.writeBy.stop()
	}
	s.readable.Broadcast()
	s.writable.Broadcast()
	return nil
}

// closeRead throws away what was not read and frees the buffer.
func (s *stream) closeRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readClosed = true
	s.readBy.stop()
	s.bytes = ring{}
	s.readable.Broadcast()
	s.writable.Broadcast()
}

func (s *stream) setReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readClosed {
		return net.ErrClosed
	}
	s.readBy.set(t)
	return nil
}

func (s *stream) setWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeErr == net.ErrClosed {
		return net.ErrClosed
	}
	s.writeBy.set(t)
	return nil
}

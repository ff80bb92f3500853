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
//
// Bytes that come while a Read waits go where it wants them, and only what is over
// is queued: into is nil, or the queue was empty when it was set, and
// 0 ≤ handed ≤ len(into).
type stream struct {
	mu       sync.Mutex
	readable sync.Cond // something that Read waits for may have happened
	writable sync.Cond // the same for Write

	into    []byte // of the first Read that waits
	handed  int    // bytes that were put there, for that Read alone
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

// Read reads what the peer has written, and waits if that is nothing. It returns io.EOF once the
// peer has closed and all is read.
func (c *Conn) Read(p []byte) (n int, err error) {
	s := c.in
	s.mu.Lock()
	for len(p) > 0 && s.nothingToRead() {
		first := s.into == nil
		if first {
			s.into = p
		}
		s.readable.Wait()
		if !first {
			continue
		}
		n = s.handed
		s.into, s.handed = nil, 0
		if n > 0 {
			s.mu.Unlock()
			return n, nil
		}
	}
	switch {
	case s.readClosed:
		err = net.ErrClosed
	case s.readBy.expired:
		err = os.ErrDeadlineExceeded
	case len(p) == 0:
	case s.bytes.n > 0:
		n = s.bytes.read(p)
		if s.writing {
			s.writable.Broadcast()
		}
	default:
		err = io.EOF
	}
	s.mu.Unlock()
	return n, err
}

// nothingToRead reports whether a Read has to wait.
func (s *stream) nothingToRead() bool {
	return s.bytes.n == 0 && s.writeErr == nil && !s.readClosed && !s.readBy.expired
}

func (s *stream) stale() bool {
	s.mu.Lock()
	stale := s.readClosed || s.bytes.n > 0 || s.writeErr != nil
	s.mu.Unlock()
	return stale
}

// Write writes p for the peer to read. It waits while the peer has as many bytes unread as the
// connection buffers.
func (c *Conn) Write(p []byte) (n int, err error) {
	s := c.out
	s.mu.Lock()
	for s.writing && s.cannotWrite() == nil {
		s.writable.Wait()
	}
	if err = s.cannotWrite(); err == nil {
		if n = s.put(p); n < len(p) {
			n, err = s.putRest(p, n)
		}
	}
	s.mu.Unlock()
	s.readable.Broadcast() // whoever wakes up finds the stream unlocked
	return n, err
}

// putRest puts what of p is behind its first n bytes, for which there was no room. It
// returns how much of p was put in all.
func (s *stream) putRest(p []byte, n int) (_ int, err error) {
	s.writing = true
	for n < len(p) && err == nil {
		s.readable.Broadcast()
		s.writable.Wait()
		if err = s.cannotWrite(); err == nil {
			n += s.put(p[n:])
		}
	}
	s.writing = false
	s.writable.Broadcast()
	return n, err
}

// put hands over or queues as much of p as there is room for and returns how much that was.
func (s *stream) put(p []byte) (n int) {
	if s.into != nil && s.handed == 0 {
		n = copy(s.into, p)
		s.handed = n
	}
	if n < len(p) {
		n += s.bytes.write(p[n:])
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

package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// stream is one direction of a connection. Goroutines wait on condition variables only, never on the mutex, so that
// testing/synctest sees them as durably blocked.
//
// While a Read waits, Write copies bytes directly into the reader's buffer, and queues only those that do not fit. Either into
// is nil, or the queue was empty when into was set. 0 ≤ handed ≤ len(into).
type stream struct {
	mu       sync.Mutex
	readable sync.Cond // signaled when a waiting Read may be able to continue
	writable sync.Cond // signaled when a waiting Write may be able to continue

	into    []byte // the buffer of the first Read that waits
	handed  int    // bytes that were copied into that buffer
	bytes   ring
	readBy  deadline
	writeBy deadline

	writing    bool  // a Write has delivered some of its bytes and waits for room for the rest
	writeErr   error // what Write returns; once set, EOF follows the bytes in the ring
	readClosed bool  // the reading end is closed
}

func (s *stream) init() {
	s.readable.L, s.writable.L = &s.mu, &s.mu
	s.readBy.wake, s.writeBy.wake = &s.readable, &s.writable
}

// Read and Write do their work here instead of calling methods of stream. After a wait, each return from a function is slow,
// because the processor no longer predicts its target.

// Read reads bytes that the peer has written. If no bytes are available, Read blocks. Read returns io.EOF after the
// peer has closed its end and all bytes have been read.
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

// Write writes p for the peer to read. Write blocks while the buffer is full of bytes that the peer has not read. Write keeps
// no reference to p.
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
	s.readable.Broadcast() // after Unlock, so that woken readers need not wait for the lock
	return n, err
}

// putRest delivers p[n:], for which there was no room, and waits for the peer to read. It returns the number of bytes of p
// that were delivered in total.
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

// put copies p to a waiting Read, queues the rest up to the bound, and returns the number of bytes that were delivered.
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

// cannotWrite returns the reason why Write must fail now, or nil. A full buffer is not such a reason.
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

// closeWrite ends the stream. From now on, Write returns err. With net.ErrClosed the writing end is closed completely; all
// later calls return net.ErrClosed and change nothing.
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

// closeRead discards unread bytes and frees the buffer.
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

//go:build linux

package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// Hold holds connections that are idle until asked. There may be very many, because each costs only a descriptor.
type Hold struct {
	to      syscall.SockaddrInet4
	request []byte
	fds     []int
	first   int
	buf     []byte
}

// holdPatience is how long a Hold waits for a response.
const holdPatience = 20 * time.Second

// NewHold returns a Hold without connections. request is sent to address whenever a connection is asked. If several
// Holds connect to the same address, each needs another value of first.
func NewHold(address string, request []byte, first int) (*Hold, error) {
	to, err := Resolve(address)
	return &Hold{to: to, request: request, first: first, buf: make([]byte, 16<<10)}, err
}

// Open opens n more connections and sends one request on each.
func (h *Hold) Open(n int) error {
	patience := syscall.NsecToTimeval(int64(holdPatience))
	for range n {
		fd, err := Connect(&h.to, h.first+len(h.fds))
		if err != nil {
			return fmt.Errorf("load: connection %d: %w", len(h.fds), err)
		}
		h.fds = append(h.fds, fd)
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &patience); err != nil {
			return err
		}
		if err := errors.Join(h.send(fd), h.receive(fd)); err != nil {
			return fmt.Errorf("load: connection %d: %w", len(h.fds), err)
		}
	}
	return nil
}

// Ask sends a request on n random connections at once, and returns how long it takes until all have a response.
func (h *Hold) Ask(n int, random *rand.Rand) (time.Duration, error) {
	picked := random.Perm(len(h.fds))[:min(n, len(h.fds))]
	start := time.Now()
	for _, i := range picked {
		if err := h.send(h.fds[i]); err != nil {
			return 0, fmt.Errorf("load: connection %d is broken: %w", i, err)
		}
	}
	for _, i := range picked {
		if err := h.receive(h.fds[i]); err != nil {
			return 0, fmt.Errorf("load: connection %d is broken: %w", i, err)
		}
	}
	return time.Since(start), nil
}

func (h *Hold) send(fd int) error {
	n, err := syscall.Write(fd, h.request)
	if err == nil && n < len(h.request) {
		err = errors.New("not sent")
	}
	return err
}

// receive reads one 2xx response.
func (h *Hold) receive(fd int) error {
	for got := 0; ; {
		n := 0
		err := retry(func() (err error) { n, err = syscall.Read(fd, h.buf[got:]); return err })
		if err != nil || n == 0 {
			return errors.Join(errEarlyEnd, err)
		}
		got += n
		a, err := parseAnswer(h.buf[:got])
		switch {
		case err != nil:
			return err
		case a.size == 0 && got < len(h.buf):
		case a.size != got:
			return errStays
		case a.status/100 != 2:
			return errStatus
		default:
			return nil
		}
	}
}

// Close closes the connections.
func (h *Hold) Close() {
	for _, fd := range h.fds {
		syscall.Close(fd)
	}
	h.fds = nil
}

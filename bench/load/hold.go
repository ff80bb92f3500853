//go:build linux

package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// Hold holds connections that are idle until asked. There may be very many, because each costs only a descriptor.
type Hold struct {
	to      syscall.SockaddrInet4
	request []byte
	fds     []int
	first   int
	buf     []byte
	head    message.Head
}

// sources is the number of loopback addresses that connections use, so that no pair of addresses runs out of ports.
const sources = 32

var (
	errEarlyEnd = errors.New("closed before the response")
	errStatus   = errors.New("unexpected status")
	errStays    = errors.New("more than one response")
	errNoLength = errors.New("response without Content-Length")
)

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
		size, err := h.parse(h.buf[:got])
		switch {
		case err != nil:
			return err
		case (size == 0 || size > got) && got < len(h.buf):
		case size != got:
			return errStays
		case h.head.Status/100 != 2:
			return errStatus
		default:
			return nil
		}
	}
}

// holdLimits are limits of responses.
var holdLimits = http1.Limits{Target: 1, Head: 16 << 10, Fields: 1000}

// parse parses the head of a response, and returns the length of the response, or 0 if the head is incomplete.
func (h *Hold) parse(b []byte) (size int, err error) {
	var parser http1.Parser
	h.head.Reset()
	n, err := parser.ParseResponse(&h.head, b, &holdLimits)
	if n == 0 || err != nil {
		return 0, err
	}
	if err := http1.FrameResponse(&h.head, message.Get); err != nil {
		return 0, err
	}
	switch h.head.Body {
	case message.NoBody:
		return n, nil
	case message.Fixed:
		return n + int(h.head.Length), nil
	}
	return 0, errNoLength
}

// Close closes the connections.
func (h *Hold) Close() {
	for _, fd := range h.fds {
		syscall.Close(fd)
	}
	h.fds = nil
}

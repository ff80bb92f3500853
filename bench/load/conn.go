//go:build linux

package load

import (
	"errors"
	"syscall"
	"time"
)

// conn is a connection. It has at most one request in flight.
type conn struct {
	fd    int
	asked int  // number of requests it has carried
	once  bool // opened for one request only, and not replaced afterwards

	waits bool // it waits for a response
	kind  int
	due   time.Duration // when the request should have been sent

	partial []byte // beginning of a response
	over    bool   // the response is complete, and the server should close the connection
	toEnd   bool   // the server may send more of the body until it closes
}

var (
	errEarlyEnd = errors.New("closed before the response")
	errStatus   = errors.New("unexpected status")
	errStays    = errors.New("more than one response, or the server did not close")
)

// send sends a request of this kind. An error means that the connection is broken.
func (c *conn) send(k *Kind) error {
	c.asked++
	if n, err := syscall.Write(c.fd, k.Octets); err != nil || n < len(k.Octets) {
		return errors.Join(errors.New("not sent"), err)
	}
	if k.After == Shut {
		return syscall.Shutdown(c.fd, syscall.SHUT_WR)
	}
	return nil
}

// outcome is the result of reading.
type outcome int

const (
	nothing  outcome = iota // wait for more
	answered                // the connection can carry another request
	ended                   // the connection ended as expected
)

// read reads what has arrived. buf is scratch space. all says that the end of the connection may be among it.
func (c *conn) read(k *Kind, buf []byte, all bool) (outcome, error) {
	for {
		n, err := syscall.Read(c.fd, buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return nothing, nil
		case err != nil || n == 0:
			return c.end(err)
		case c.toEnd:
			continue
		case !c.waits || c.over:
			return nothing, errStays
		}
		got := buf[:n]
		if len(c.partial) > 0 {
			c.partial = append(c.partial, got...)
			got = c.partial
		}
		what, err := c.answer(k, got)
		if what == answered && all {
			return c.behind(buf)
		}
		if what != nothing || err != nil || n < len(buf) && !all {
			return what, err
		}
	}
}

// behind checks whether the server has closed the connection after a response without announcing it. No other event
// would report that.
func (c *conn) behind(buf []byte) (outcome, error) {
	n := 0
	err := retry(func() (err error) { n, err = syscall.Read(c.fd, buf); return err })
	switch {
	case err == syscall.EAGAIN:
		return answered, nil
	case n > 0:
		return nothing, errStays
	}
	return ended, nil
}

// answer examines the bytes of a response that have arrived.
func (c *conn) answer(k *Kind, got []byte) (outcome, error) {
	a, err := parseAnswer(got)
	if err != nil {
		return nothing, err
	}
	if a.size == 0 {
		if len(c.partial) == 0 {
			c.partial = append(c.partial, got...)
		}
		return nothing, nil
	}
	c.partial = c.partial[:0]
	want := 2
	if k.After == Refusal {
		want = 4
	}
	switch {
	case a.status/100 != want:
		return nothing, errStatus
	case a.size < len(got) && !a.toEnd:
		return nothing, errStays
	}
	c.toEnd = a.toEnd
	if k.After != Keep || a.closes {
		c.over = true
		return nothing, nil
	}
	return answered, nil
}

// end returns the meaning of the end of the connection.
func (c *conn) end(err error) (outcome, error) {
	if c.waits && !c.over {
		return ended, errors.Join(errEarlyEnd, err)
	}
	return ended, nil
}

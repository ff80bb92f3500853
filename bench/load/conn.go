//go:build linux

package load

import (
	"errors"
	"syscall"
	"time"
)

// conn is a connection. It has at most one request under way.
type conn struct {
	fd    int
	asked int  // how many requests it has carried
	once  bool // it is made for one request, and no other takes its place

	waits bool // for an answer to
	kind  int
	due   time.Duration // when that request was to be sent

	partial []byte // of an answer
	over    bool   // the answer is there, and the server is to end the connection
	toEnd   bool   // and may send more of the body until then
}

var (
	errEarlyEnd = errors.New("ended before its answer")
	errStatus   = errors.New("another status")
	errStays    = errors.New("more than one answer, or none that ends it")
)

// send sends a request of the kind, and reports what ends the connection.
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

// outcome is what has come of reading.
type outcome int

const (
	nothing  outcome = iota // there may be more to come
	answered                // and may be asked again
	ended                   // as it should
)

// read takes what has arrived. buf is anybody's. all says that the connection's end may be among it.
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

// behind says whether the connection lives on behind an answer that the server may have ended it with, without having said so:
// the event for that is this one, and there is none to come.
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

// answer looks at what of an answer has arrived.
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

// end is what the end of the connection means.
func (c *conn) end(err error) (outcome, error) {
	if c.waits && !c.over {
		return ended, errors.Join(errEarlyEnd, err)
	}
	return ended, nil
}

package gallop

import (
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// emptyReads is how many reads in a row may bring nothing and no error.
const emptyReads = 100

// input is what a connection has brought and what has not been used of it.
//
//	buf: | used | in use | next to be used |  free  |
//	     0      headAt   r                 len(buf)  cap(buf)
//
//	0 ≤ headAt ≤ r ≤ len(buf) ≤ cap(buf)
//
// While held is set, the wire has views of the part in use, so that part has to stay where it is. If more bytes have to be
// read then than fit, buf is pinned, and the bytes that are next to be used begin another buffer.
type input struct {
	c        *connection
	counted  int64 // bytes that were read, and that the server's counts do not have yet
	buf      []byte
	pinned   []byte // has the part in use, if buf no longer does
	r        int
	headAt   int
	deadline time.Time // as set on the connection
	held     bool      // what is before r has to stay where it is
	raw      rawWait   // waits without a buffer, where that is possible

	byHand atomic.Pointer[time.Time] // the deadline that the program has set
}

func (in *input) empty() bool    { return in.r == len(in.buf) }
func (in *input) unread() []byte { return in.buf[in.r:] }

// wait reads the first bytes of a turn. While there are none, it holds no buffer, and the wire holds nothing either, if the
// connection allows that.
func (in *input) wait() error {
	in.r, in.headAt, in.buf = 0, 0, in.buf[:0]
	if in.raw.ok() {
		return in.waitRaw()
	}
	in.makeRoom()
	n, err := in.c.nc.Read(in.buf[:cap(in.buf)]) // few calls deep, see ClientConn.roundTrip
	switch {
	case n > 0:
		in.c.readClock()
		in.count(n)
		in.buf = in.buf[:n]
		return nil
	case err == nil:
		return in.read()
	}
	return err
}

func (in *input) waitRaw() error {
	n, err := in.raw.read(in)
	in.c.readClock()
	in.count(n)
	in.buf = in.buf[:n]
	if n == 0 && err == nil {
		err = io.EOF
	}
	return err
}

// park gives back what is not needed while the connection is idle.
func (in *input) park() {
	bufpool.Release(&in.buf)
	in.c.output.park()
	in.c.wire.Idle()
}

// An idle connection that has to end waits idleGrace for bytes that are already on their way. A connection that has brought
// nothing yet waits newConnGrace while the server shuts down.
const (
	idleGrace    = 5 * time.Millisecond
	newConnGrace = 500 * time.Millisecond
)

// lastChance waits for bytes on a connection that has become idle after warnIdle has looked for idle connections.
func (in *input) lastChance() error {
	grace := idleGrace
	if in.c.turns == 0 {
		grace = newConnGrace
	}
	in.armExactly(time.Now().Add(grace))
	in.c.loop.drained = false
	return in.wait()
}

// fill reads once and appends to the buffer. It flushes the output first. Without the flush, the server could wait for a
// client that is waiting for the output.
func (in *input) fill() error {
	if err := in.c.output.flush(); err != nil {
		return err
	}
	return in.read()
}

// read is fill for those who see to the output themselves.
func (in *input) read() error {
	in.makeRoom()
	in.c.loop.drained = false
	for range emptyReads {
		n, err := in.c.nc.Read(in.buf[len(in.buf):cap(in.buf)])
		if n > 0 {
			in.c.readClock()
			in.count(n)
			in.buf = in.buf[:len(in.buf)+n]
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom sees to it that there is space behind buf.
func (in *input) makeRoom() {
	switch {
	case in.buf == nil:
		in.buf = bufpool.Get(in.c.set.readBuf)
		in.r, in.headAt = 0, 0
	case len(in.buf) < cap(in.buf):
	case in.held:
		in.pin()
	case in.r > 0:
		in.buf = in.buf[:copy(in.buf, in.buf[in.r:])]
		in.r, in.headAt = 0, 0
	default:
		in.buf = bufpool.Grow(in.buf, 1)
	}
}

// pin leaves the buffer to the views of it, and continues in a new
// buffer. If a buffer is pinned already, the current one holds no head. Then pin makes
// room in the current buffer.
func (in *input) pin() {
	old := in.buf
	if in.pinned == nil {
		in.buf = append(bufpool.Get(max(in.c.set.readBuf, 2*len(in.unread()))), in.unread()...)
		in.pinned = old[:in.r]
	} else if in.r > 0 {
		in.buf = in.buf[:copy(in.buf, in.buf[in.r:])]
	} else {
		in.buf = bufpool.Grow(in.buf, 1)
	}
	in.r, in.headAt = 0, 0
}

// releaseHead is called when nobody may look at the head any longer.
func (in *input) releaseHead(poison bool) {
	if poison {
		bufpool.PoisonBytes(in.buf[:in.r:in.r]) // and not what is next to be used
		bufpool.PoisonBytes(in.pinned)
	}
	if in.pinned != nil {
		bufpool.Release(&in.pinned)
	}
	in.headAt = in.r
}

// abandon leaves all buffers to a program that still uses them.
func (in *input) abandon() {
	rest := in.unread()
	in.pinned = nil
	in.buf = append(bufpool.Get(max(in.c.set.readBuf, len(rest))), rest...)
	in.r, in.headAt = 0, 0
}

func (in *input) release() {
	in.releaseHead(in.c.set.poison)
	bufpool.Release(&in.buf)
	in.r, in.headAt = 0, 0
}

// arm makes reading fail when timeout has passed, or a little later: a deadline
// that is near enough is left in place. 0 means never.
func (in *input) arm(timeout time.Duration) {
	if timeout == 0 {
		in.armExactly(time.Time{})
		return
	}
	left, late := in.deadline.Sub(in.c.now), clock.Slack(timeout)
	timeout = min(timeout, math.MaxInt64-late)
	if left < timeout || left > timeout+late {
		in.armExactly(in.c.now.Add(timeout + late))
	}
}

// armExactly makes reading fail at the given time. The zero time means never.
func (in *input) armExactly(at time.Time) {
	if !in.deadline.Equal(at) {
		in.deadline = at
		in.c.nc.SetReadDeadline(at)
	}
}

// armByHand puts what SetReadDeadline has said in force, also if it said so while another deadline
// was being set.
func (in *input) armByHand() {
	for at := in.byHand.Load(); at != nil && !in.deadline.Equal(*at); at = in.byHand.Load() {
		in.armExactly(*at)
	}
}

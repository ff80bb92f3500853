package conn

import (
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
)

// emptyReads is how many reads in a row may bring nothing and no error.
const emptyReads = 100

// Input is what a connection has brought and what has not been used of it.
//
//	buf: | used | in use | next to be used |  free  |
//	     0      HeadAt   r                 len(buf)  cap(buf)
//
//	0 ≤ HeadAt ≤ r ≤ len(buf) ≤ cap(buf)
//
// While held is set, the wire has views of the part in use, so that part has to stay where it is. If more bytes have to be
// read then than fit, buf is pinned, and the bytes that are next to be used begin another buffer.
type Input struct {
	C        *Conn
	counted  int64 // bytes that were read, and that the server's counts do not have yet
	buf      []byte
	Pinned   []byte // has the part in use, if buf no longer does
	R        int
	HeadAt   int
	Deadline time.Time // as set on the connection
	Held     bool      // what is before r has to stay where it is
	AllRead  bool      // the last read has emptied the socket, and nothing is to be read until the loop says so
	raw      rawWait   // waits without a buffer, where that is possible

	ByHand atomic.Pointer[time.Time] // the deadline that the program has set
}

func (in *Input) Empty() bool    { return in.R == len(in.buf) }
func (in *Input) Unread() []byte { return in.buf[in.R:] }

// wait reads the first bytes of a turn. While there are none, it holds no buffer, and the wire holds nothing either, if the
// connection allows that.
func (in *Input) wait() error {
	in.R, in.HeadAt, in.buf = 0, 0, in.buf[:0]
	if in.raw.ok() {
		return in.waitRaw()
	}
	in.makeRoom()
	n, err := in.C.NC.Read(in.buf[:cap(in.buf)]) // few calls deep, see ClientConn.roundTrip
	switch {
	case n > 0:
		in.C.readClock()
		in.Count(n)
		in.buf = in.buf[:n]
		return nil
	case err == nil:
		return in.Read()
	}
	return err
}

func (in *Input) waitRaw() error {
	n, err := in.raw.read(in)
	in.C.readClock()
	in.Count(n)
	in.buf = in.buf[:n]
	if n == 0 && err == nil {
		err = io.EOF
	}
	return err
}

// park gives back what is not needed while the connection is idle.
func (in *Input) park() {
	bufpool.Release(&in.buf)
	in.C.Output.park()
	in.C.wire.Idle()
}

// An idle connection that has to end waits IdleGrace for bytes that are already on their way. A connection that has brought
// nothing yet waits newConnGrace while the server shuts down.
const (
	IdleGrace    = 5 * time.Millisecond
	newConnGrace = 500 * time.Millisecond
)

// lastChance waits for bytes on a connection that has become idle after WarnIdle has looked for idle connections.
func (in *Input) lastChance() error {
	grace := IdleGrace
	if in.C.Turns == 0 {
		grace = newConnGrace
	}
	in.ArmExactly(time.Now().Add(grace))
	in.AllRead = false
	return in.wait()
}

// Fill reads once and appends to the buffer. It flushes the output first. Without the flush, the server could wait for a
// client that is waiting for the output.
func (in *Input) Fill() error {
	if err := in.C.Output.Flush(); err != nil {
		return err
	}
	return in.Read()
}

// Read is fill for those who see to the output themselves.
func (in *Input) Read() error {
	in.makeRoom()
	in.AllRead = false
	for range emptyReads {
		n, err := in.C.NC.Read(in.buf[len(in.buf):cap(in.buf)])
		if n > 0 {
			in.C.readClock()
			in.Count(n)
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
func (in *Input) makeRoom() {
	switch {
	case in.buf == nil:
		in.buf = bufpool.Get(in.C.Set.ReadBuf)
		in.R, in.HeadAt = 0, 0
	case len(in.buf) < cap(in.buf):
	case in.Held:
		in.pin()
	case in.R > 0:
		in.buf = in.buf[:copy(in.buf, in.buf[in.R:])]
		in.R, in.HeadAt = 0, 0
	default:
		in.buf = bufpool.Grow(in.buf, 1)
	}
}

// wideInput is the size of the buffer for a client that sends faster than the server reads.
const wideInput = 64 << 10

// Widen takes a larger buffer for the next read, if the last one has filled the buffer and all of it was used. It reports whether
// the buffer was filled, so that more may have arrived.
func (in *Input) Widen() (filled bool) {
	filled = in.Empty() && len(in.buf) > 0 && len(in.buf) == cap(in.buf)
	if filled && cap(in.buf) < wideInput && !in.Held {
		bufpool.Put(in.buf)
		in.R, in.HeadAt, in.buf = 0, 0, bufpool.Get(wideInput)
	}
	return filled
}

// Arrived reports whether the next read of a connection that belongs to no loop does not have to wait. It returns false if that is
// unknown, as with TLS.
func (in *Input) Arrived() bool { return in.raw.arrived() }

// pin leaves the buffer to the views of it, and continues in a new
// buffer. If a buffer is pinned already, the current one holds no head. Then pin makes
// room in the current buffer.
func (in *Input) pin() {
	old := in.buf
	if in.Pinned == nil {
		in.buf = append(bufpool.Get(max(in.C.Set.ReadBuf, 2*len(in.Unread()))), in.Unread()...)
		in.Pinned = old[:in.R]
	} else if in.R > 0 {
		in.buf = in.buf[:copy(in.buf, in.buf[in.R:])]
	} else {
		in.buf = bufpool.Grow(in.buf, 1)
	}
	in.R, in.HeadAt = 0, 0
}

// ReleaseHead is called when nobody may look at the head any longer.
func (in *Input) ReleaseHead(poison bool) {
	if poison {
		bufpool.PoisonBytes(in.buf[:in.R:in.R]) // and not what is next to be used
		bufpool.PoisonBytes(in.Pinned)
	}
	if in.Pinned != nil {
		bufpool.Release(&in.Pinned)
	}
	in.HeadAt = in.R
}

// Abandon leaves all buffers to a program that still uses them.
func (in *Input) Abandon() {
	rest := in.Unread()
	in.Pinned = nil
	in.buf = append(bufpool.Get(max(in.C.Set.ReadBuf, len(rest))), rest...)
	in.R, in.HeadAt = 0, 0
}

func (in *Input) Release() {
	in.ReleaseHead(in.C.Set.Poison)
	bufpool.Release(&in.buf)
	in.R, in.HeadAt = 0, 0
}

// arm makes reading fail when timeout has passed, or a little later: a deadline
// that is near enough is left in place. 0 means never.
func (in *Input) arm(timeout time.Duration) {
	if timeout == 0 {
		in.ArmExactly(time.Time{})
		return
	}
	left, late := clock.Left(in.Deadline, in.C.Now), clock.Slack(timeout)
	timeout = min(timeout, math.MaxInt64-late)
	if left < timeout || left > timeout+late {
		in.ArmExactly(in.C.Now.Add(timeout + late))
	}
}

// ArmExactly makes reading fail at the given time. The zero time means never.
func (in *Input) ArmExactly(at time.Time) {
	if !in.Deadline.Equal(at) {
		in.Deadline = at
		in.C.NC.SetReadDeadline(at)
	}
}

// ArmByHand puts what SetReadDeadline has said in force, also if it said so while another deadline
// was being set.
func (in *Input) ArmByHand() {
	for at := in.ByHand.Load(); at != nil && !in.Deadline.Equal(*at); at = in.ByHand.Load() {
		in.ArmExactly(*at)
	}
}

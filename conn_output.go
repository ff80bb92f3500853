package gallop

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// output gathers what is to be written, so that small pieces leave together.
type output struct {
	c        *connection
	counted  int64 // bytes that were written, and that the server's counts do not have yet; may be negative, see Unsent
	buf      []byte
	flushes  int                       // how often something was written
	deadline time.Time                 // as set on the connection
	now      time.Time                 // for the next write, if the clock was looked at just before it
	still    int                       // steps of progressSteps in which the client took nothing
	limit    time.Time                 // for all that is written in one turn, or zero
	byHand   atomic.Pointer[time.Time] // the deadline that the program has set, instead
	cut      atomic.Bool               // nothing more may be written, by any goroutine
	more     bool                      // more follows what is written now
	err      error
	vec      net.Buffers // for writev, kept so that it is not garbage
	vecs     [2][]byte
}

// smallWrite is the size in bytes up to which output is gathered. More is written from where it is.
const smallWrite = 16 << 10

// progressSteps is in how many steps the time without progress passes. A write that
// ran out of time after a part does not tell when that part was taken; only that it was
// within the last step.
const progressSteps = 30

// tlsPiece is how much is written to a TLS connection under one deadline. It cannot be
// written to any more after one has passed, so there the deadline has to be the whole
// time without progress, and each piece a progress. It is the size of a record.
const tlsPiece = 16 << 10

// room returns the buffer with space for at least n more bytes.
func (o *output) room(n int) []byte {
	if cap(o.buf)-len(o.buf) >= n {
		return o.buf
	}
	return o.grown(n)
}

func (o *output) grown(n int) []byte {
	if o.buf == nil {
		o.buf = bufpool.Get(max(n, o.c.set.writeBuf))
	} else {
		o.buf = bufpool.Grow(o.buf, n)
	}
	return o.buf
}

func (o *output) appendString(s string) { o.buf = append(o.room(len(s)), s...) }

// write sends p, which is not kept: behind what is gathered if it is small, and else
// together with it.
func (o *output) write(p []byte) error {
	if len(p) <= smallWrite {
		o.buf = append(o.room(len(p)), p...)
		if len(o.buf) < max(o.c.set.writeBuf, smallWrite) {
			return o.err
		}
		return o.flush()
	}
	return o.flushWith(p)
}

// flush writes what was gathered.
func (o *output) flush() error {
	if len(o.buf) == 0 || o.err != nil {
		return o.err
	}
	return o.flushWith(nil)
}

// flushWith writes what was gathered and then p.
func (o *output) flushWith(p []byte) error {
	if o.err != nil {
		return o.err
	}
	o.flushes++
	if o.c.loop.conn != nil {
		o.err = o.writeOnLoop(p)
	} else if tc, ok := o.c.nc.(*net.TCPConn); ok && len(p) > 0 && len(o.buf) > 0 {
		o.err = o.writev(tc, p)
	} else {
		o.err = o.writeAll(o.buf)
		if o.err == nil && len(p) > 0 {
			o.err = o.writeAll(p)
		}
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > 64<<10 {
		bufpool.Release(&o.buf)
	}
	if o.err != nil {
		o.c.wire.Lost()
	}
	return o.err
}

// writeAll writes p. Time runs out when nothing was written for a while, not when
// it takes long.
func (o *output) writeAll(p []byte) error {
	for o.still = 0; ; {
		if !o.armsLate() {
			o.arm()
		}
		piece := p
		if o.c.tls != nil {
			piece = p[:min(len(p), tlsPiece)]
		}
		n, err := o.c.nc.Write(piece)
		o.count(int64(n))
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if n == len(piece) {
			continue
		}
		if err = o.stalled(n, err); err != nil {
			return err
		}
	}
}

func (o *output) writev(tc *net.TCPConn, p []byte) error {
	o.vecs = [2][]byte{o.buf, p}
	o.vec = o.vecs[:]
	for o.still = 0; ; {
		o.arm()
		n, err := o.vec.WriteTo(tc)
		o.count(n)
		if len(o.vec) == 0 {
			o.vecs = [2][]byte{}
			return nil
		}
		if err = o.stalled(int(n), err); err != nil {
			return err
		}
	}
}

// stalled returns the error of a write that wrote n bytes and not all, or nil if it is
// worth going on: the client takes something, or has not failed to for long enough.
func (o *output) stalled(n int, err error) error {
	switch {
	case err == nil:
		return io.ErrShortWrite
	case !clock.IsTimeout(err) || !o.limit.IsZero() || o.c.tls != nil || o.byHand.Load() != nil || o.cut.Load():
		return err
	case n > 0:
		o.still = 0
		return nil
	}
	if o.still++; o.still < progressSteps {
		return nil
	}
	return err
}

// sendFile sends n bytes of file, starting at offset at, and leaves the position of the file alone. to is the connection,
// which sends the bytes with sendfile if it can.
func (o *output) sendFile(to io.ReaderFrom, file *os.File, at, n int64) (sent int64, err error) {
	if err := o.flush(); err != nil {
		return 0, err
	}
	for o.still = 0; ; {
		o.arm()
		k, err := sendFileTo(to, file, at+sent, n-sent)
		o.count(k)
		switch sent += k; {
		case sent == n && err == nil:
			return n, nil
		case err == nil: // file is shorter than it was said to be
			return sent, io.ErrUnexpectedEOF
		}
		if err = o.stalled(int(min(k, 1)), err); err != nil {
			o.err = err
			o.c.wire.Lost()
			return sent, err
		}
	}
}

// sendFileTo sends up to n bytes of file, starting at offset at, with sendfile or by copying.
func sendFileTo(to io.ReaderFrom, file *os.File, at, n int64) (int64, error) {
	if sent, err, ok := trySendFile(to, file, at, n); ok {
		return sent, err
	}
	return to.ReadFrom(io.NewSectionReader(file, at, n))
}

// armsLate reports whether a write calls arm itself, if it has to wait.
func (o *output) armsLate() bool { return o.c.loop.conn != nil && o.c.tls != nil && !o.hasDeadline() }

// hasDeadline reports whether the time to write is not what the server makes it.
func (o *output) hasDeadline() bool { return o.byHand.Load() != nil || o.cut.Load() }

// limitTo gives what is written from now on the time d, or no limit if d is 0.
func (o *output) limitTo(d time.Duration) {
	o.limit = time.Time{}
	if d > 0 {
		o.limit = time.Now().Add(d)
	}
}

// arm sets the deadline for the next write.
func (o *output) arm() {
	if !o.hasDeadline() {
		o.armByServer()
	}
	for o.hasDeadline() { // which may have been said while another one was being set
		at := time.Unix(1, 0)
		if by := o.byHand.Load(); by != nil && !o.cut.Load() {
			at = *by
		}
		if o.deadline.Equal(at) {
			return
		}
		o.armExactly(at)
	}
}

// armByServer is arm for the time that the server gives a write.
func (o *output) armByServer() {
	now := o.now
	o.now = time.Time{}
	if !o.limit.IsZero() {
		o.armExactly(o.limit)
		return
	}
	step, late := o.c.set.progress, clock.Slack(o.c.set.progress)
	if step == 0 {
		o.armExactly(time.Time{})
		return
	}
	if o.c.tls == nil {
		step /= progressSteps
		late = step
	}
	if now.IsZero() {
		now = time.Now()
	}
	switch left := o.deadline.Sub(now); {
	case left <= 0: // it is the first, or a step has passed
		o.armExactly(now.Add(step))
	case left < step || left > step+late:
		o.armExactly(now.Add(step + late))
	}
}

func (o *output) armExactly(at time.Time) {
	if !o.deadline.Equal(at) {
		o.deadline = at
		o.c.nc.SetWriteDeadline(at)
	}
}

// park gives the buffer back while there is nothing to write.
func (o *output) park() {
	if len(o.buf) == 0 && o.buf != nil {
		bufpool.Release(&o.buf)
	}
}

func (o *output) release() { bufpool.Release(&o.buf) }

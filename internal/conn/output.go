package conn

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
)

// Output gathers what is to be written, so that small pieces leave together.
type Output struct {
	C        *Conn
	counted  int64 // bytes that were written, and that the server's counts do not have yet; may be negative, see Unsent
	Buf      []byte
	Flushes  int                       // how often something was written
	Deadline time.Time                 // as set on the connection
	Now      time.Time                 // for the next write, if the clock was looked at just before it
	looked   time.Time                 // when the last write without a limit began, or a later step of it
	still    int                       // steps of progressSteps in which the client took nothing
	Limit    time.Time                 // for all that is written in one turn, or zero
	Within   time.Duration             // without progress, if that is less than what the settings say; or zero
	ByHand   atomic.Pointer[time.Time] // the deadline that the program has set, instead
	Cut      atomic.Bool               // nothing more may be written, by any goroutine
	More     bool                      // more follows what is written now
	Err      error
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

// Room returns the buffer with space for at least n more bytes.
func (o *Output) Room(n int) []byte {
	if cap(o.Buf)-len(o.Buf) >= n {
		return o.Buf
	}
	return o.grown(n)
}

func (o *Output) grown(n int) []byte {
	if o.Buf == nil {
		o.Buf = bufpool.Get(max(n, o.C.Set.WriteBuf))
	} else {
		o.Buf = bufpool.Grow(o.Buf, n)
	}
	return o.Buf
}

func (o *Output) AppendString(s string) { o.Buf = append(o.Room(len(s)), s...) }

// Write sends p, which is not kept: behind what is gathered if it is small, and else
// together with it.
func (o *Output) Write(p []byte) error {
	if len(p) <= smallWrite {
		o.Buf = append(o.Room(len(p)), p...)
		if len(o.Buf) < max(o.C.Set.WriteBuf, smallWrite) {
			return o.Err
		}
		o.More = false // what follows may take its time, and most writes are small
		return o.Flush()
	}
	return o.flushWith(p)
}

// Flush writes what was gathered.
func (o *Output) Flush() error {
	if len(o.Buf) == 0 || o.Err != nil {
		return o.Err
	}
	return o.flushWith(nil)
}

// flushWith writes what was gathered and then p.
func (o *Output) flushWith(p []byte) error {
	if o.Err != nil {
		return o.Err
	}
	o.Flushes++
	if o.C.Loop.Conn != nil {
		o.Err = o.writeOnLoop(p)
	} else if tc, ok := o.C.NC.(*net.TCPConn); ok && len(p) > 0 && len(o.Buf) > 0 {
		o.Err = o.writev(tc, p)
	} else {
		o.Err = o.writeAll(o.Buf)
		if o.Err == nil && len(p) > 0 {
			o.Err = o.writeAll(p)
		}
	}
	o.Buf = o.Buf[:0]
	if cap(o.Buf) > 64<<10 {
		bufpool.Release(&o.Buf)
	}
	if o.Err != nil {
		o.C.wire.Lost()
	}
	return o.Err
}

// writeAll writes p. Time runs out when nothing was written for a while, not when
// it takes long.
func (o *Output) writeAll(p []byte) error {
	for o.still = 0; ; {
		if !o.armsLate() {
			o.arm()
		}
		piece := p
		if o.C.TLS != nil {
			piece = p[:min(len(p), tlsPiece)]
		}
		n, err := o.C.NC.Write(piece)
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

func (o *Output) writev(tc *net.TCPConn, p []byte) error {
	o.vecs = [2][]byte{o.Buf, p}
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
func (o *Output) stalled(n int, err error) error {
	switch {
	case err == nil:
		return io.ErrShortWrite
	case !clock.IsTimeout(err) || !o.Limit.IsZero() || o.C.TLS != nil || o.ByHand.Load() != nil || o.Cut.Load():
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

// SendFile sends n bytes of file, starting at offset at, and leaves the position of the file alone. to is the connection,
// which sends the bytes with sendfile if it can.
func (o *Output) SendFile(to io.ReaderFrom, file *os.File, at, n int64) (sent int64, err error) {
	o.More = n > 0 // what was gathered leaves in one packet with the beginning of the file
	err = o.Flush()
	if o.More = false; err != nil {
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
			o.Err = err
			o.C.wire.Lost()
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
func (o *Output) armsLate() bool { return o.C.Loop.Conn != nil && o.C.TLS != nil && !o.hasDeadline() }

// hasDeadline reports whether the time to write is not what the server makes it.
func (o *Output) hasDeadline() bool { return o.ByHand.Load() != nil || o.Cut.Load() }

// LimitTo gives what is written from now on the time d, or no limit if d is 0.
func (o *Output) LimitTo(d time.Duration) {
	o.Limit = time.Time{}
	if d > 0 {
		o.Limit = time.Now().Add(d)
	}
}

// arm sets the deadline for the next write.
func (o *Output) arm() {
	if !o.hasDeadline() {
		o.armByServer()
	}
	for o.hasDeadline() { // which may have been said while another one was being set
		at := time.Unix(1, 0)
		if by := o.ByHand.Load(); by != nil && !o.Cut.Load() {
			at = *by
		}
		if o.Deadline.Equal(at) {
			return
		}
		o.armExactly(at)
	}
}

// armByServer is arm for the time that the server gives a write.
func (o *Output) armByServer() {
	now := o.Now
	o.Now = time.Time{}
	if !o.Limit.IsZero() {
		o.armExactly(o.Limit)
		return
	}
	step := clock.Shorter(o.C.Set.Progress, o.Within)
	late := clock.Slack(step)
	if step == 0 {
		o.armExactly(time.Time{})
		return
	}
	if o.C.TLS == nil {
		step /= progressSteps
		late = step
	}
	if now.IsZero() {
		now = time.Now()
	}
	o.looked = now
	switch left := clock.Left(o.Deadline, now); {
	case left <= 0: // it is the first, or a step has passed
		o.armExactly(now.Add(step))
	case left < step || left > step+late:
		o.armExactly(now.Add(step + late))
	}
}

func (o *Output) armExactly(at time.Time) {
	if !o.Deadline.Equal(at) {
		o.Deadline = at
		o.C.NC.SetWriteDeadline(at)
	}
}

// park gives the buffer back while there is nothing to write.
func (o *Output) park() {
	if len(o.Buf) == 0 && o.Buf != nil {
		bufpool.Release(&o.Buf)
	}
}

func (o *Output) Release() { bufpool.Release(&o.Buf) }
